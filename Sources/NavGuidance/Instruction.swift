/// The identity of an instruction point, stable for the lifetime of the route.
public struct InstructionID: Sendable, Hashable, CustomStringConvertible {
    /// The kind of instruction.
    public enum Kind: String, Sendable, CaseIterable, Codable {
        /// A banner.
        case visual
        /// "Head north on …", where a leg starts.
        case depart
        /// "Continue on … for 5 kilometres", after a maneuver, when the next is far.
        case `continue`
        /// The first announcement on a fast road.
        case far
        /// The announcement in time to change lanes.
        case prepare
        /// The announcement shortly before the maneuver.
        case near
        /// The announcement at the maneuver.
        case now
        /// The announcement of a ``RouteNotice``.
        case notice

        fileprivate var order: Int { Kind.allCases.firstIndex(of: self) ?? 0 }
    }

    /// The leg, from 0.
    public var leg: Int
    /// The step within the leg, from 0, on which it is emitted; unless it is a notice, it announces the maneuver at the end of that step.
    public var step: Int
    public var kind: Kind
    /// The index of the notice among the leg's notices; 0 for other kinds.
    public var notice: Int

    /// An id.
    public init(leg: Int, step: Int, kind: Kind, notice: Int = 0) {
        self.leg = leg
        self.step = step
        self.kind = kind
        self.notice = notice
    }

    /// Whether it precedes another instruction of the same route; announcements of one maneuver are in the order of ``Kind``. A notice may
    /// come anywhere among them.
    public func isBefore(_ other: InstructionID) -> Bool {
        if leg != other.leg { return leg < other.leg }
        if step != other.step { return step < other.step }
        if kind == .notice || other.kind == .notice { return kind == other.kind && notice < other.notice }
        return kind.order < other.kind.order
    }

    /// Leg, step and kind, such as `0/3/near`, with the index of a notice.
    public var description: String { "\(leg)/\(step)/\(kind.rawValue)" + (kind == .notice ? "/\(notice)" : "") }
}

/// A part of a banner's line.
public enum BannerComponent: Sendable, Hashable {
    /// Words or a name.
    case text(String)
    /// A road number, to be drawn as a shield.
    case shield(String)
    /// The word for a motorway exit, to be drawn with its number.
    case exitLabel(String)
    /// The number of a motorway exit.
    case exitNumber(String)
    /// The delimiter between two names or numbers.
    case delimiter(String)

    /// The component as text.
    public var text: String {
        switch self {
        case .text(let text), .shield(let text), .exitLabel(let text), .exitNumber(let text), .delimiter(let text): text
        }
    }
}

/// A shorter form of a part of a banner's line.
public struct BannerAbbreviation: Sendable, Hashable {
    public var text: String
    /// The order in which parts are abbreviated, from 0; nil for any.
    public var priority: Int?

    /// An abbreviation.
    public init(_ text: String, priority: Int? = nil) {
        self.text = text
        self.priority = priority
    }
}

/// One maneuver on a display.
public struct Banner: Sendable, Equatable {
    /// The line as text.
    public var text: String
    /// The line in parts.
    public var components: [BannerComponent]
    /// The owner's shorter forms of the parts, one for each; nil to use ``Abbreviations``.
    public var abbreviations: [BannerAbbreviation?]?
    /// The maneuver's type; nil for a line of the owner without one.
    public var type: ManeuverType?
    /// The maneuver's direction.
    public var modifier: ManeuverModifier?
    /// The number of the roundabout's exit that is taken, from 1.
    public var roundaboutExit: Int?
}

/// An instruction that a display shows from a point of the route on.
public struct VisualInstruction: Sendable, Equatable {
    /// Its id; of kind ``InstructionID/Kind/visual``.
    public var id: InstructionID
    /// Metres from the route's start from which it is shown.
    public var routeOffset: Double
    /// Metres from the route's start to the maneuver.
    public var maneuverOffset: Double
    public var primary: Banner
    /// Additional information, such as the destinations on signs; nil for none.
    public var secondary: Banner?
    /// The maneuver after it, when that follows closely.
    public var sub: Banner?
    /// The lanes before the maneuver, from left to right; empty when unknown.
    public var lanes: [Lane]
    /// The side that traffic keeps to.
    public var drivingSide: RoadSide
    /// The language of the texts as a BCP 47 tag; nil for that of the guidance.
    public var language: String?
}

/// An instruction that is spoken at a point of the route.
public struct SpokenInstruction: Sendable, Equatable {
    public var id: InstructionID
    /// Metres from the place where it is spoken to the maneuver or to the place of the notice.
    public var distance: Double
    /// Metres to the maneuver at which it is due at the current speed, at least ``distance``.
    public var triggerDistance: Double
    /// Plain text.
    public var text: String
    /// The same in Speech Synthesis Markup Language 1.1; empty for none.
    public var ssml: String
    /// The language of the texts as a BCP 47 tag; nil for that of the guidance.
    public var language: String?
    /// Whether it was requested, rather than triggered by the vehicle's position.
    public var isRepeat = false
}

/// An instruction that is due.
public enum Instruction: Sendable, Equatable {
    case visual(VisualInstruction)
    case spoken(SpokenInstruction)

    public var id: InstructionID {
        switch self {
        case .visual(let instruction): instruction.id
        case .spoken(let instruction): instruction.id
        }
    }

    /// Whether it was requested.
    public var isRepeat: Bool {
        if case .spoken(let instruction) = self { return instruction.isRepeat }
        return false
    }
}
