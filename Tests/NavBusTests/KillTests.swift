import Foundation
import NavBus
import NavTestKit
import NavTestSystem
import Testing

/// Nodes killed with SIGKILL, a hundred times in all: callers are notified through the registry, and the name is free
/// at once.
@Suite struct KillTests {
    private static let rounds = 25

    private let bench: Bench

    init() throws { bench = try Bench(.zeroMQ) }

    private func start(_ role: String, _ more: [String] = []) throws -> Probe {
        let probe = try Probe("NavBusProbe", [role, bench.directory.path, "victim"] + more)
        try probe.says("ready")
        #expect(try bench.directory.inspect().nodes.contains { $0.node == "victim" })
        return probe
    }

    private func kill(_ probe: Probe) throws {
        try probe.kill()
        #expect(Foundation.kill(probe.processID, 0) == -1)
        #expect(try !bench.directory.inspect().nodes.contains { $0.node == "victim" })
    }

    @Test func killedIdleNodeLeavesNoStaleState() throws {
        for _ in 0..<Self.rounds { try kill(try start("server")) }
        let client = try bench.node("client")
        let answer = try client.callBlocking("test.Echo", "Say", [], options: CallOptions(timeout: .seconds(60)))
        #expect(answer.status.code == .unavailable)
        let last = try start("server")
        let again = try client.callBlocking("test.Echo", "Say", [1, 2], options: CallOptions(timeout: .seconds(60)))
        #expect(again.responses.map(\.bytes) == [[2, 1]])
        try kill(last)
    }

    @Test(arguments: ["Wait", "Count"])
    func killedServerEndsCallsAndStreamsAsUnavailable(_ method: String) throws {
        let client = try bench.node("client")
        for _ in 0..<Self.rounds {
            let probe = try start("server")
            var (received, status) = (0, CallStatus?.none)
            var options = CallOptions(timeout: .seconds(60))
            options.waitForReady = true
            _ = try client.call("test.Echo", method, [], options: options) { event in
                switch event {
                case .response: received += 1
                case .end(let end): status = end
                }
            }
            if method == "Wait" {
                try probe.says("waiting") { try client.runServices(timeout: .milliseconds(1)) }
            } else {
                try until("the stream") {
                    try client.runServices(timeout: .milliseconds(20))
                    return received > 200
                }
            }
            #expect(status == nil)
            try kill(probe)
            try until("the end") {
                try client.runServices(timeout: .milliseconds(20))
                return status != nil
            }
            #expect(status?.code == .unavailable)
            #expect(status?.message == "node 'victim' died or left")
        }
        #expect(client.serviceStatistics.serversSilent == 0)
        #expect(client.serviceStatistics.calling == 0)
    }

    @Test func restartedPublisherIsReceivedAgain() throws {
        let subscriber = try bench.node("subscriber")
        _ = try subscriber.subscribe(to: "/probe", qos: .keepLast(16))
        var lives: Set<UInt64> = []
        for round in 1...Self.rounds {
            let probe = try start("publisher")
            try until("a message of life \(round)") {
                if let delivery = try subscriber.poll(timeout: .milliseconds(20)) {
                    lives.insert(delivery.header.bootID)
                }
                return lives.count == round
            }
            try kill(probe)
        }
    }

    @Test func onlyAnIdempotentCallIsRetriedAfterARestart() throws {
        let client = try bench.node("client")
        let first = try start("server")
        var ends: [Bool: CallStatus] = [:]
        for isIdempotent in [true, false] {
            var options = CallOptions(timeout: .seconds(60))
            (options.isIdempotent, options.waitForReady) = (isIdempotent, true)
            _ = try client.call("test.Echo", "Wait", [], options: options) { event in
                if case .end(let end) = event { ends[isIdempotent] = end }
            }
        }
        try first.says("waiting\nwaiting") { try client.runServices(timeout: .milliseconds(1)) }
        try kill(first)
        let second = try start("server", ["answers"])
        try until("both ends") {
            try client.runServices(timeout: .milliseconds(20))
            return ends.count == 2
        }
        #expect(ends[false]?.code == .unavailable)
        #expect(ends[true] == .ok)
        #expect(client.serviceStatistics.retries == 1)
        try kill(second)
    }

    @Test func killedClientFreesItsCall() throws {
        var configuration = BusConfiguration(directory: bench.directory)
        configuration.heartbeat.intervalMilliseconds = 50
        configuration.heartbeat.clientSilenceMilliseconds = 200
        let server = try BusNode(name: "server", configuration: configuration)
        var wasCancelled = false
        try server.serve(ServiceConformanceTests.service) { call in call.onCancel = { wasCancelled = true } }
        let probe = try start("client", ["Wait"])
        try until("the call") {
            try server.runServices(timeout: .milliseconds(20))
            return server.serviceStatistics.serving == 1
        }
        try kill(probe)
        try until("its end") {
            try server.runServices(timeout: .milliseconds(20))
            return wasCancelled
        }
        #expect(server.serviceStatistics.serving == 0)
        #expect(server.serviceStatistics.clientsLost == 1)
    }
}
