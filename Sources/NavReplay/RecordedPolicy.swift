import NavWire
import DequeModule
import NavGeo
import NavMessages
import NavNavigator
import NavRouting

/// A policy that answers the core's requests with the recorded answers of the owner's policy.
///
/// With another configuration, requests may occur at other times: a decision answers only a request of its kind within ``reach`` of it.
struct RecordedPolicy {
    /// The maximum time between a request and the recorded decision, seconds: a few fixes.
    static let reach = 5.0

    private var decisions: [NavMessages.PolicyKind: Deque<NavMessages.PolicyDecision>] = [:]
    private let vehicle: NavRouting.VehicleProfile

    init(_ recorded: [NavMessages.PolicyDecision], vehicle: NavRouting.VehicleProfile) {
        self.vehicle = vehicle
        for decision in recorded { if let kind = decision.kind { decisions[kind, default: []].append(decision) } }
    }

    /// Returns the recorded answer; nil when there was no such request at that time.
    mutating func answer(to request: NavNavigator.PolicyRequest) -> NavNavigator.PolicyAnswer? {
        func lead(_ decision: NavMessages.PolicyDecision) -> Double {
            NavGeo.Timestamp(nanoseconds: decision.stampNs ?? 0).seconds(since: request.stamp)
        }
        let kind = NavMessages.PolicyKind(request.question.kind)
        guard var known = decisions[kind] else { return nil }
        defer { decisions[kind] = known }
        while let first = known.first, lead(first) < -Self.reach { known.removeFirst() }
        let near = known.prefix { lead($0) <= Self.reach }
        guard let index = near.indices.min(by: { abs(lead(near[$0])) < abs(lead(near[$1])) }) else { return nil }
        return PolicyAnswer(recorded: known.remove(at: index), as: .recorded, node: vehicle)
    }
}
