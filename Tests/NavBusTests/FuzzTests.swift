import CZeroMQ
import Foundation
import NavBus
import NavSimulation
import NavTestKit
import NavTestSystem
import Testing

/// Hostile input at every endpoint, which is rejected or ignored and counted while valid clients are still served.
///
/// The servers are separate processes, so that a crash or memory growth is detected.
@Suite struct FuzzTests {
    private let bench: Bench
    private let server: Probe
    private let client: any Bus

    init() throws {
        bench = try Bench(.zeroMQ)
        server = try Probe("NavBusProbe", ["server", bench.directory.path, "server"])
        try server.says("ready")
        client = try bench.node("client")
    }

    private func goodCallIsServed(_ comment: Comment) throws {
        let answer = try client.callBlocking(
            "test.Echo", "Say", [1, 2, 3], options: CallOptions(timeout: .seconds(50)))
        #expect(answer.status == .ok, comment)
        #expect(answer.responses.map(\.bytes) == [[3, 2, 1]], comment)
    }

    /// Returns the server's resident memory, bytes.
    private func residentBytes() throws -> Int {
        let text = try String(contentsOfFile: "/proc/\(server.processID)/statm", encoding: .utf8)
        return try #require(Int(text.split(separator: " ")[1])) * Int(getpagesize())
    }

    private func foreignClient() throws -> ZeroMQSocket {
        let socket = try ZeroMQSocket(.dealer, in: ZeroMQContext())
        try socket.connect("ipc://" + bench.directory.servicePath("server"))
        return socket
    }

    private func send(_ frames: [[UInt8]], through socket: ZeroMQSocket) throws {
        for (index, frame) in frames.enumerated() {
            try until("room") {
                frame.withUnsafeBytes { socket.send($0, more: index < frames.count - 1) } == nil
            }
        }
    }

    @Test func invalidBytesAndHugeFramesHarmNoEndpoint() throws {
        let before = try residentBytes()
        var open: [RawConnection] = []
        for name in try Corpus.names("zmtp-") {
            let bytes = try Corpus.stream(name)
            for path in [bench.directory.servicePath("server"), bench.directory.publisherPath("server")] {
                let connection = try #require(RawConnection(path))
                connection.write(bytes)
                open.append(connection)
            }
            try goodCallIsServed("after \(name)")
        }
        var chance = SeededRandom(seed: 1)
        let valid = try Corpus.stream("zmtp-subscriptions.hex") + Corpus.stream("zmtp-lone-more.hex")
        for round in 0..<300 {
            for path in [bench.directory.servicePath("server"), bench.directory.publisherPath("server")] {
                let bytes = chance.below(3) == 0 ? chance.bytes(chance.below(300)) : chance.mutated(valid)
                RawConnection(path)?.write(bytes)
            }
            if round % 50 == 0 { try goodCallIsServed("after random bytes of round \(round), seed 1") }
        }
        try goodCallIsServed("at the end")
        #expect(try residentBytes() - before < 64 << 20)
        withExtendedLifetime(open) {}
    }

    @Test func malformedMessagesAreRejectedWithBoundedMemory() throws {
        let before = try residentBytes()
        let foreign = try foreignClient()
        var messages: [[[UInt8]]] = []
        for name in try Corpus.names("service-") {
            messages.append(try Corpus.frames(name))
            // The messages are sent twice, which repeats call numbers and frames.
            for _ in 0..<2 { try send(try #require(messages.last), through: foreign) }
            try goodCallIsServed("after \(name)")
        }
        var chance = SeededRandom(seed: 2)
        for round in 0..<5000 {
            var frames = messages[chance.below(messages.count)].map { chance.mutated($0) }
            if chance.below(10) == 0 { frames = (0...chance.below(10)).map { _ in chance.bytes(chance.below(60)) } }
            try send(frames, through: foreign)
            if round % 500 == 0 { try goodCallIsServed("after mutations of round \(round), seed 2") }
        }
        // These answers are never read by the client.
        var request = ServiceFrame(.request)
        (request.service, request.method, request.timeoutNanoseconds) = ("test.Echo", "Say", 60_000_000_000)
        for call in 1...20_000 {
            request.call = UInt64(call) << 20
            try send([request.encoded, [UInt8](repeating: 1, count: 1000)], through: foreign)
        }
        try goodCallIsServed("after the flood")
        #expect(try residentBytes() - before < 128 << 20)
    }

    @Test func thousandsOfSubscriptionsDoNotHarmThePublisher() throws {
        let before = try residentBytes()
        let raw = try ZeroMQSocket(.subscriber, in: ZeroMQContext())
        try raw.connect("ipc://" + bench.directory.publisherPath("server"))
        var chance = SeededRandom(seed: 3)
        for _ in 0..<20_000 { try raw.set(ZMQ_SUBSCRIBE, chance.bytes(1 + chance.below(40))) }
        try goodCallIsServed("after the subscriptions")
        #expect(try residentBytes() - before < 64 << 20)
    }
}

/// Servers and publishers that violate the protocol; the attacked node runs in this process, which makes its counters
/// available.
@Suite struct MaliciousPeerTests {
    @Test func failedHandshakesAreCounted() throws {
        let pair = try Pair(.zeroMQ)
        try pair.server.serve(ServiceConformanceTests.service) { $0.finish([]) }
        let bytes = try Corpus.stream("zmtp-unknown-mechanism.hex")
        let connection = try #require(RawConnection(pair.bench.directory.servicePath("server")))
        connection.write(bytes)
        try pair.turn { pair.server.serviceStatistics.refusedConnections == 1 }
        #expect(try pair.call("Say").status == .ok)
    }

    @Test func everyMalformedMessageIsCounted() throws {
        let pair = try Pair(.zeroMQ)
        try pair.server.serve(ServiceConformanceTests.service) { $0.finish([]) }
        let foreign = try ZeroMQSocket(.dealer, in: ZeroMQContext())
        try foreign.connect("ipc://" + pair.bench.directory.servicePath("server"))
        let names = try Corpus.names("service-")
        for name in names {
            let frames = try Corpus.frames(name)
            for (index, frame) in frames.enumerated() {
                #expect(frame.withUnsafeBytes { foreign.send($0, more: index < frames.count - 1) } == nil)
            }
        }
        try pair.turn {
            let seen = pair.server.serviceStatistics
            return seen.malformed + seen.strayFrames + seen.callsRefused + seen.callsServed >= UInt64(names.count)
        }
        #expect(pair.server.serviceStatistics.malformed >= 14)
        #expect(pair.server.serviceStatistics.callsRefused >= 4)
        #expect(try pair.call("Say").status == .ok)
    }

    /// The replacement for a server's valid answer; every call must end before its deadline.
    enum Corruption: CaseIterable {
        case secondAnswer, outOfOrder, overCredit, noAnswer, tooLarge, replay
    }

    @Test(arguments: Corruption.allCases)
    func protocolViolationOfAServerEndsOnlyTheCall(_ lie: Corruption) throws {
        let pair = try Pair(.zeroMQ)
        let liar = try MaliciousServer(
            "liar", in: pair.bench.directory, streams: lie == .overCredit || lie == .outOfOrder)
        try pair.server.serve(ServiceConformanceTests.service) { $0.finish([9]) }
        var (status, responses) = (CallStatus?.none, 0)
        var options = CallOptions(timeout: .seconds(60))
        (options.window, options.maximumResponseSize, options.grantsAutomatically) = (4, 100, false)
        _ = try pair.client.call("liar.Echo", "Say", [], options: options) { event in
            switch event {
            case .response: responses += 1
            case .end(let end): status = end
            }
        }
        try pair.turn {
            try liar.answer { call in
                func part(_ kind: ServiceFrame.Kind, _ sequence: UInt64, size: Int = 1) -> [[UInt8]] {
                    var frame = ServiceFrame(kind, call: call)
                    (frame.sequence, frame.hasResponse) = (sequence, kind == .end && size > 0)
                    return [frame.encoded, [UInt8](repeating: 1, count: size)]
                }
                return switch lie {
                case .secondAnswer: [part(.response, 0), part(.response, 1)]
                case .outOfOrder: [part(.response, 0), part(.response, 2)]
                case .overCredit: (0..<9).map { part(.response, $0) }
                case .noAnswer: [part(.end, 0, size: 0)]
                case .tooLarge: [part(.end, 0, size: 101)]
                case .replay: [part(.end, 0), part(.end, 0), part(.response, 0), [[1, 2, 3]], [[], [], []]]
                }
            }
            return status != nil
        }
        #expect(status?.code == (lie == .replay ? .ok : lie == .tooLarge ? .resourceExhausted : .internal))
        #expect(responses == [.overCredit: 4, .noAnswer: 0, .tooLarge: 0][lie] ?? 1)
        if lie == .replay {
            try pair.turn {
                pair.client.serviceStatistics.strayFrames == 2 && pair.client.serviceStatistics.malformed == 2
            }
        }
        #expect(try pair.call("Say").responses == [[9]])
    }

    @Test func randomAnswersDoNotHarmTheClient() throws {
        let pair = try Pair(.zeroMQ)
        let liar = try MaliciousServer("liar", in: pair.bench.directory, streams: true)
        try pair.server.serve(ServiceConformanceTests.service) { $0.finish([9]) }
        var chance = SeededRandom(seed: 4)
        var ended = 0
        for _ in 0..<200 {
            _ = try pair.client.call("liar.Echo", "Say", [], options: CallOptions(timeout: .milliseconds(1500))) {
                if case .end = $0 { ended += 1 }
            }
        }
        try pair.turn {
            try liar.answer { call in
                var frame = ServiceFrame(end: call, CallStatus(.ok, "done"))
                (frame.hasResponse, frame.sequence) = (true, 0)
                return (0..<5).map { _ in [chance.mutated(frame.encoded), chance.bytes(chance.below(30))] }
            }
            return ended == 200
        }
        #expect(try pair.call("Say").responses == [[9]])
    }

    @Test func invalidServerDoesNotAffectOtherServers() throws {
        let pair = try Pair(.zeroMQ)
        try pair.server.serve(ServiceConformanceTests.service) { $0.finish([9]) }
        for name in try Corpus.names("zmtp-") {
            let liar = try MaliciousServer("liar", in: pair.bench.directory, streams: false, isRaw: true)
            let listener = try RawListener(pair.bench.directory.servicePath("liar"))
            let bytes = try Corpus.stream(name)
            var status: CallStatus?
            let options = CallOptions(timeout: .milliseconds(300))
            _ = try pair.client.call("liar.Echo", "Say", [], options: options) { event in
                if case .end(let end) = event { status = end }
            }
            try pair.turn {
                listener.answer(bytes)
                return status != nil
            }
            #expect([.deadlineExceeded, .unavailable].contains(status?.code), "\(name)")
            #expect(try pair.call("Say").responses == [[9]], "\(name)")
            withExtendedLifetime(liar) {}
            unlink(pair.bench.directory.servicePath("liar"))
        }
    }
}

/// A server that consists of registry files and a bare socket.
final class MaliciousServer {
    private let router: ZeroMQSocket?
    private let lock: Int32

    init(_ node: String, in directory: BusDirectory, streams: Bool, isRaw: Bool = false) throws {
        try FileManager.default.createDirectory(
            atPath: directory.nodePath(node), withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        lock = open(directory.lockPath(node), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        try #require(flock(lock, LOCK_EX | LOCK_NB) == 0)
        let endpoint = "ipc://" + directory.nodePath(node)
        let router = isRaw ? nil : try ZeroMQSocket(.router, in: ZeroMQContext())
        try router?.bind(endpoint + "/rpc")
        self.router = router
        let json = """
            {"format": 1, "node": "\(node)", "pid": 1, "boot_id": "aa", "topics": [],
             "endpoints": {"pub": "\(endpoint)/pub", "rpc": "\(endpoint)/rpc"},
             "services": [{"name": "liar.Echo", "methods": [{"name": "Say", "server_streaming": \(streams)}]}]}
            """
        let temporary = directory.announcementPath(node) + ".new"
        try json.write(toFile: temporary, atomically: false, encoding: .utf8)
        rename(temporary, directory.announcementPath(node))
    }

    deinit {
        // A child process that another test is just starting inherits the descriptor and would keep the lock without
        // this.
        flock(lock, LOCK_UN)
        close(lock)
    }

    /// Answers each pending request with the frames that `lie` returns for the call's number.
    func answer(_ lie: (UInt64) -> [[[UInt8]]]) throws {
        while let address = try receive() {
            guard let header = try receive(), let payload = try receive() else { return }
            withExtendedLifetime(payload) {}
            guard let frame = header.withUnsafeBytes({ ServiceFrame(decoding: $0) }), frame.kind == .request else {
                continue
            }
            for message in lie(frame.call) {
                let frames = [address] + message
                for (index, frame) in frames.enumerated() {
                    _ = frame.withUnsafeBytes { router?.send($0, more: index < frames.count - 1) }
                }
            }
        }
    }

    private func receive() throws -> [UInt8]? {
        guard let router else { return nil }
        var message = zmq_msg_t()
        zmq_msg_init(&message)
        defer { zmq_msg_close(&message) }
        guard try withUnsafeMutablePointer(to: &message, { try router.receive(into: $0) }) else { return nil }
        return [UInt8](UnsafeRawBufferPointer(start: zmq_msg_data(&message), count: zmq_msg_size(&message)))
    }
}
