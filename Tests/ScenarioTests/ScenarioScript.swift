import NavMessages
import NavNavigator
import NavVerdict

/// A place as written: `A`, `A>B` (halfway), `A>B:30%` or `A>B:120m`, with offsets `+40R`, `+10L`, `+100N`, `+50E`, …
/// in metres.
struct ScenarioPlace: Sendable, Equatable {
    /// The position between the two nodes.
    enum Along: Sendable, Equatable {
        case share(Double)
        case metres(Double)
    }

    var node: Character
    var towards: Character?
    var along = Along.share(0.5)
    /// Offsets to the right of the line, to the east and to the north, metres.
    var (right, east, north) = (0.0, 0.0, 0.0)
    /// The place as written.
    let text: String

    /// Whether the place is beside its road or node.
    var isAside: Bool { right != 0 || east != 0 || north != 0 }

    init(_ text: String) throws(LineError) {
        self.text = text
        let mistake = LineError(
            "'\(text)' is not a place: write A, A>B, A>B:30%, A>B:120m, each with +40R, +100N, … behind it")
        let parts = text.split(separator: "+", omittingEmptySubsequences: false)
        let base = parts[0].split(separator: ":", omittingEmptySubsequences: false)
        let nodes = Array(base[0])
        guard nodes.count == 1 || nodes.count == 3 && nodes[1] == ">", let first = nodes.first, base.count <= 2 else {
            throw mistake
        }
        node = first
        if nodes.count == 3 { towards = nodes[2] }
        if base.count == 2 {
            guard towards != nil, let value = Double(base[1].dropLast()) else { throw mistake }
            switch base[1].last {
            case "%": along = .share(value / 100)
            case "m": along = .metres(value)
            default: throw mistake
            }
        }
        for part in parts.dropFirst() {
            guard let metres = Double(part.dropLast()) else { throw mistake }
            switch part.last {
            case "R" where towards != nil: right += metres
            case "L" where towards != nil: right -= metres
            case "E": east += metres
            case "W": east -= metres
            case "N": north += metres
            case "S": north -= metres
            default: throw mistake
            }
        }
    }
}

/// A waypoint of a trip: a stop or, in brackets, a via point.
struct ScenarioWaypoint: Sendable, Equatable {
    var place: ScenarioPlace
    var isStop: Bool
}

/// The waypoints and options of a trip.
struct ScenarioTrip: Sendable, Equatable {
    var origin: ScenarioPlace?
    var waypoints: [ScenarioWaypoint] = []
    var alternatives = 0
    /// The speed of a simulated drive as a multiple of the traffic's; nil for a real drive.
    var simulation: Double?
    var avoid: [AvoidFeature] = []
}

/// The answer of a policy node.
struct ScenarioPolicy: Sendable, Equatable {
    enum Answer: Sendable, Equatable {
        case yes, no, silent, dead, garbage
        /// A replacement of the instruction's text.
        case says(String)
        case suppress
        /// Waypoints of a reroute.
        case via([ScenarioWaypoint])
        /// A preference for a reroute: no maneuver within this distance, metres.
        case avoidance(Double)
    }

    var answer: Answer
    var after = 0.0
    var hold: Double?
}

/// The behaviour of the routing worker.
enum ScenarioWorker: Sendable, Equatable {
    case answers
    case slow(Double)
    case fails(RouteFailure.Code)
    case silent
}

/// A change of the receiver's behaviour.
enum ScenarioReceiver: Sendable, Equatable {
    case rate(Double)
    case noise(wander: Double, noise: Double, seed: UInt64)
    case sigma(Double)
    case lost, back
    case off(east: Double, north: Double)
    /// One fix is displaced, metres.
    case jump(Double)
    /// The next fixes are lost.
    case drops(Int)
    /// The next fix arrives twice.
    case duplicate
    /// The next fix arrives after its successor.
    case swap
    /// Fixes arrive late, seconds.
    case late(Double)
    /// Fixes repeat the same position.
    case frozen
    /// The stamps of fixes are shifted, seconds; negative values are earlier.
    case clock(Double)
    case spoofed
}

/// An event other than driving.
enum ScenarioAction: Sendable, Equatable {
    case navigate(ScenarioTrip)
    case setRoute([ScenarioPlace], simulation: Double?)
    case calculate(ScenarioTrip, isPreview: Bool)
    case selectPreview(Int)
    case start(Int?, simulation: Double?)
    case stop
    case reroute([AvoidFeature])
    case selectAlternative(String)
    case fasterRoute(Bool)
    case advanceLeg
    case skipWaypoint(Int?)
    case refresh
    case repeatInstruction
    case configure(key: String, value: String)
    case worker(ScenarioWorker, purpose: String?)
    case policy(String, ScenarioPolicy)
    /// The speed on a street, m/s, 0 for closed; nil for unknown.
    case traffic(nodes: String, speed: Double?, isBothWays: Bool)
    case trafficCleared
    case tilesArrive
    case tilesLeave
    case receiver(ScenarioReceiver)
    case odometry(rate: Double?)
}

/// A movement of the vehicle.
enum ScenarioMotion: Sendable, Equatable {
    case from(ScenarioPlace)
    /// Driving along straight lines, at a speed in m/s, on roads or anywhere.
    case drive([ScenarioPlace], speed: Double?, isOnRoads: Bool)
    case reverse(ScenarioPlace, speed: Double?)
    case stand(Double)
}

/// One line of the section `drive`.
struct ScenarioStep: Sendable, Equatable {
    enum What: Sendable, Equatable {
        case motion(ScenarioMotion)
        /// An action at the time that the drive has reached, or at a time, seconds since the start.
        case action(ScenarioAction, at: Double?)
    }

    var line: SourceLine
    var what: What

    init(_ line: SourceLine) throws(LineError) {
        self.line = line
        var words = try LineScanner(line.text)
        var time: Double?
        if words.take("at") {
            let seconds = try words.number("a time in seconds")
            guard (0...86_400).contains(seconds) else { throw LineError("a time is 0 to 86400 seconds") }
            time = seconds
        }
        if let motion = try ScenarioMotion(&words) {
            guard time == nil else { throw LineError("a driving line cannot have a time") }
            what = .motion(motion)
        } else {
            what = .action(try ScenarioAction(&words), at: time)
        }
        try words.end()
    }
}

extension ScenarioMotion {
    /// Parses a line that starts with a driving verb; nil for another line.
    fileprivate init?(_ words: inout LineScanner) throws(LineError) {
        if words.take("from") {
            self = .from(try ScenarioPlace(try words.next("a place")))
        } else if let isOnRoads = words.take("drive") ? true : words.take("cross", "to") ? false : nil {
            var places: [ScenarioPlace] = []
            while let word = words.first, word != "at" {
                _ = words.take(word)
                places.append(try ScenarioPlace(word))
            }
            guard !places.isEmpty else { throw LineError("'drive' needs places") }
            self = .drive(places, speed: try ScenarioMotion.speed(&words), isOnRoads: isOnRoads)
        } else if words.take("reverse") {
            guard words.take("to") else { throw LineError("write: reverse to A>B:30%") }
            let place = try ScenarioPlace(try words.next("a place"))
            self = .reverse(place, speed: try ScenarioMotion.speed(&words))
        } else if words.take("stand") {
            let seconds = try words.number("a time", unit: "s")
            guard (0...3_600).contains(seconds) else { throw LineError("a vehicle stands for 0 to 3600 s") }
            self = .stand(seconds)
        } else {
            return nil
        }
    }

    private static func speed(_ words: inout LineScanner) throws(LineError) -> Double? {
        guard words.take("at") else { return nil }
        let speed = try words.number("a speed", unit: "km/h")
        guard (1...250).contains(speed) else { throw LineError("a vehicle drives at 1 to 250 km/h") }
        return speed / 3.6
    }
}

extension ScenarioTrip {
    init(_ words: inout LineScanner) throws(LineError) {
        while let word = words.first {
            _ = words.take(word)
            switch word {
            case "to": continue
            case "from": origin = try ScenarioPlace(try words.next("a place"))
            case "alternatives": alternatives = Int(try words.number("a number of alternatives"))
            case "simulated": simulation = try ScenarioTrip.factor(&words)
            case "avoiding":
                let name = try words.next("a feature to avoid")
                guard let feature = ScenarioTrip.features[name] else {
                    throw LineError(
                        "'\(name)' cannot be avoided: write \(ScenarioTrip.features.keys.sorted().joined(separator: ", "))"
                    )
                }
                avoid.append(feature)
            default:
                let isPassed = word.hasPrefix("(") && word.hasSuffix(")")
                let place = try ScenarioPlace(isPassed ? String(word.dropFirst().dropLast()) : word)
                waypoints.append(ScenarioWaypoint(place: place, isStop: !isPassed))
            }
        }
    }

    static let features: [String: AvoidFeature] = [
        "tolls": .tolls, "motorways": .motorways, "ferries": .ferries, "unpaved": .unpaved, "tunnels": .tunnels,
    ]

    /// Parses `x3`, three times as fast as the traffic; 1 without it.
    static func factor(_ words: inout LineScanner) throws(LineError) -> Double {
        guard let word = words.first, word.hasPrefix("x") else { return 1 }
        guard let factor = Double(word.dropFirst()) else { throw LineError("'\(word)' is not a factor: write x3") }
        _ = words.take(word)
        return factor
    }
}

extension ScenarioAction {
    /// The first words of all lines, for error messages.
    private static let verbs =
        "from, drive, cross to, reverse to, stand, navigate to, set route, calculate to, preview to, select preview, start, stop, reroute, "
        + "select alternative, accept faster route, refuse faster route, advance leg, skip waypoint, refresh, repeat instruction, "
        + "set KEY = VALUE, worker, policy, traffic, tiles arrive, tiles leave, receiver, odometry"

    fileprivate init(_ words: inout LineScanner) throws(LineError) {
        if words.take("navigate") {
            self = .navigate(try ScenarioTrip(&words))
        } else if words.take("set", "route") {
            self = try ScenarioAction.route(&words)
        } else if words.take("calculate") {
            self = .calculate(try ScenarioTrip(&words), isPreview: false)
        } else if words.take("preview") {
            self = .calculate(try ScenarioTrip(&words), isPreview: true)
        } else if words.take("select", "preview") {
            self = .selectPreview(Int(try words.number("a number from 0")))
        } else if words.take("start") {
            let index = words.first.flatMap { Int($0) }
            if let index { _ = words.take(String(index)) }
            self = .start(index, simulation: words.take("simulated") ? try ScenarioTrip.factor(&words) : nil)
        } else if words.take("stop") {
            self = .stop
        } else if words.take("reroute") {
            self = .reroute(try ScenarioTrip(&words).avoid)
        } else if words.take("select", "alternative") {
            self = .selectAlternative(words.remainder())
        } else if words.take("accept", "faster", "route") {
            self = .fasterRoute(true)
        } else if words.take("refuse", "faster", "route") {
            self = .fasterRoute(false)
        } else if words.take("advance", "leg") {
            self = .advanceLeg
        } else if words.take("skip", "waypoint") {
            self = .skipWaypoint(words.first == nil ? nil : Int(try words.number("a number from 1")))
        } else if words.take("refresh") {
            self = .refresh
        } else if words.take("repeat", "instruction") {
            self = .repeatInstruction
        } else if words.take("set") {
            let (key, value) = try Scenario.setting(words.remainder())
            self = .configure(key: key, value: value)
        } else {
            self = try ScenarioAction.surroundings(&words)
        }
    }

    private static func route(_ words: inout LineScanner) throws(LineError) -> ScenarioAction {
        var places: [ScenarioPlace] = []
        while let word = words.first, word != "simulated" {
            _ = words.take(word)
            places.append(try ScenarioPlace(word))
        }
        guard places.count >= 2 else { throw LineError("a route needs at least two places") }
        return .setRoute(places, simulation: words.take("simulated") ? try ScenarioTrip.factor(&words) : nil)
    }

    private static func surroundings(_ words: inout LineScanner) throws(LineError) -> ScenarioAction {
        if words.take("worker") { return try worker(&words) }
        if words.take("policy") {
            let kind = try words.next("a policy question, such as should_reroute")
            guard NavNavigator.PolicyKind(rawValue: kind) != nil else {
                throw LineError(
                    "'\(kind)' is not a policy question: write one of "
                        + NavNavigator.PolicyKind.allCases.map(\.rawValue).joined(separator: ", "))
            }
            return .policy(kind, try ScenarioPolicy(&words))
        }
        if words.take("traffic", "cleared") { return .trafficCleared }
        if words.take("traffic") { return try traffic(&words) }
        if words.take("tiles", "arrive") { return .tilesArrive }
        if words.take("tiles", "leave") { return .tilesLeave }
        if words.take("receiver") { return .receiver(try ScenarioReceiver(&words)) }
        if words.take("odometry", "off") { return .odometry(rate: nil) }
        if words.take("odometry", "on") {
            return .odometry(rate: words.first == nil ? 10 : try words.number("a rate", unit: "Hz"))
        }
        throw LineError("'\(words.line)' is not understood; a line starts with \(verbs)")
    }

    private static func worker(_ words: inout LineScanner) throws(LineError) -> ScenarioAction {
        let manner: ScenarioWorker
        switch try words.next("answers, slow, fails or silent") {
        case "answers": manner = .answers
        case "slow": manner = .slow(try words.number("a time", unit: "s"))
        case "silent": manner = .silent
        case "fails":
            let name = try words.next("a failure code")
            guard let code = codes[name] else {
                throw LineError("'\(name)' is not a code: write \(codes.keys.sorted().joined(separator: ", "))")
            }
            manner = .fails(code)
        case let other: throw LineError("'\(other)' is not a worker mode: write answers, slow, fails or silent")
        }
        guard words.take("for") else { return .worker(manner, purpose: nil) }
        return .worker(manner, purpose: try words.next("a purpose, such as REROUTE"))
    }

    private static let codes: [String: RouteFailure.Code] = [
        "NO_ROUTE": .noRoute, "NO_ROAD_NEARBY": .noRoadNearby, "MISSING_TILES": .tilesNeeded,
        "INVALID_REQUEST": .invalidRequest, "PROVIDER_UNAVAILABLE": .providerUnavailable, "INTERNAL": .internal,
    ]

    private static func traffic(_ words: inout LineScanner) throws(LineError) -> ScenarioAction {
        let nodes = try words.next("the nodes of a street, such as AB")
        let isBothWays = words.take("both", "ways")
        if words.take("closed") { return .traffic(nodes: nodes, speed: 0, isBothWays: isBothWays) }
        let speed = try words.number("closed, or a speed", unit: "km/h")
        return .traffic(nodes: nodes, speed: speed / 3.6, isBothWays: isBothWays)
    }
}
