import NavGeo
import NavGuidance
import NavMap
import NavMatching
import NavNavigator
import NavPositioning
import NavRouting
import NavTestKit

/// A hash of all output of a drive: equal drives have equal hashes.
struct Digest: Equatable {
    private var digest = RunDigest()

    private mutating func add(_ word: UInt64) { digest.add(word) }
    private mutating func add(_ number: Double) { add(number.bitPattern) }
    private mutating func add(_ text: String) { digest.add(text.utf8) }
    private mutating func add(_ place: Coordinate) {
        add(place.latitude)
        add(place.longitude)
    }

    mutating func add(_ effects: [Effect]) {
        for effect in effects {
            switch effect {
            case .publish(let context, let what):
                add(UInt64(bitPattern: context.stamp.nanoseconds))
                add(context.sessionID ^ context.routeID << 32 ^ context.eventSequence)
                add(what)
            case .requestRoute(let query):
                add(query.requestID)
                for waypoint in query.request.waypoints {
                    add(waypoint.coordinate)
                    add(waypoint.bearing ?? -1)
                }
            case .cancelRoute(let id): add(id)
            case .needTiles(let tiles): add("\(tiles)")
            case .askPolicy(let request): add(request.requestID)
            case .withdrawPolicy(let id): add(id)
            case .reply(let call, let reply):
                add(call)
                add(String("\(reply)".prefix(40)))
            case .qualified(let fix, let verdict): add("\(fix.stamp.nanoseconds) \(verdict)")
            case .keepTrip(let trip): add(trip.map { $0.sessionID ^ UInt64($0.leg) } ?? 0)
            }
        }
    }

    private mutating func add(_ what: Publication) {
        switch what {
        case .position(let position): add(position)
        case .progress(let progress):
            for number in [
                progress.offset, progress.durationRemaining, progress.stepDistanceRemaining,
                progress.deviation.distance,
                progress.deviation.probability, progress.snappedBearing ?? 0,
            ] { add(number) }
            add("\(progress.deviation.state)")
        case .route(let plan, let change):
            add("\(change)")
            for edge in plan?.route.edges ?? [] {
                add(edge.key.rawValue)
                add(edge.duration)
            }
        case .visual(let visual, let distance, let duration):
            add(visual?.primary.text ?? "")
            add(distance)
            add(duration)
        case .spoken(let spoken, let distance, let duration):
            add(spoken.ssml)
            add(distance)
            add(duration)
        case .alternatives(let update):
            for offered in update.alternatives {
                add(offered.id)
                add(offered.durationDelta)
                add(offered.distanceToFork)
            }
            add("\(update.added) \(update.removed)")
        case .state, .arrival, .reroute, .receiver, .alternativeSwitch: add("\(what)")
        case .fixRejected(_, let rejection): add("\(rejection)")
        case .simulation(let event):
            add("\(event.phase) \(event.reason)")
            event.position.map { add($0) }
        case .preview(let preview): for route in preview.routes { add(route.plan.route.duration) }
        case .fasterRoute(let event):
            add(event.gain.seconds)
            add(String("\(event.phase)".prefix(20)))
        case .refresh(let event): add(event.delta)
        case .policyRequest(let request): add(request.question.kind.rawValue)
        case .policyDecision(let decision): add("\(decision.requestID) \(decision.kind) \(decision.verdict)")
        }
    }

    private mutating func add(_ position: VehiclePosition) {
        add(position.coordinate)
        add(position.match.coordinate)
        add(position.match.confidence)
        add(position.match.offRoadProbability)
        add(position.road?.alongSigma ?? -1)
        add(position.road?.offset ?? -1)
    }
}
