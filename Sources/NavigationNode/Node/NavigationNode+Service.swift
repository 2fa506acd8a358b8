import NavWire
import NavBus
import NavGeo
package import NavKit
package import NavMessages
import NavNavigator
import NavRouting

/// The Navigation service: each method is a command to the core, which answers it.
extension NavigationNode: NavigationServiceProvider {
    private func give<Response: Message>(
        _ request: NavigationCommand.Request, _ call: UnaryCall<Response>,
        _ answer: @escaping (CommandReply) -> Response
    ) {
        let id = calls.add(call, onEnd: { [weak self] in self?.callEnded($0) }, answer)
        noteProvider()
        carryOut(session.handle(request, call: id, caller: JournalCaller.call, at: present))
    }

    private func callEnded(_ id: UInt64) { carryOut(session.callEnded(id)) }

    /// Finds routes without starting guidance, or shows them as a preview.
    package func calculateRoute(_ request: CalculateRouteRequest, _ call: StreamCall<CalculateRouteResponse>) throws {
        let id = calls.add(call, alternatives: Int(request.options?.alternatives ?? 0)) { [weak self] in
            self?.callEnded($0)
        }
        let outcome = session.handle(.calculateRoute(request), call: id, caller: JournalCaller.call, at: present)
        for query in outcome.queries where query.purpose == .calculate { calls.follow(query.requestID, for: id, call) }
        carryOut(outcome)
    }

    /// Chooses a route of the preview.
    package func selectPreview(_ request: SelectPreviewRequest, _ call: UnaryCall<SelectPreviewResponse>) throws {
        give(.selectPreview(request), call) { reply in
            var response = SelectPreviewResponse(error: reply.error)
            if case .selected(let id) = reply { response.routeId = id }
            return response
        }
    }

    /// Starts guidance along the chosen route of the preview.
    package func startNavigation(_ request: StartNavigationRequest, _ call: UnaryCall<StartNavigationResponse>) throws {
        give(.startNavigation(request), call) { reply in
            let (session, route) = reply.following
            return StartNavigationResponse(sessionId: session, routeId: route, error: reply.error)
        }
    }

    /// Starts guidance to places, or along a given route.
    package func setRoute(_ request: SetRouteRequest, _ call: UnaryCall<SetRouteResponse>) throws {
        give(.setRoute(request), call) { reply in
            let (session, route) = reply.following
            return SetRouteResponse(
                sessionId: session, routeId: route, error: reply.error,
                waitsForPosition: reply == .awaitingPosition ? true : nil)
        }
    }

    /// Stops guidance and withdraws the route.
    package func stopNavigation(_ request: StopNavigationRequest, _ call: UnaryCall<StopNavigationResponse>) throws {
        give(.stopNavigation(request), call) { reply in
            guard case .stopped(let session) = reply, session != 0 else { return StopNavigationResponse() }
            return StopNavigationResponse(sessionId: session)
        }
    }

    /// Returns the last published state, position, progress and, on request, route.
    package func getState(_ request: GetStateRequest, _ call: UnaryCall<GetStateResponse>) throws {
        let latest = session.spoken
        // Before the first fix nothing is published, because there is no stamp.
        let state = latest.state ?? NavigationState(phase: .idle, mapVersion: session.mapVersion)
        call.finish(
            GetStateResponse(
                state: state, position: latest.position, progress: latest.progress,
                route: request.includeRoute == true ? latest.route : nil))
    }

    /// Requests a reroute at once.
    package func reroute(_ request: RerouteRequest, _ call: UnaryCall<RerouteResponse>) throws {
        give(.reroute(request), call) { RerouteResponse(requestId: $0.requested.id, error: $0.error) }
    }

    package func selectAlternative(
        _ request: SelectAlternativeRequest, _ call: UnaryCall<SelectAlternativeResponse>
    ) throws {
        give(.selectAlternative(request), call) {
            SelectAlternativeResponse(routeId: $0.following.route, error: $0.error)
        }
    }

    /// Accepts or refuses the offered faster route.
    package func acceptFasterRoute(
        _ request: AcceptFasterRouteRequest, _ call: UnaryCall<AcceptFasterRouteResponse>
    ) throws {
        give(.acceptFasterRoute(request), call) {
            AcceptFasterRouteResponse(routeId: $0.following.route, error: $0.error)
        }
    }

    /// Starts the next leg when guidance waits at a stop.
    package func advanceLeg(_ request: AdvanceLegRequest, _ call: UnaryCall<AdvanceLegResponse>) throws {
        give(.advanceLeg(request), call) { [weak self] reply in
            var response = AdvanceLegResponse(error: reply.error)
            if case .legStarted(let progress, let context) = reply {
                response.progress = progress.flatMap { self?.session.spoken.message($0, context) }
            }
            return response
        }
    }

    package func skipWaypoint(_ request: SkipWaypointRequest, _ call: UnaryCall<SkipWaypointResponse>) throws {
        give(.skipWaypoint(request), call) {
            SkipWaypointResponse(
                waypointIndex: $0.requested.skipped.map { UInt32($0) }, requestId: $0.requested.id, error: $0.error)
        }
    }

    /// Refreshes the durations of the route.
    package func refreshRoute(_ request: RefreshRouteRequest, _ call: UnaryCall<RefreshRouteResponse>) throws {
        give(.refreshRoute(request), call) { [weak self] reply in
            var response = RefreshRouteResponse(error: reply.error)
            if case .refreshed(let event) = reply, case .refreshed(let changed) = event.phase,
                let stamp = self?.session.time
            {
                response.summary = NavMessages.RouteSummary(event, at: stamp)
                response.changedSegmentCount = UInt32(clamping: changed)
            }
            return response
        }
    }

    /// Repeats the next maneuver's spoken instruction.
    package func repeatInstruction(
        _ request: RepeatInstructionRequest, _ call: UnaryCall<RepeatInstructionResponse>
    ) throws {
        give(.repeatInstruction(request), call) { [weak self] reply in
            var response = RepeatInstructionResponse(error: reply.error)
            if case .repeated(let spoken, let distance, let duration, let context) = reply {
                response.instruction = self?.session.spoken.message(spoken, distance, duration, context)
                // The event number belongs to the publication, which may have to wait for the owner's decision.
                response.instruction?.eventSequence = nil
            }
            return response
        }
    }

    /// Returns the tiles that the route, or a path between places, needs, and those of them that are missing.
    package func coverage(_ request: RouteCoverageRequest, _ call: UnaryCall<RouteCoverageResponse>) throws {
        do throws(RouteFailure) {
            let survey = try session.coverage(request, id: calls.nextID(), corridor: tileKeys.corridor)
            calls.add(call, survey: survey.id) { [worker] in worker.cancelSurvey(survey.id) }
            worker.submit(survey)
        } catch {
            call.finish(RouteCoverageResponse(error: ErrorInfo(error)))
        }
    }

    /// Returns the electronic horizon with the requested length.
    package func getHorizon(_ request: GetHorizonRequest, _ call: UnaryCall<GetHorizonResponse>) throws {
        do throws(RouteFailure) {
            let horizon = try session.horizon(request)
            carryOut(session.handle(.getHorizon(request), call: calls.nextID(), caller: "call", at: present))
            call.finish(GetHorizonResponse(horizon: horizon))
        } catch {
            call.finish(GetHorizonResponse(error: ErrorInfo(error)))
        }
    }
}
