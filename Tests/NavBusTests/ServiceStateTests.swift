import Foundation
import NavBus
import NavSimulation
import NavTestBus
import NavTestKit
import Testing

/// The state machines of calls, with a simulated time and without sockets, and hostile frames.
@Suite struct ServiceStateTests {
    private static let ms: Int64 = 1_000_000
    private static let lost = CallStatus(.unavailable, "gone")

    private func client(idempotent: Bool = false, wait: Bool = false) -> ClientCallStateMachine {
        var options = CallOptions(timeout: .milliseconds(1000))
        (options.isIdempotent, options.waitForReady, options.window) = (idempotent, wait, 4)
        return ClientCallStateMachine(options, isStreaming: true, now: 0)
    }

    @Test func callToAnAbsentServerFailsUnlessItWaitsForReady() {
        var call = client()
        #expect(call.tick(now: 199 * Self.ms) == [])
        #expect(call.tick(now: 200 * Self.ms).count == 1)
        #expect(call.hasEnded)
        var patient = client(wait: true)
        #expect(patient.tick(now: 999 * Self.ms) == [])
        #expect(
            patient.serverFound(now: 999 * Self.ms) == [.sendRequest(timeoutNanoseconds: Self.ms, credit: 4)])
        guard case .some(.end(let status)) = patient.tick(now: 1000 * Self.ms).last else {
            Issue.record("no end")
            return
        }
        #expect(status.code == .deadlineExceeded)
    }

    @Test func onlyAnIdempotentCallIsRetriedBeforeItsFirstResponse() {
        var once = client()
        _ = once.serverFound(now: 0)
        #expect(once.serverLost(now: 1, Self.lost) == [.end(Self.lost)])
        var again = client(idempotent: true)
        _ = again.serverFound(now: 0)
        #expect(again.serverLost(now: 0, Self.lost) == [])
        #expect(again.tick(now: 49 * Self.ms) == [])
        #expect(!again.isWaiting)
        #expect(again.tick(now: 50 * Self.ms) == [])
        #expect(again.serverFound(now: 50 * Self.ms).count == 1)
        #expect(again.attempts == 2)
        #expect(again.response(sequence: 0, size: 1, limit: 9) == [.deliver])
        #expect(again.serverLost(now: 60 * Self.ms, Self.lost) == [.end(Self.lost)])
    }

    @Test func protocolViolationsOfTheServerEndTheCall() {
        var call = client()
        _ = call.serverFound(now: 0)
        for sequence in 0..<4 {
            #expect(call.response(sequence: UInt64(sequence), size: 1, limit: 9) == [.deliver])
        }
        #expect(call.response(sequence: 4, size: 1, limit: 9).count == 2)
        #expect(call.hasEnded)
        for (sequence, size) in [(1, 1), (0, 10)] {
            var other = client()
            _ = other.serverFound(now: 0)
            #expect(other.response(sequence: UInt64(sequence), size: size, limit: 9).first == .sendCancel)
            #expect(other.hasEnded)
        }
    }

    @Test func creditIsGrantedInHalfWindowsUpToOneWindow() {
        var call = client()
        _ = call.serverFound(now: 0)
        #expect(call.consumed(100) == [])
        for sequence in 0..<3 { _ = call.response(sequence: UInt64(sequence), size: 1, limit: 9) }
        #expect(call.consumed(1) == [])
        #expect(call.consumed(100) == [.sendCredit(3)])
    }

    @Test func serverSendsOnlyWithCreditAndBeforeTheDeadline() {
        var call = ServerCallStateMachine(isStreaming: true, timeoutNanoseconds: 100, credit: 1, now: 5)
        #expect(call.deadline == 105)
        #expect(call.send() == 0)
        #expect(call.send() == nil)
        #expect(call.granted(.max) == [.notifyCredit])
        #expect(call.credit == UInt64(CallOptions.maximumWindow))
        #expect(call.tick(now: 104) == [])
        #expect(call.tick(now: 105).last == .notifyCancelled)
        #expect(call.send() == nil)
        #expect(call.finishWithResponse() == [])
        let endless = ServerCallStateMachine(isStreaming: false, timeoutNanoseconds: .max, credit: .max, now: 1 << 60)
        #expect(endless.deadline > 1 << 60)
    }

    @Test func headersSurviveTheRoundTripAndHostileOnesDoNotTrap() {
        var frame = ServiceFrame(.request, call: 77)
        (frame.service, frame.method, frame.timeoutNanoseconds, frame.credit) = ("a.B", "C", .max, 5)
        (frame.metadata, frame.isIdempotent, frame.serverBootID) = ([MetadataEntry("k", [1])], true, .max)
        (frame.code, frame.message, frame.details, frame.hasResponse) = (5, "m", [1, 2], true)
        let whole = frame.encoded
        func decode(_ bytes: [UInt8]) -> ServiceFrame? { bytes.withUnsafeBytes { ServiceFrame(decoding: $0) } }
        #expect(decode(whole) == frame)
        #expect(decode([0x98, 0x06, 0x01] + whole) == frame)
        #expect(decode([0x08, 99]) == nil)
        #expect(decode([UInt8](repeating: 0, count: 70_000)) == nil)
        for length in whole.indices { _ = decode(Array(whole[..<length])) }
        var random = SeededRandom(seed: 42)
        for _ in 0..<20_000 {
            var bytes = whole
            for _ in 0..<3 { bytes[random.below(bytes.count)] = UInt8(truncatingIfNeeded: random.next()) }
            _ = decode(bytes)
        }
    }

    @Test func hostileFramesAreCountedAndTheServerContinues() throws {
        let network = InProcessNetwork()
        let (server, client) = (
            try InProcessBus(name: "server", network: network), try InProcessBus(name: "client", network: network)
        )
        try server.serve(ServiceConformanceTests.service) { $0.finish($0.request.bytes) }
        var random = SeededRandom(seed: 7)
        for length in 0..<2000 {
            network.injectService(header: random.bytes(length % 60), payload: [1], to: "server")
            _ = try server.poll(timeout: .zero)
        }
        #expect(server.serviceStatistics.malformed > 1000)
        let answer = try client.callBlocking("test.Echo", "Say", [5], options: CallOptions(timeout: .seconds(1)))
        #expect(answer.status == .ok)
    }

    @Test func invalidBytesOnTheServiceSocketAreCountedAndTheServerContinues() throws {
        let pair = try Pair(.zeroMQ)
        try pair.server.serve(ServiceConformanceTests.service) { $0.finish($0.request.bytes) }
        let raw = try ZeroMQSocket(.dealer, in: ZeroMQContext())
        try raw.connect("ipc://" + pair.bench.directory.servicePath("server"))
        let junk: [[[UInt8]]] = [[[]], [[1, 2, 3]], [[0xff], [1]], [[0x08, 8], [1], [2]], [[0x08, 2], []]]
        for frames in junk {
            for (index, frame) in frames.enumerated() {
                let error = frame.withUnsafeBytes { raw.send($0, more: index < frames.count - 1) }
                #expect(error == nil)
            }
        }
        try pair.turn { pair.server.serviceStatistics.malformed == UInt64(junk.count) }
        #expect(try pair.call("Say", [5]).responses == [[5]])
    }

    @Test func silentClientFreesItsCall() throws {
        let network = InProcessNetwork()
        let server = try InProcessBus(name: "server", network: network)
        var wasCancelled = false
        try server.serve(ServiceConformanceTests.service) { call in call.onCancel = { wasCancelled = true } }
        var frame = ServiceFrame(.request, call: 1)
        (frame.service, frame.method, frame.timeoutNanoseconds) = ("test.Echo", "Wait", .max)
        network.injectService(header: frame.encoded, payload: [], to: "server")
        _ = try server.poll(timeout: .zero)
        #expect(server.serviceStatistics.serving == 1)
        network.now.monotonicNanoseconds += 10_000_000_000
        _ = try server.poll(timeout: .zero)
        #expect(wasCancelled)
        #expect(server.serviceStatistics.serving == 0)
    }

    @Test func killedOrSilentServerEndsTheCall() throws {
        for isKilled in [true, false] {
            let bench = try Bench(.zeroMQ)
            try FileManager.default.createDirectory(
                atPath: bench.directory.nodePath("dead"), withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
            let holder = try LockHolder(bench.directory.lockPath("dead"))
            let endpoint = "ipc://" + bench.directory.nodePath("dead")
            let json = """
                {"format": 1, "node": "dead", "pid": 1, "boot_id": "aa", "topics": [],
                 "endpoints": {"pub": "\(endpoint)/pub", "rpc": "\(endpoint)/rpc"},
                 "services": [{"name": "test.Echo", "methods": [{"name": "Say", "server_streaming": false}]}]}
                """
            try json.write(toFile: bench.directory.announcementPath("dead"), atomically: false, encoding: .utf8)
            var configuration = BusConfiguration(directory: bench.directory)
            configuration.heartbeat.intervalMilliseconds = 50
            configuration.heartbeat.localSilenceMilliseconds = 300
            let client = try BusNode(name: "client", configuration: configuration)
            var status: CallStatus?
            _ = try client.call("test.Echo", "Say", [], options: CallOptions(timeout: .seconds(50))) {
                if case .end(let end) = $0 { status = end }
            }
            #expect(status == nil)
            if isKilled { holder.kill() }
            try until("the end") {
                try client.runServices(timeout: .milliseconds(20))
                return status != nil
            }
            #expect(status?.code == .unavailable)
            #expect(status?.message.contains("died") == isKilled)
        }
    }
}
