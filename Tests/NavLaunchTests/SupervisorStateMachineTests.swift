import NavLaunch
import Testing

/// The supervisor with a simulated time and without processes.
@Suite struct SupervisorStateMachineTests {
    typealias Effect = SupervisorStateMachine.Effect

    /// A state machine with a clock and its effects.
    struct Bench {
        var machine: SupervisorStateMachine
        var now = MonotonicTime(nanoseconds: 0)

        init(_ nodes: [LaunchNode], grace: GracePeriods = GracePeriods()) {
            machine = SupervisorStateMachine(nodes: nodes, grace: grace)
        }

        mutating func startAll(_ count: Int) {
            _ = send(.start)
            for node in 0..<count { _ = send(.spawned(node: node)) }
        }

        /// Sends an event and returns its effects without the notes.
        mutating func send(_ event: SupervisorStateMachine.Event) -> [Effect] {
            machine.handle(event, at: now).filter { effect in
                if case .note = effect { return false }
                return true
            }
        }

        mutating func advance(_ duration: Duration) -> [Effect] {
            now = now + duration
            return send(.timer)
        }
    }

    static func node(_ name: String, required: Bool = false, restart: RestartPolicy = RestartPolicy()) -> LaunchNode {
        LaunchNode(name: name, executable: "/bin/true", required: required, restart: restart)
    }

    @Test func everythingStartsInOrder() {
        var bench = Bench([Self.node("a"), Self.node("b")])
        #expect(bench.send(.start) == [.spawn(node: 0), .spawn(node: 1)])
        #expect(bench.machine.nextDeadline == nil)
    }

    @Test func launchEndsWhenAllNodesHaveEnded() {
        var bench = Bench([Self.node("a"), Self.node("b")])
        bench.startAll(2)
        #expect(bench.send(.ended(node: 0, .exited(0))) == [])
        #expect(bench.send(.ended(node: 1, .exited(0))) == [.finish(exitCode: 0)])
    }

    @Test func failedNodeMakesTheExitCode1() {
        var bench = Bench([Self.node("a"), Self.node("b")])
        bench.startAll(2)
        #expect(bench.send(.ended(node: 0, .exited(3))) == [])
        #expect(bench.send(.ended(node: 1, .exited(0))) == [.finish(exitCode: 1)])
    }

    @Test(arguments: [(ProcessEnd.exited(0), Int32(0)), (.exited(2), 1), (.signalled(11), 1)])
    func endOfARequiredNodeStopsTheOthers(end: ProcessEnd, exitCode: Int32) {
        var bench = Bench([Self.node("player", required: true), Self.node("other")])
        bench.startAll(2)
        #expect(bench.send(.ended(node: 0, end)) == [.signal(node: 1, .interrupt)])
        #expect(bench.send(.ended(node: 1, .signalled(2))) == [.finish(exitCode: exitCode)])
    }

    @Test func requiredNodeThatCannotStartStopsTheOthers() {
        var bench = Bench([Self.node("other"), Self.node("player", required: true)])
        _ = bench.send(.start)
        _ = bench.send(.spawned(node: 0))
        #expect(bench.send(.spawnFailed(node: 1, reason: "no")) == [.signal(node: 0, .interrupt)])
        #expect(bench.send(.ended(node: 0, .exited(0))) == [.finish(exitCode: 1)])
    }

    @Test func nodeStartedDuringTheStopIsStoppedAtOnce() {
        var bench = Bench([Self.node("player", required: true), Self.node("late")])
        _ = bench.send(.start)
        #expect(bench.send(.spawnFailed(node: 0, reason: "no")) == [])
        #expect(bench.send(.spawned(node: 1)) == [.signal(node: 1, .interrupt)])
    }

    @Test func stopEscalatesOverTime() {
        var bench = Bench([Self.node("a")], grace: GracePeriods(interrupt: .seconds(5), terminate: .seconds(3)))
        bench.startAll(1)
        #expect(bench.send(.stopRequested(by: "Ctrl-C")) == [.signal(node: 0, .interrupt)])
        #expect(bench.machine.nextDeadline == MonotonicTime(nanoseconds: 5_000_000_000))
        #expect(bench.advance(.milliseconds(4_999)) == [])
        #expect(bench.advance(.milliseconds(1)) == [.signal(node: 0, .terminate)])
        #expect(bench.advance(.seconds(2)) == [])
        #expect(bench.advance(.seconds(1)) == [.signal(node: 0, .kill)])
        #expect(bench.machine.nextDeadline == nil)
        #expect(bench.send(.ended(node: 0, .signalled(9))) == [.finish(exitCode: 1)])
    }

    @Test func aSecondStopRequestDoesNotWait() {
        var bench = Bench([Self.node("a")])
        bench.startAll(1)
        _ = bench.send(.stopRequested(by: "Ctrl-C"))
        #expect(bench.send(.stopRequested(by: "Ctrl-C")) == [.signal(node: 0, .terminate)])
        #expect(bench.send(.stopRequested(by: "Ctrl-C")) == [.signal(node: 0, .kill)])
    }

    @Test(arguments: [
        (ProcessEnd.exited(0), Int32(0)), (.signalled(2), 0), (.signalled(15), 0), (.exited(130), 0), (.exited(143), 0),
        (.exited(1), 1), (.signalled(9), 1), (.signalled(6), 1),
    ])
    func aStopOnRequestSucceedsWhenEveryNodeEndsCleanly(end: ProcessEnd, exitCode: Int32) {
        var bench = Bench([Self.node("a")])
        bench.startAll(1)
        _ = bench.send(.stopRequested(by: "Ctrl-C"))
        #expect(bench.send(.ended(node: 0, end)) == [.finish(exitCode: exitCode)])
    }

    @Test func crashBeforeTheStopDoesNotFailTheStop() {
        var bench = Bench([Self.node("a"), Self.node("optional")])
        bench.startAll(2)
        _ = bench.send(.ended(node: 1, .signalled(11)))
        _ = bench.send(.stopRequested(by: "SIGTERM"))
        #expect(bench.send(.ended(node: 0, .exited(0))) == [.finish(exitCode: 0)])
    }

    @Test func restartsBackOffAndGiveUpAtTheLimit() {
        let policy = RestartPolicy(mode: .onFailure, delay: .seconds(1), maximumDelay: .seconds(3), limit: 4)
        var bench = Bench([Self.node("a", required: true, restart: policy)])
        bench.startAll(1)
        for delay in [1, 2, 3, 3] {
            #expect(bench.send(.ended(node: 0, .exited(1))) == [])
            #expect(bench.machine.nextDeadline == bench.now + .seconds(delay))
            #expect(bench.advance(.milliseconds(delay * 1_000 - 1)) == [])
            #expect(bench.advance(.milliseconds(1)) == [.spawn(node: 0)])
            _ = bench.send(.spawned(node: 0))
        }
        #expect(bench.send(.ended(node: 0, .exited(1))) == [.finish(exitCode: 1)])
        #expect(
            bench.machine.summary == [
                "node  end                  restarts    time     cpu  memory",
                "a     ended with status 1         4  0.00 s  0.00 s       -",
            ])
    }

    @Test func steadyRunResetsTheRestartCount() {
        let policy = RestartPolicy(mode: .always, delay: .seconds(1), maximumDelay: .seconds(60), limit: 1)
        var bench = Bench([Self.node("a", restart: policy)])
        bench.startAll(1)
        for _ in 0..<5 {
            bench.now = bench.now + SupervisorStateMachine.steadyAfter
            #expect(bench.send(.ended(node: 0, .exited(0))) == [])
            #expect(bench.advance(.seconds(1)) == [.spawn(node: 0)])
            _ = bench.send(.spawned(node: 0))
        }
    }

    @Test func onFailureDoesNotRestartAfterSuccess() {
        var bench = Bench([Self.node("a", restart: RestartPolicy(mode: .onFailure))])
        bench.startAll(1)
        #expect(bench.send(.ended(node: 0, .exited(0))) == [.finish(exitCode: 0)])
    }

    @Test func aStopCancelsARestart() {
        var bench = Bench([Self.node("a", restart: RestartPolicy(mode: .always)), Self.node("b")])
        bench.startAll(2)
        _ = bench.send(.ended(node: 0, .exited(1)))
        #expect(bench.send(.stopRequested(by: "Ctrl-C")) == [.signal(node: 1, .interrupt)])
        #expect(bench.send(.ended(node: 1, .exited(0))) == [.finish(exitCode: 0)])
        #expect(bench.advance(.seconds(100)) == [])
    }

    @Test func eventsAfterTheEndAreIgnored() {
        var bench = Bench([Self.node("a")])
        bench.startAll(1)
        _ = bench.send(.ended(node: 0, .exited(0)))
        #expect(bench.send(.ended(node: 0, .exited(1))) == [])
        #expect(bench.send(.stopRequested(by: "Ctrl-C")) == [])
        #expect(bench.send(.timer) == [])
    }

    @Test func hugeDelaysSaturate() {
        let late = MonotonicTime(nanoseconds: .max - 1)
        #expect(late + .seconds(10) == MonotonicTime(nanoseconds: .max))
        #expect(late + .seconds(Int64.max) == MonotonicTime(nanoseconds: .max))
    }

    // MARK: Hung nodes

    private static func watched(restart: RestartPolicy = RestartPolicy(mode: .onFailure)) -> LaunchNode {
        LaunchNode(name: "a", executable: "/bin/true", restart: restart, watchdog: .seconds(5))
    }

    /// Advances the time like a running launcher, which checks at least once a second.
    private static func wait(_ duration: Duration, _ bench: inout Bench) -> [Effect] {
        var effects: [Effect] = []
        for _ in 0..<Int(duration / .milliseconds(500)) { effects += bench.advance(.milliseconds(500)) }
        return effects
    }

    @Test func silentNodeIsEndedAndRestarted() {
        var bench = Bench([Self.watched()])
        bench.startAll(1)
        _ = bench.send(.alive(node: 0))
        #expect(Self.wait(.seconds(4), &bench) == [])
        _ = bench.send(.alive(node: 0))
        #expect(Self.wait(.seconds(4), &bench) == [])
        #expect(Self.wait(.seconds(1), &bench) == [.abort(node: 0)])
        #expect(bench.send(.ended(node: 0, .signalled(6))) == [])
        #expect(bench.advance(.milliseconds(500)) == [.spawn(node: 0)])
        _ = bench.send(.spawned(node: 0))
        #expect(Self.wait(.seconds(60), &bench) == [], "signals of the previous run are ignored")
    }

    @Test func hungNodeThatIgnoresTheAbortIsKilledAndCountsAsFailed() {
        var bench = Bench([Self.watched()])
        bench.startAll(1)
        _ = bench.send(.alive(node: 0))
        #expect(Self.wait(.seconds(5), &bench) == [.abort(node: 0)])
        #expect(Self.wait(.seconds(10), &bench) == [.signal(node: 0, .kill)])
        #expect(bench.send(.ended(node: 0, .exited(0))) == [])
        #expect(bench.advance(.milliseconds(500)) == [.spawn(node: 0)])
    }

    @Test func nodeWithoutWatchdogSignalsIsNotMonitored() {
        var bench = Bench([Self.watched()])
        bench.startAll(1)
        #expect(Self.wait(.seconds(600), &bench) == [])
        #expect(bench.machine.nextDeadline == nil)
    }

    /// The launcher was stopped or the machine suspended, so no signal could be received.
    @Test func suspendedTimeOfTheLauncherDoesNotCountAsSilence() {
        var bench = Bench([Self.watched()])
        bench.startAll(1)
        _ = bench.send(.alive(node: 0))
        #expect(bench.advance(.seconds(3_600)) == [])
        #expect(bench.advance(.seconds(3_600)) == [])
        _ = bench.send(.alive(node: 0))
        #expect(Self.wait(.seconds(4), &bench) == [])
        #expect(Self.wait(.seconds(1), &bench) == [.abort(node: 0)])
    }

    @Test func slowlyStartingNodeIsNotMistakenForHung() {
        var node = Self.watched()
        node.readiness = Readiness([.topic("/a")], timeout: .seconds(60))
        var bench = Bench([node])
        bench.startAll(1)
        _ = bench.send(.alive(node: 0))
        #expect(Self.wait(.seconds(30), &bench) == [])
        _ = bench.send(.seen(AwaitedNode(index: 0, run: 1), missing: nil))
        #expect(Self.wait(.seconds(4), &bench) == [])
        #expect(Self.wait(.seconds(1), &bench) == [.abort(node: 0)])
    }

    @Test func nodeThatHangsDuringTheStopIsStoppedLikeTheOthers() {
        var bench = Bench([Self.watched()])
        bench.startAll(1)
        _ = bench.send(.alive(node: 0))
        #expect(Self.wait(.seconds(5), &bench) == [.abort(node: 0)])
        #expect(bench.send(.stopRequested(by: "test")) == [.signal(node: 0, .interrupt)])
        #expect(bench.send(.ended(node: 0, .signalled(6))) == [.finish(exitCode: 1)])
    }
}
