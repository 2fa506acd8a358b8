import NavLaunch
import Testing

/// The order of starts and stops, with a simulated time and without processes.
@Suite struct StartOrderTests {
    typealias Bench = SupervisorStateMachineTests.Bench

    static func node(
        _ name: String, after: [String] = [], topic: String? = nil, timeout: Duration = .seconds(30),
        onTimeout: Readiness.Timeout = .stop, required: Bool = false, restart: RestartPolicy = RestartPolicy()
    ) -> LaunchNode {
        LaunchNode(
            name: name, executable: "/bin/true", required: required, restart: restart,
            readiness: topic.map { Readiness([.topic($0)], timeout: timeout, onTimeout: onTimeout) }, after: after)
    }

    static func first(_ index: Int) -> AwaitedNode { AwaitedNode(index: index, run: 1) }

    @Test func nodeStartsOnceItsDependenciesAreReady() {
        var bench = Bench([
            Self.node("last", after: ["a", "b"]), Self.node("a", topic: "/a"), Self.node("b"),
        ])
        #expect(bench.send(.start) == [.spawn(node: 1), .spawn(node: 2)])
        #expect(bench.send(.spawned(node: 1)) == [])
        #expect(bench.send(.spawned(node: 2)) == [])
        #expect(bench.machine.awaited == [Self.first(1)])
        #expect(bench.send(.seen(Self.first(1), missing: "the topic /a")) == [])
        #expect(bench.send(.seen(Self.first(1), missing: nil)) == [.spawn(node: 0)])
        #expect(bench.machine.awaited == [])
        #expect(bench.machine.nextDeadline == nil)
    }

    @Test func theTimeUntilReadyIsReported() {
        var bench = Bench([Self.node("a", topic: "/a")])
        bench.startAll(1)
        bench.now = bench.now + .milliseconds(1_250)
        let effects = bench.machine.handle(.seen(Self.first(0), missing: nil), at: bench.now)
        #expect(effects == [.note(node: 0, "ready after 1.25 s")])
    }

    @Test func readinessTimeoutFailsTheLaunchWithTheMissingCondition() {
        var bench = Bench([Self.node("a", topic: "/a", timeout: .seconds(2)), Self.node("b", after: ["a"])])
        bench.startAll(1)
        _ = bench.send(.seen(Self.first(0), missing: "the topic /a"))
        #expect(bench.advance(.milliseconds(1_999)) == [])
        bench.now = bench.now + .milliseconds(1)
        let effects = bench.machine.handle(.timer, at: bench.now)
        #expect(
            effects == [
                .note(node: 0, "not ready after 2.00 s: missing the topic /a; stopping everything"),
                .signal(node: 0, .interrupt),
            ])
        #expect(bench.send(.ended(node: 0, .signalled(2))) == [.finish(exitCode: 1)])
        #expect(bench.machine.summary[2].contains("could not be started: the launch ended first"))
    }

    @Test func readinessTimeoutCanBeIgnored() {
        var bench = Bench([
            Self.node("a", topic: "/a", timeout: .seconds(2), onTimeout: .proceed), Self.node("b", after: ["a"]),
        ])
        bench.startAll(1)
        #expect(bench.advance(.seconds(2)) == [.spawn(node: 1)])
        #expect(bench.machine.awaited == [])
    }

    @Test func restartedNodeMustBecomeReadyAgain() {
        let policy = RestartPolicy(mode: .onFailure, delay: .seconds(1))
        var bench = Bench([Self.node("a", topic: "/a", restart: policy), Self.node("b", after: ["a"], restart: policy)])
        bench.startAll(1)
        #expect(bench.send(.seen(Self.first(0), missing: nil)) == [.spawn(node: 1)])
        _ = bench.send(.spawned(node: 1))
        _ = bench.send(.ended(node: 0, .signalled(11)))
        _ = bench.send(.ended(node: 1, .exited(1)))
        // The second node waits for the first, although its own restart delay is over.
        #expect(bench.advance(.seconds(1)) == [.spawn(node: 0)])
        _ = bench.send(.spawned(node: 0))
        #expect(bench.send(.seen(Self.first(0), missing: nil)) == [], "observations of an earlier run are ignored")
        #expect(bench.machine.awaited == [AwaitedNode(index: 0, run: 2)])
        #expect(bench.send(.seen(AwaitedNode(index: 0, run: 2), missing: nil)) == [.spawn(node: 1)])
    }

    @Test func nodeThatEndsBeforeReadyBlocksItsDependents() {
        var bench = Bench([
            Self.node("a", topic: "/a"), Self.node("b", after: ["a"]), Self.node("c", after: ["b"]),
        ])
        bench.startAll(1)
        #expect(bench.send(.ended(node: 0, .exited(0))) == [.finish(exitCode: 1)])
        #expect(bench.machine.summary[2].contains("it starts after a, which was never ready"))
        #expect(bench.machine.summary[3].contains("it starts after b, which was never ready"))
    }

    @Test func optionalNodeThatFailsBeforeReadyBlocksNoOther() {
        let restart = RestartPolicy(mode: .onFailure, delay: .seconds(1))
        var bench = Bench([
            Self.node("a", topic: "/a", onTimeout: .proceed, restart: restart), Self.node("b", after: ["a"]),
        ])
        bench.startAll(1)
        #expect(bench.send(.ended(node: 0, .exited(1))) == [.spawn(node: 1)])
        _ = bench.send(.spawned(node: 1))
        #expect(bench.advance(.seconds(1)) == [.spawn(node: 0)])
    }

    @Test func optionalNodeThatCannotStartBlocksNoOther() {
        var bench = Bench([Self.node("a"), Self.node("b", after: ["a"])])
        #expect(bench.send(.start) == [.spawn(node: 0)])
        #expect(bench.send(.spawnFailed(node: 0, reason: "no")) == [.spawn(node: 1)])
    }

    @Test func requiredNodeThatCannotStartStopsEverything() {
        var bench = Bench([
            Self.node("a", topic: "/a"), Self.node("b", after: ["a"], required: true), Self.node("c"),
        ])
        #expect(bench.send(.start) == [.spawn(node: 0), .spawn(node: 2)])
        _ = bench.send(.spawned(node: 2))
        #expect(bench.send(.spawnFailed(node: 0, reason: "no")) == [.signal(node: 2, .interrupt)])
        #expect(bench.send(.ended(node: 2, .exited(0))) == [.finish(exitCode: 1)])
    }

    @Test func endOfAReadyNodeDoesNotBlockItsDependents() {
        var bench = Bench([Self.node("a", topic: "/a"), Self.node("b"), Self.node("c", after: ["a", "b"])])
        #expect(bench.send(.start) == [.spawn(node: 0), .spawn(node: 1)])
        _ = bench.send(.spawned(node: 0))
        _ = bench.send(.seen(Self.first(0), missing: nil))
        _ = bench.send(.ended(node: 0, .exited(0)))
        #expect(bench.send(.spawned(node: 1)) == [.spawn(node: 2)])
    }

    @Test func dependentsAreStoppedFirst() {
        var bench = Bench([Self.node("a"), Self.node("b", after: ["a"]), Self.node("c", after: ["b"]), Self.node("x")])
        bench.startAll(4)
        #expect(
            bench.send(.stopRequested(by: "Ctrl-C")) == [.signal(node: 2, .interrupt), .signal(node: 3, .interrupt)])
        #expect(bench.send(.ended(node: 3, .exited(0))) == [])
        #expect(bench.send(.ended(node: 2, .exited(0))) == [.signal(node: 1, .interrupt)])
        #expect(bench.send(.ended(node: 1, .exited(0))) == [.signal(node: 0, .interrupt)])
        #expect(bench.send(.ended(node: 0, .exited(0))) == [.finish(exitCode: 0)])
    }

    @Test func orderedStopTakesNoLongerThanAnUnorderedOne() {
        let grace = GracePeriods(interrupt: .seconds(6), terminate: .seconds(3))
        var bench = Bench([Self.node("a"), Self.node("b", after: ["a"]), Self.node("c", after: ["b"])], grace: grace)
        bench.startAll(3)
        #expect(bench.send(.stopRequested(by: "Ctrl-C")) == [.signal(node: 2, .interrupt)])
        #expect(bench.advance(.seconds(2)) == [.signal(node: 1, .interrupt)])
        #expect(bench.advance(.seconds(2)) == [.signal(node: 0, .interrupt)])
        let all = [0, 1, 2]
        #expect(bench.advance(.seconds(2)) == all.map { .signal(node: $0, .terminate) })
        #expect(bench.advance(.seconds(3)) == all.map { .signal(node: $0, .kill) })
    }

    @Test func secondStopRequestIgnoresTheOrder() {
        var bench = Bench([Self.node("a"), Self.node("b", after: ["a"])])
        bench.startAll(2)
        _ = bench.send(.stopRequested(by: "Ctrl-C"))
        #expect(
            bench.send(.stopRequested(by: "Ctrl-C")) == [.signal(node: 0, .terminate), .signal(node: 1, .terminate)])
    }

    @Test func nodeThatCrashesBeforeItsStopIsNotClean() {
        var bench = Bench([Self.node("a"), Self.node("b", after: ["a"])])
        bench.startAll(2)
        _ = bench.send(.stopRequested(by: "Ctrl-C"))
        #expect(bench.send(.ended(node: 0, .signalled(11))) == [])
        #expect(bench.send(.ended(node: 1, .exited(0))) == [.finish(exitCode: 1)])
    }

    @Test func circularOrderEndsTheLaunch() {
        let nodes = [
            Self.node("a", after: ["b"]), Self.node("b", after: ["a"]), Self.node("c", after: ["c"]), Self.node("d"),
        ]
        var bench = Bench(nodes)
        #expect(bench.send(.start) == [.spawn(node: 3)])
        _ = bench.send(.spawned(node: 3))
        #expect(bench.send(.ended(node: 3, .exited(0))) == [.finish(exitCode: 1)])
    }

    @Test func summaryHasRestartsTimeAndMemory() {
        var bench = Bench([Self.node("a"), Self.node("recorder")])
        bench.startAll(2)
        bench.now = bench.now + .milliseconds(12_340)
        let usage = ProcessUsage(peakMemory: 15 << 20, processorTime: .milliseconds(1_230))
        _ = bench.send(.ended(node: 1, .signalled(11, dumpedCore: true), usage))
        _ = bench.send(.ended(node: 0, .exited(0), ProcessUsage(peakMemory: 1 << 19)))
        #expect(
            bench.machine.summary == [
                "node      end                              restarts    time     cpu    memory",
                "a         ended with status 0                     -  12.3 s  0.00 s   0.5 MiB",
                "recorder  killed by SIGSEGV (core dumped)         -  12.3 s  1.23 s  15.0 MiB",
            ])
    }
}
