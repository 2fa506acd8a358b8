import NavKit
import NavGeo
import NavGuidance
import NavMap
import NavMatching
import NavMessages
import NavNavigator
import NavPositioning
import NavRouting
import NavWire

/// An encoder of the core's publications as messages, which keeps the last messages for replies and policy requests.
final class PublicationEncoder {
    var map: MapSnapshot
    /// The local clocks' offset from UTC, minutes; nil when unknown.
    var minutesAheadOfUTC: Int?
    var fix = NavMessages.GnssFix()
    /// The fixes of the last policy requests.
    private var askedFixes: [(fix: Fix, message: NavMessages.GnssFix)] = []
    private static let mostAskedFixes = 64
    /// The stamp of the last accepted fix.
    var lastUsed: NavGeo.Timestamp?
    private(set) var plan: RoutePlan?
    /// The number of changes of ``plan``.
    private(set) var planChanges = 0
    /// The last published position.
    private(set) var vehiclePosition: VehiclePosition?
    /// The last edge of a published position that is not on a roundabout.
    private(set) var approach: EdgeKey?
    /// The last published message of each kind.
    private(set) var state: NavMessages.NavigationState?
    private(set) var position: NavMessages.MatchedPosition?
    private(set) var progress: NavMessages.RouteProgress?
    private(set) var route: NavMessages.Route?

    init(map: MapSnapshot, minutesAheadOfUTC: Int?) {
        self.map = map
        self.minutesAheadOfUTC = minutesAheadOfUTC
    }

    /// The vehicle of the route in force, otherwise the node's.
    var vehicle: NavRouting.VehicleProfile { plan?.route.vehicle ?? map.metric.model.profile }

    /// Returns the speed limit of an edge at a moment for the vehicle; nil when the edge is not loaded.
    private func limit(_ edge: EdgeKey?, at stamp: NavGeo.Timestamp) -> SpeedLimit? {
        guard let edge = edge.flatMap({ map.graph.edge($0) }) else { return nil }
        return map.turns.speedLimit(of: edge, for: vehicle, at: localTime(at: stamp))
    }

    /// Returns the local time at a moment; nil when the offset is unknown.
    func localTime(at stamp: NavGeo.Timestamp) -> LocalTime? {
        minutesAheadOfUTC.map { LocalTime(stamp, minutesAheadOfUTC: $0) }
    }

    /// Returns the speed limit at the vehicle; off-route, that of the vehicle's road.
    private func limit(_ progress: NavNavigator.RouteProgress, at stamp: NavGeo.Timestamp) -> SpeedLimit {
        limit(progress.edge, at: stamp)
            ?? progress.attributes?.limit(for: vehicle.access)
            ?? .unknown
    }

    /// Returns the message of a question to the owner's policy.
    func message(_ request: NavNavigator.PolicyRequest, _ context: EventContext) -> NavMessages.PolicyRequest {
        if case .shouldDiscardFix(let asked, _) = request.question {
            askedFixes.append((asked, fix))
            // Bounded, because the encoder is not notified when the owner accepts a fix.
            if askedFixes.count > Self.mostAskedFixes { askedFixes.removeFirst() }
        }
        return NavMessages.PolicyRequest(request, surroundings(context))
    }

    /// Returns a publication's message on its topic; nil for receiver changes and policy questions, which are encoded separately.
    func encode(_ publication: Publication, _ context: EventContext) -> OutgoingMessage? {
        switch publication {
        case .state(let state):
            var message = NavigationState(state, context: context)
            message.gnss?.lastQualifiedAgeS = lastUsed.map { max(context.stamp.seconds(since: $0), 0) }
            self.state = message
            return OutgoingMessage(Topics.state, context.stamp, message)
        case .position(let published):
            let message = NavMessages.MatchedPosition(
                published, context: context, graph: map.graph,
                limit: limit(published.match.road?.edgeKey, at: context.stamp))
            position = message
            vehiclePosition = published
            if let road = published.road, !map.graph.traits(of: road.edge).flags.contains(.roundabout) {
                approach = road.edgeKey
            }
            return OutgoingMessage(Topics.position, context.stamp, message)
        case .progress(let progress):
            let message = message(progress, context)
            self.progress = message
            return OutgoingMessage(Topics.progress, context.stamp, message)
        case .refresh(let event):
            let message = NavMessages.RouteRefresh(
                event, context: context, progress: event.progress.map { self.message($0, context) })
            return OutgoingMessage(Topics.routeRefresh, context.stamp, message)
        case .route(let plan, let change):
            return OutgoingMessage(Topics.route, context.stamp, encode(plan, change, context))
        case .visual(let instruction, let distance, let duration):
            guard let instruction, let plan else {
                return OutgoingMessage(
                    Topics.visualInstruction, context.stamp, NavMessages.VisualInstruction(clearedAt: context))
            }
            return OutgoingMessage(
                Topics.visualInstruction, context.stamp,
                NavMessages.VisualInstruction(
                    instruction, distance: distance, duration: duration, context: context, guidance: plan.guidance)
            )
        case .spoken(let instruction, let distance, let duration):
            return OutgoingMessage(
                Topics.spokenInstruction, context.stamp, message(instruction, distance, duration, context))
        case .receiver, .policyRequest: return nil
        case .fixRejected(let rejected, let rejection):
            // The owner may decide after later fixes have arrived.
            let place = askedFixes.firstIndex {
                ($0.fix.sequence, $0.fix.receiver, $0.fix.stamp) == (
                    rejected.sequence, rejected.receiver, rejected.stamp
                )
            }
            let fix = place.map { askedFixes.remove(at: $0).message } ?? fix
            return OutgoingMessage(Topics.fixRejected, context.stamp, FixRejected(rejection, fix, context: context))
        default: return event(publication, context)
        }
    }

    /// Returns the message of progress, with the speed limit at the vehicle.
    func message(_ progress: NavNavigator.RouteProgress, _ context: EventContext) -> NavMessages.RouteProgress {
        NavMessages.RouteProgress(progress, context: context, limit: limit(progress, at: context.stamp))
    }

    /// Returns the message of a spoken instruction.
    func message(
        _ instruction: NavGuidance.SpokenInstruction, _ distance: Double, _ duration: Double, _ context: EventContext
    ) -> NavMessages.SpokenInstruction {
        NavMessages.SpokenInstruction(
            instruction, distance: distance, duration: duration, context: context, guidance: plan?.guidance)
    }

    private func event(_ publication: Publication, _ context: EventContext) -> OutgoingMessage? {
        switch publication {
        case .reroute(let event):
            OutgoingMessage(Topics.reroute, context.stamp, NavMessages.RerouteEvent(event, context: context))
        case .arrival(let event):
            OutgoingMessage(
                Topics.arrival, context.stamp, NavMessages.ArrivalEvent(event, context: context, route: plan?.route))
        case .simulation(let event):
            OutgoingMessage(Topics.simulation, context.stamp, NavMessages.SimulationEvent(event, context: context))
        case .preview(let preview):
            OutgoingMessage(Topics.preview, context.stamp, NavMessages.RoutePreview(preview, context: context))
        case .alternatives(let update):
            OutgoingMessage(Topics.alternatives, context.stamp, NavMessages.Alternatives(update, context: context))
        case .alternativeSwitch(let event):
            OutgoingMessage(
                Topics.alternativeSwitch, context.stamp, NavMessages.AlternativeSwitch(event, context: context))
        case .fasterRoute(let event):
            OutgoingMessage(Topics.fasterRoute, context.stamp, NavMessages.FasterRoute(event, context: context))
        case .policyDecision(let decision):
            OutgoingMessage(
                Topics.policyDecision, context.stamp, NavMessages.PolicyDecision(decision, context: context))
        default: nil
        }
    }

    private func encode(_ plan: RoutePlan?, _ change: RouteChange, _ context: EventContext)
        -> NavMessages.Route
    {
        self.plan = plan
        planChanges += 1
        guard let plan else {
            (route, progress) = (nil, nil)
            return NavMessages.Route(noneAt: context)
        }
        let message = NavMessages.Route(plan, context: context, reason: RouteReason(change))
        // Progress on another route is not progress on this one; a refresh keeps the route.
        if message.routeId != route?.routeId { progress = nil }
        route = message
        return message
    }

    func surroundings(_ context: EventContext) -> PolicySurroundings {
        PolicySurroundings(
            context: context, position: position, progress: progress, plan: plan, rejected: fix)
    }
}

extension ReceiverSelection {
    /// Sets the message's time, session and route.
    mutating func place(in context: EventContext) {
        stampNs = context.stamp.nanoseconds
        (sessionId, routeId) = (context.session, context.route)
        (causeSequence, eventSequence) = (context.cause, context.eventSequence)
    }
}

extension NavMessages.RouteAnswer {
    init(_ answer: FoundAnswer, to query: RouteQuery) {
        self.init(
            requestId: query.requestID, purpose: RouteRequestPurpose(query.purpose), mapSnapshot: answer.map,
            providerBody: answer.body)
        switch answer.answer {
        case .found(let found):
            provider = NavMessages.RouteProvider(found.main.provider)
            routes = [NavMessages.Route(found.main)] + found.alternatives.map { NavMessages.Route($0.plan) }
        case .failed(let failure): error = ErrorInfo(failure)
        }
    }
}
