import NavBus
import NavGeo
import NavKit
import NavMessages
import NavTestBus
import Testing

/// The lifecycle of a node under the control of the runner.
struct NodeRunnerTests {
    @Test func anActiveNodeReceivesAndPublishes() throws {
        let stage = try EchoStage()
        stage.fixes.publish(GnssFix(), on: Topics.gnssFix, stamp: NavGeo.Timestamp(nanoseconds: 1))
        try stage.turn()
        #expect(stage.events == ["activate", "fix echo 1.0"])
        #expect(stage.count("/nav/position") == 1 && stage.count("/health/echo") == 1)
        #expect(stage.runner.lifecycle.state == .active)
    }

    @Test func standbyNodeServesOnlyNodeAndHealth() throws {
        let stage = try EchoStage(autostart: false)
        stage.fixes.publish(GnssFix(), on: Topics.gnssFix, stamp: NavGeo.Timestamp(nanoseconds: 1))
        stage.fixes.publish(Route(), on: Topics.route, stamp: NavGeo.Timestamp(nanoseconds: 1))
        for _ in 0..<3 { try stage.turn() }
        #expect(stage.events.isEmpty && stage.count("/nav/position") == 0)
        let health = try #require(try stage.all(NodeHealth.self, on: "/health/echo").last)
        #expect(health.lifecycleState == .inactive && health.state == .ok && health.reasons.isEmpty)

        let activated = try stage.call(NodeService.changeState, ChangeStateRequest(transition: .activate))
        #expect(activated == ChangeStateResponse(state: .active))
        stage.fixes.publish(GnssFix(), on: Topics.gnssFix, stamp: NavGeo.Timestamp(nanoseconds: 2))
        for _ in 0..<3 { try stage.turn() }
        // On activation the node receives the latched message, but not an earlier fix.
        #expect(stage.events == ["activate", "route", "fix echo 1.0"])
        #expect(try stage.all(NodeHealth.self, on: "/health/echo").last?.lifecycleState == .active)

        _ = try stage.call(NodeService.changeState, ChangeStateRequest(transition: .deactivate))
        stage.fixes.publish(GnssFix(), on: Topics.gnssFix, stamp: NavGeo.Timestamp(nanoseconds: 3))
        for _ in 0..<3 { try stage.turn() }
        #expect(stage.events.last == "deactivate" && stage.count("/nav/position") == 1)
    }

    @Test func latchedMessagesAreClearedOnDeactivation() throws {
        let stage = try EchoStage()
        func lateJoiner(_ name: String) throws -> [String] {
            let late = try InProcessBus(name: name, network: stage.network)
            for topic in ["/nav/state", "/health/echo"] { _ = try late.subscribe(to: topic, qos: .latched) }
            var heard: [String] = []
            for _ in 0..<3 {
                try stage.turn()
                while let delivery = try late.poll(timeout: .zero) { heard.append(delivery.topic) }
            }
            return heard.sorted()
        }
        try stage.turn()
        stage.runner.context.publish(
            NavigationState(stampNs: 5), on: Topics.state, stamp: NavGeo.Timestamp(nanoseconds: 5))
        #expect(try lateJoiner("first").contains("/nav/state"))
        _ = try stage.call(NodeService.changeState, ChangeStateRequest(transition: .deactivate))
        let heard = try lateJoiner("second")
        #expect(heard.contains("/health/echo") && !heard.contains("/nav/state"), "\(heard)")
    }

    @Test func invalidTransitionIsRejected() throws {
        let stage = try EchoStage()
        for (transition, word) in [
            (LifecycleTransition.activate, "the node is active"), (.configure, "the node is active"),
            (.unspecified, "transition must be ACTIVATE"),
            (LifecycleTransition(rawValue: 99), "transition must be ACTIVATE"),
        ] {
            let answer = try stage.call(NodeService.changeState, ChangeStateRequest(transition: transition))
            #expect(answer.state == .active)
            #expect(answer.error?.message?.contains(word) == true, "\(transition)")
        }
        #expect(try stage.call(NodeService.changeState, ChangeStateRequest()).error?.code == .invalidRequest)
    }

    @Test func failedActivationLeavesTheNodeInactive() throws {
        var configuration = EchoConfiguration()
        configuration.title = EchoNode.failing
        #expect(throws: NodeError(.missing, "it cannot be")) { try EchoStage(configuration) }
        let stage = try EchoStage(configuration, autostart: false)
        let answer = try stage.call(NodeService.changeState, ChangeStateRequest(transition: .activate))
        #expect(answer.state == .inactive && answer.error?.message == "it cannot be")
        stage.fixes.publish(GnssFix(), on: Topics.gnssFix, stamp: NavGeo.Timestamp(nanoseconds: 1))
        try stage.turn()
        #expect(stage.events.isEmpty)
    }

    @Test(arguments: [true, false])
    func shutdownEndsTheLoopCleanly(_ isByTransition: Bool) throws {
        let stage = try EchoStage()
        var isAnswered = false
        if isByTransition {
            let request = ChangeStateRequest(transition: .shutdown)
            try stage.peer.call(NodeService.changeState, request, options: stage.options) { _ in isAnswered = true }
        } else {
            let request = ShutdownRequest(reason: "enough")
            try stage.peer.call(NodeService.shutdown, request, options: stage.options) {
                isAnswered = (try? $0.get()) != nil
            }
        }
        try stage.runner.run(until: StopSignal([]))
        try stage.peer.runServices(timeout: .zero)
        #expect(isAnswered)
        #expect(stage.events == ["activate", "deactivate", "finish"])
        #expect(stage.runner.lifecycle.state == .finalized)
    }

    @Test func lockstepMessageWaitsForItsWave() throws {
        let stage = try EchoStage(simTime: true)
        func point(_ sequence: UInt64) -> BarrierPoint {
            BarrierPoint(topic: "/gnss/fix", bootId: stage.peer.bootID, sequence: sequence, publisher: "peer")
        }
        let begun = try stage.call(NodeService.barrier, BarrierRequest(points: [point(0)], phase: .begin, session: 9))
        #expect(begun.subscribed.contains("/gnss/fix") && begun.subscribed.contains("/clock"))
        #expect(begun.published.contains { $0.topic == "/nav/position" && $0.sequence == nil || $0.sequence == 0 })
        for stamp in 1...2 {
            stage.fixes.publish(GnssFix(), on: Topics.gnssFix, stamp: NavGeo.Timestamp(nanoseconds: Int64(stamp)))
        }
        try stage.turn()
        #expect(stage.events == ["activate"])
        let wave = try stage.call(
            NodeService.barrier,
            BarrierRequest(points: [point(1)], stampNs: 5_000_000_000, epoch: 0, phase: .wave, session: 9))
        #expect(stage.events == ["activate", "fix echo 1.0"])
        #expect(wave.published.contains { $0.topic == "/nav/position" && $0.sequence == 1 })
        #expect(stage.runner.context.clock.moment?.time.nanoseconds == 5_000_000_000)
        // The next health report is due after a second of playback time.
        #expect(wave.nextTimerNs == 6_000_000_000)
        let refused = #expect(throws: CallStatus.self) {
            try stage.call(NodeService.barrier, BarrierRequest(phase: .begin, session: 10))
        }
        #expect(refused?.code == .failedPrecondition)
        _ = try stage.call(NodeService.barrier, BarrierRequest(phase: .end, session: 9))
        #expect(stage.events == ["activate", "fix echo 1.0", "fix echo 1.0"])
    }

    @Test func nodeOnTheMachineClockCannotJoinLockstep() throws {
        let stage = try EchoStage()
        let refused = #expect(throws: CallStatus.self) {
            try stage.call(NodeService.barrier, BarrierRequest(phase: .begin, session: 9))
        }
        #expect(refused?.code == .failedPrecondition && refused?.message.contains("sim_time") == true)
    }

    @Test func lifecycleTransitionsAreComplete() {
        var found: [String] = []
        for path in [[], [.configure], [.configure, .activate], [.shutdown]] as [[Lifecycle.Transition]] {
            var life = Lifecycle()
            for step in path { _ = life.take(step) }
            for step in Lifecycle.Transition.allCases {
                if let target = life.target(of: step) { found.append("\(life.state) \(step) \(target)") }
                var other = life
                let isTaken = other.take(step)
                #expect(isTaken == (life.target(of: step) != nil))
                #expect(other.state == life.target(of: step) ?? life.state)
            }
        }
        #expect(
            found == [
                "unconfigured configure inactive", "unconfigured shutdown finalized", "inactive activate active",
                "inactive shutdown finalized", "active deactivate inactive", "active shutdown finalized",
            ])
    }
}
