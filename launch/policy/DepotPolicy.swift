import NavConfig
import NavGeo
import NavKit
import NavMessages

/// A place where the vehicle is loaded, washed or parked.
struct Depot: Sendable {
    var centre: NavGeo.Coordinate
    /// Metres.
    var radius: Double

    /// A depot from `LAT,LON,METRES`; nil for anything else.
    init?(text: String) {
        guard let comma = text.lastIndex(of: ","), let centre = NavGeo.Coordinate(text: String(text[..<comma])),
            let radius = Double(text[text.index(after: comma)...]), (1...100_000).contains(radius)
        else { return nil }
        (self.centre, self.radius) = (centre, radius)
    }

    var text: String { "\(centre.text),\(radius)" }
}

struct DepotPolicyConfiguration: NodeConfiguration {
    var depot: Depot?
    var leastManeuver = 4.0
    var leastGain = 180.0
    var hold = 10.0

    static var keys: [ConfigKey<DepotPolicyConfiguration>] {
        [
            .text(
                "depot", \.depot, range: "LAT,LON,METRES, or empty", "Where no reroute begins.",
                parse: { $0.isEmpty ? .some(nil) : Depot(text: $0).map { .some($0) } }, format: { $0?.text ?? "" }
            ).live,
            .number(
                "least_maneuver_s", \.leastManeuver, in: 0...60,
                "Time to its first maneuver that a new route must leave, seconds."
            ).live,
            .number(
                "least_gain_s", \.leastGain, in: 0...36_000, "What a faster route must save to be taken, seconds."
            ).live,
            .number("hold_s", \.hold, in: 0...3_600, "How long a no to a reroute holds, seconds.").live,
        ]
    }
}

/// An example of an owner's policy: no reroute in the depot or while reversing, no sudden maneuver, no faster route without enough gain.
final class DepotPolicy: Node {
    static let defaultName = "policy-node"
    static let summary = "Decides what navigation-node asks its owner: an example."

    private var configuration: DepotPolicyConfiguration
    private let log: NodeLog
    private var isReversing = false

    init(configuration: DepotPolicyConfiguration, context: NodeContext) throws(NodeError) {
        self.configuration = configuration
        log = context.log
        try context.subscribe(to: Topics.odometry) { [unowned self] wheels, _ in
            isReversing = wheels.reverse ?? false
        }
        try context.serve(PolicyService.served(by: self))
    }

    func reconfigure(_ configuration: DepotPolicyConfiguration) { self.configuration = configuration }

    private func answer(
        _ call: UnaryCall<PolicyAnswer>, _ verdict: PolicyVerdict, _ reason: String, hold: Double? = nil
    ) {
        log.info("\(verdict == .yes ? "yes" : "no"): \(reason)")
        call.finish(PolicyAnswer(verdict: verdict, reason: reason, holdS: hold))
    }

    /// Leaves a decision to the default.
    private func asUsual(_ call: UnaryCall<PolicyAnswer>) { call.finish(PolicyAnswer()) }
}

extension DepotPolicy: PolicyServiceProvider {
    func shouldReroute(_ request: ShouldRerouteRequest, _ call: UnaryCall<PolicyAnswer>) {
        if isReversing { return answer(call, .no, "it reverses", hold: configuration.hold) }
        if let depot = configuration.depot, let place = request.context?.position?.matched,
            let latitude = place.latitude, let longitude = place.longitude,
            Geodesy.distance(depot.centre, NavGeo.Coordinate(latitude: latitude, longitude: longitude)) < depot.radius
        {
            return answer(call, .no, "in the depot", hold: configuration.hold)
        }
        answer(call, .yes, "outside of the depot")
    }

    func acceptReroute(_ request: AcceptRerouteRequest, _ call: UnaryCall<PolicyAnswer>) {
        let seconds = request.maneuverInS ?? .infinity
        guard seconds < configuration.leastManeuver else {
            return answer(call, .yes, "there is time for its first maneuver")
        }
        answer(call, .no, "its first maneuver is too near")
    }

    func acceptFasterRoute(_ request: ShouldAcceptFasterRouteRequest, _ call: UnaryCall<PolicyAnswer>) {
        let isWorthIt = (request.gainS ?? 0) >= configuration.leastGain
        answer(call, isWorthIt ? .yes : .no, isWorthIt ? "it saves enough" : "it saves too little")
    }

    func shouldTakeAlternative(_ request: ShouldTakeAlternativeRequest, _ call: UnaryCall<PolicyAnswer>) {
        asUsual(call)
    }

    func shouldDiscardFix(_ request: ShouldDiscardFixRequest, _ call: UnaryCall<PolicyAnswer>) { asUsual(call) }

    func shouldPreventReroutesWhenArriving(
        _ request: ShouldPreventReroutesWhenArrivingRequest, _ call: UnaryCall<PolicyAnswer>
    ) {
        asUsual(call)
    }

    func shouldAdvanceLeg(_ request: ShouldAdvanceLegRequest, _ call: UnaryCall<PolicyAnswer>) { asUsual(call) }

    func rerouteOptions(_ request: RerouteOptionsRequest, _ call: UnaryCall<RerouteOptionsAnswer>) {
        call.finish(RerouteOptionsAnswer())
    }

    func reviseInstruction(_ request: ReviseInstructionRequest, _ call: UnaryCall<ReviseInstructionAnswer>) {
        call.finish(ReviseInstructionAnswer())
    }
}
