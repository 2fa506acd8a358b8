import Foundation
import NavBus
import Synchronization
import Testing

/// Nodes for async code: the thread that runs a node's actors, and what sessions promise.
@Suite struct SessionTests {
    private func session(_ name: String, _ bench: Bench) throws -> BusSession {
        try BusSession(name: name, configuration: BusConfiguration(directory: bench.directory))
    }

    private func waitForSubscribers(_ count: Int, of publication: Publication, on session: BusSession) async throws {
        while try await session.subscriberCount(of: publication) != count {
            try await Task.sleep(for: .milliseconds(2))
        }
    }

    @Test(.timeLimit(.minutes(2))) func twoSessionsExchangeMessagesInOrder() async throws {
        let bench = try Bench(.zeroMQ)
        let (one, two) = (try session("one", bench), try session("two", bench))
        let messages = try await two.subscribe(to: "/x", qos: .keepLast(1000))
        let publication = try await one.advertise(topic("/x"))
        try await waitForSubscribers(1, of: publication, on: one)
        for value in 1...200 {
            try await one.publish([UInt8(value)], on: publication, stampNanoseconds: Int64(value))
        }
        var expected = 0
        for await message in messages {
            expected += 1
            #expect(message.payload.bytes == [UInt8(expected)])
            if expected == 200 { break }
        }
        #expect(messages.dropped == 0)
        await one.close()
        await two.close()
    }

    @Test(.timeLimit(.minutes(2))) func anActorPinnedToTheExecutorRunsOnItsThreadAndUsesTheNode() async throws {
        let bench = try Bench(.zeroMQ)
        let executor = try BusExecutor(name: "n", configuration: BusConfiguration(directory: bench.directory))
        let pinned = Pinned(executor)
        #expect(executor.isIsolatingCurrentContext() == false)
        try await pinned.start()
        #expect(try await pinned.echo(7) == [7])
        await executor.stop()
        await #expect(throws: BusError.self) { _ = try await pinned.echo(8) }
    }

    @Test(.timeLimit(.minutes(2))) func jobsOfManyTasksRunOneAtATimeAndNoneIsLostAcrossTheEnd() async throws {
        let bench = try Bench(.zeroMQ)
        let executor = try BusExecutor(name: "n", configuration: BusConfiguration(directory: bench.directory))
        let pinned = Pinned(executor)
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<2000 {
                group.addTask { await pinned.count() }
                if index == 1000 { group.addTask { await executor.stop() } }
            }
        }
        await executor.stop()
        #expect(await pinned.counter == 2000)
    }

    @Test(.timeLimit(.minutes(2))) func aSlowReaderKeepsTheNewestAndCountsTheRest() async throws {
        let bench = try Bench(.zeroMQ)
        let (one, two) = (try session("one", bench), try session("two", bench))
        let messages = try await two.subscribe(to: "/x", qos: .keepLast(5))
        let publication = try await one.advertise(topic("/x"))
        try await waitForSubscribers(1, of: publication, on: one)
        for value in 1...100 { try await one.publish([UInt8(value)], on: publication, stampNanoseconds: 0) }
        while await two.statistics[topic: "/x"]?.received != 100 { try await Task.sleep(for: .milliseconds(2)) }
        await two.close()
        var heard: [UInt8] = []
        for await message in messages { heard += message.payload.bytes }
        #expect(heard.count <= 5)
        #expect(heard == Array(heard.sorted().suffix(5)))
        // What the reader dropped and what the node's own queue did are both told.
        #expect(UInt64(heard.count) + messages.dropped <= 100)
        await one.close()
    }

    @Test(.timeLimit(.minutes(2))) func aCancelledReaderEndsItsSubscription() async throws {
        let bench = try Bench(.zeroMQ)
        let (one, two) = (try session("one", bench), try session("two", bench))
        let publication = try await one.advertise(topic("/x"))
        let messages = try await two.subscribe(to: "/x")
        try await waitForSubscribers(1, of: publication, on: one)
        let reader = Task { for await _ in messages {} }
        reader.cancel()
        await reader.value
        try await waitForSubscribers(0, of: publication, on: one)
        await one.close()
        await two.close()
    }

    @Test(.timeLimit(.minutes(2))) func callsAreFunctionsAndStreamsHoldTheServerBack() async throws {
        let bench = try Bench(.zeroMQ)
        let (server, client) = (try session("server", bench), try session("client", bench))
        let sent = Atomic<Int>(0)
        try await server.serve(Self.service) { call in
            switch call.method {
            case "Double": return call.request.bytes.map { $0 &* 2 }
            case "Fail": throw CallStatus(.notFound, "no such thing")
            default:
                for value in 0..<100 {
                    try await call.send([UInt8(value)])
                    sent.wrappingAdd(1, ordering: .relaxed)
                }
                return nil
            }
        }
        let options = CallOptions(timeout: .seconds(60))
        #expect(try await client.call("test.S", "Double", [4, 5], options: options).bytes == [8, 10])
        await #expect(throws: CallStatus(.notFound, "no such thing")) {
            _ = try await client.call("test.S", "Fail", [], options: options)
        }
        var windowed = options
        windowed.window = 4
        let responses = try await client.stream("test.S", "Count", [], options: windowed)
        var values: [UInt8] = []
        for try await response in responses {
            values += response.bytes
            // The grants for what was taken, and no more, let the server run ahead.
            #expect(sent.load(ordering: .relaxed) <= values.count + 4)
        }
        #expect(values == (0..<100).map { UInt8($0) })
        await client.close()
        await server.close()
    }

    @Test(.timeLimit(.minutes(2))) func aCancelledTaskCancelsItsCallAndTheHandler() async throws {
        let bench = try Bench(.zeroMQ)
        let (server, client) = (try session("server", bench), try session("client", bench))
        let (started, start) = AsyncStream.makeStream(of: Void.self)
        let (ended, end) = AsyncStream.makeStream(of: Bool.self)
        try await server.serve(Self.service) { _ in
            start.yield()
            try? await Task.sleep(for: .seconds(600))
            end.yield(Task.isCancelled)
            return []
        }
        let call = Task {
            try await client.call("test.S", "Double", [], options: CallOptions(timeout: .seconds(100)))
        }
        for await _ in started { break }
        call.cancel()
        let result = await call.result
        #expect(throws: CallStatus.self) { _ = try result.get() }
        for await wasCancelled in ended {
            #expect(wasCancelled)
            break
        }
        await client.close()
        await server.close()
    }

    @Test(.timeLimit(.minutes(2))) func closeEndsWhatWaits() async throws {
        let bench = try Bench(.zeroMQ)
        let node = try session("n", bench)
        let messages = try await node.subscribe(to: "/x")
        let reader = Task {
            var count = 0
            for await _ in messages { count += 1 }
            return count
        }
        var options = CallOptions(timeout: .seconds(600))
        options.waitForReady = true
        let (call, stream) = (options, try await node.stream("test.S", "Count", [], options: options))
        let caller = Task { try await node.call("test.S", "Double", [], options: call) }
        let listener = Task { for try await _ in stream {} }
        while await node.serviceStatistics.calling < 2 { try await Task.sleep(for: .milliseconds(1)) }
        await node.close()
        #expect(await reader.value == 0)
        let (called, listened) = (await caller.result, await listener.result)
        #expect(throws: CallStatus.self) { _ = try called.get() }
        #expect(throws: CallStatus.self) { try listened.get() }
        await #expect(throws: BusError.self) { _ = try await node.subscribe(to: "/y") }
        await node.close()
        // The name is free again.
        let next = try session("n", bench)
        await next.close()
    }

    @Test(.timeLimit(.minutes(2))) func aSessionThatIsLetGoLeavesTheBus() async throws {
        let bench = try Bench(.zeroMQ)
        do {
            let node = try session("n", bench)
            _ = try await node.advertise(topic("/x"))
            try await node.serve(Self.service) { _ in [] }
        }
        while try !bench.directory.inspect().nodes.isEmpty { try await Task.sleep(for: .milliseconds(2)) }
    }

    private static let service = ServiceDescription(
        name: "test.S",
        methods: [
            MethodDescription("Double"), MethodDescription("Fail"), MethodDescription("Count", isServerStreaming: true),
        ])
}

/// An actor on a node's own thread.
private actor Pinned {
    private let executor: BusExecutor
    private var publication: Publication?
    private var heard: [CheckedContinuation<[UInt8], Never>] = []
    private(set) var counter = 0

    init(_ executor: BusExecutor) { self.executor = executor }

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    func count() {
        preconditionIsolated()
        counter += 1
    }

    func start() throws {
        assertIsolated()
        #expect(executor.isIsolatingCurrentContext() == true)
        let id = try executor.withNode { node in
            publication = try node.advertise(topic("/x", .latched))
            return try node.subscribe(to: "/x")
        }
        executor.onDelivery(of: id) { [weak self] delivery in
            // On the node's thread, between jobs: the actor's isolation holds.
            self?.assumeIsolated { $0.deliver(delivery.payload.bytes) }
        }
    }

    func echo(_ value: UInt8) async throws -> [UInt8] {
        guard let publication else { return [] }
        try executor.withNode { try $0.publish([value], on: publication, stampNanoseconds: 0) }
        return await withCheckedContinuation { heard.append($0) }
    }

    private func deliver(_ bytes: [UInt8]) {
        for continuation in heard { continuation.resume(returning: bytes) }
        heard = []
    }
}
