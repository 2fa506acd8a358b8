public import NavMap

/// The kinds of roads that a driver prefers to avoid; the time on them is multiplied by ``CostModel/avoidanceFactor``.
public struct Avoidance: OptionSet, Sendable, Hashable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Roads with a toll for this vehicle.
    public static let tolls = Avoidance(rawValue: 1 << 0)
    public static let motorways = Avoidance(rawValue: 1 << 1)
    public static let ferries = Avoidance(rawValue: 1 << 2)
    public static let unpaved = Avoidance(rawValue: 1 << 3)
    public static let tunnels = Avoidance(rawValue: 1 << 4)
}

public struct VehicleProfile: Sendable, Hashable {
    public enum Kind: String, Sendable, CaseIterable {
        case car, truck
    }

    public var kind: Kind
    public var avoid: Avoidance
    /// Height, metres; nil to ignore height limits.
    public var height: Float?
    /// Width, metres; nil to ignore width limits.
    public var width: Float?
    /// Length, metres; nil to ignore length limits.
    public var length: Float?
    /// Weight, tonnes; nil to ignore weight limits.
    public var weight: Float?
    /// Load of the heaviest axle, tonnes; nil to ignore axle load limits.
    public var axleLoad: Float?
    /// Whether it carries dangerous goods, to which some roads are closed (`hazmat=no`).
    public var carriesDangerousGoods: Bool
    /// Maximum speed of the vehicle, m/s.
    public var maximumSpeed: Float

    /// Creates a profile.
    ///
    /// By default a car is 2 m high, 1.9 m wide and 4.8 m long and weighs 2 t, as in OSRM's profile. A truck is a 40 t
    /// articulated lorry (4 m high, 2.55 m wide, 16.5 m long, 11.5 t on the driving axle: the limits of directive
    /// 96/53/EC).
    public init(
        kind: Kind = .car, avoid: Avoidance = [], height: Float? = nil, width: Float? = nil, length: Float? = nil,
        weight: Float? = nil, axleLoad: Float? = nil, carriesDangerousGoods: Bool = false, maximumSpeed: Float? = nil
    ) {
        let isTruck = kind == .truck
        self.kind = kind
        self.avoid = avoid
        self.height = height ?? (isTruck ? 4 : 2)
        self.width = width ?? (isTruck ? 2.55 : 1.9)
        self.length = length ?? (isTruck ? 16.5 : 4.8)
        self.weight = weight ?? (isTruck ? 40 : 2)
        self.axleLoad = axleLoad ?? (isTruck ? 11.5 : nil)
        self.carriesDangerousGoods = carriesDangerousGoods
        self.maximumSpeed = maximumSpeed ?? (isTruck ? 80 / 3.6 : 200 / 3.6)
    }

    public var access: VehicleAccess { kind == .car ? .car : .truck }

    /// Whether the vehicle may use an edge with these traits.
    public func mayUse(_ traits: EdgeTraits) -> Bool {
        traits.access.contains(access)
            && fits(
                SizeLimits(
                    height: traits.maximumHeight, width: traits.maximumWidth, length: traits.maximumLength,
                    weight: traits.maximumWeight, axleLoad: traits.maximumAxleLoad))
            && !(carriesDangerousGoods && traits.flags.contains(.noDangerousGoods))
    }

    /// Whether the vehicle is within some limits.
    public func fits(_ limits: SizeLimits) -> Bool {
        func fits(_ own: Float?, _ limit: Float?) -> Bool {
            guard let own, let limit else { return true }
            return own <= limit
        }
        return fits(height, limits.height) && fits(width, limits.width) && fits(length, limits.length)
            && fits(weight, limits.weight) && fits(axleLoad, limits.axleLoad)
    }

    /// The flags of areas that this vehicle may enter or leave only to reach a place there.
    var closedGround: RoadFlags { kind == .truck ? .truckDestinationOnly : [.destinationOnly, .privateAccess] }

    /// Whether an edge is a track for farms and forests without a tag that opens it to the public.
    func isClosedTrack(_ traits: EdgeTraits) -> Bool {
        traits.roadClass == .track && !traits.flags.isDisjoint(with: closedGround)
    }

    /// The flags of nodes that no vehicle of this kind can pass.
    var barriers: NodeFlags { kind == .truck ? [.impassable, .truckImpassable] : .impassable }

    /// Whether the vehicle cannot pass a node: a barrier blocks it, or the vehicle exceeds its limits.
    package func isBarred(at node: NodeIndex, in graph: RoadGraph) -> Bool {
        let flags = graph.nodeFlags[node.index]
        return !flags.isDisjoint(with: barriers) || flags.contains(.sizeLimited) && !fits(graph.sizeLimits(of: node))
    }

    /// The flags of nodes that the vehicle may pass only to reach a place behind them.
    var privateGates: NodeFlags { kind == .truck ? .truckPrivateGate : .privateGate }

    /// Whether the driver prefers to avoid an edge.
    public func avoids(_ roadClass: RoadClass, _ flags: RoadFlags) -> Bool {
        guard !avoid.isEmpty else { return false }
        return avoid.contains(.tolls) && flags.contains(kind == .truck ? .truckToll : .toll)
            || avoid.contains(.motorways) && roadClass == .motorway
            || avoid.contains(.ferries) && roadClass == .ferry
            || avoid.contains(.unpaved) && flags.contains(.unpaved)
            || avoid.contains(.tunnels) && flags.contains(.tunnel)
    }
}
