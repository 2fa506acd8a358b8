import CZeroMQ
import Foundation
import NavBus
import NavTestKit
import Testing

/// The ways in which a wait ends, and calls across threads.
@Suite struct WaitingTests {
    @Test func wakerEndsAnUnlimitedWaitFromAnotherThread() throws {
        let bench = try Bench(.zeroMQ)
        let node = try bench.node("n")
        _ = try node.subscribe(to: "/x")
        let waker = node.makeWaker()
        Thread.detachNewThread { waker.wake() }
        #expect(try node.poll(timeout: nil) == nil)
    }

    @Test(arguments: Implementation.allCases)
    func wakeBeforeTheWaitIsRememberedOnce(_ implementation: Implementation) throws {
        let bench = try Bench(implementation)
        let node = try bench.node("n")
        let waker = node.makeWaker()
        waker.wake()
        waker.wake()
        if implementation == .zeroMQ { #expect(try node.poll(timeout: nil) == nil) }
        #expect(try node.poll(timeout: .zero) == nil)
        node.close()
        waker.wake()
    }

    @Test func signalEndsAWait() throws {
        signal(SIGUSR2) { _ in }
        // The test's threads block signals, unlike a node's main thread.
        var mask = sigset_t()
        var before = sigset_t()
        sigemptyset(&mask)
        sigaddset(&mask, SIGUSR2)
        pthread_sigmask(SIG_UNBLOCK, &mask, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        let bench = try Bench(.zeroMQ)
        let node = try bench.node("n")
        let waiting = SendableThread(handle: pthread_self())
        let done = Flag()
        // Signals are sent until one arrives during the wait.
        Thread.detachNewThread {
            while !done.isSet {
                pthread_kill(waiting.handle, SIGUSR2)
                usleep(1000)
            }
            done.acknowledge()
        }
        #expect(try node.poll(timeout: nil) == nil)
        done.set()
        done.waitForAcknowledgement()
    }

    @Test func timeoutEndsAWaitAndExtremeOnesDoNotTrap() throws {
        let bench = try Bench(.zeroMQ)
        let node = try bench.node("n")
        #expect(try node.poll(timeout: .milliseconds(3)) == nil)
        #expect(try node.poll(timeout: .seconds(-5)) == nil)
        node.makeWaker().wake()
        #expect(try node.poll(timeout: .seconds(Int64.max)) == nil)
    }

    @Test func nodesOnTwoThreadsExchangeMessages() throws {
        let bench = try Bench(.zeroMQ)
        let directory = bench.directory
        let echo = Flag()
        Thread.detachNewThread {
            do {
                let node = try BusNode(name: "echo", configuration: BusConfiguration(directory: directory))
                _ = try node.subscribe(to: "/ping")
                let pong = try node.advertise(topic("/pong"))
                while !echo.isSet {
                    guard let ping = try node.poll(timeout: .milliseconds(20)) else { continue }
                    try ping.payload.withUnsafeBytes { bytes in
                        try node.publish(bytes, on: pong, stampNanoseconds: ping.header.stampNanoseconds)
                    }
                }
            } catch {
                Issue.record(error)
            }
            echo.acknowledge()
        }
        defer {
            echo.set()
            echo.waitForAcknowledgement()
        }
        let node = try bench.node("main")
        _ = try node.subscribe(to: "/pong")
        let ping = try node.advertise(topic("/ping"))
        try waitForSubscribers(1, of: ping, on: node, while: [node])
        // The return path may open later, so requests are sent until an answer arrives; from then on every answer is
        // expected.
        var first: Delivery?
        try until("the way back") {
            try node.publish([0], on: ping, stampNanoseconds: 0)
            first = try node.poll(timeout: .milliseconds(20))
            return first != nil
        }
        for value in 1...100 {
            try node.publish([UInt8(value)], on: ping, stampNanoseconds: Int64(value))
            var answer: Delivery?
            while answer?.payload.bytes != [UInt8(value)] { answer = try receive(node) }
            #expect(answer?.header.stampNanoseconds == Int64(value))
        }
        #expect(node.statistics[topic: "/pong"]?.lost == 0)
    }

    @Test func aPayloadOutlivesItsNode() throws {
        let bench = try Bench(.zeroMQ)
        let (publisher, subscriber) = (try bench.node("p"), try bench.node("s"))
        let publication = try publisher.advertise(topic("/x"))
        _ = try subscriber.subscribe(to: "/x")
        try waitForSubscribers(1, of: publication, on: publisher, while: [subscriber])
        let bytes = (0..<300).map { UInt8(truncatingIfNeeded: $0) }
        try publisher.publish(bytes, on: publication, stampNanoseconds: 0)
        let payload = try receive(subscriber).payload
        subscriber.close()
        publisher.close()
        #expect(payload.bytes == bytes)
    }

    @Test func lastMessagesOfAClosingNodeArrive() throws {
        let bench = try Bench(.zeroMQ)
        let (publisher, subscriber) = (try bench.node("p"), try bench.node("s"))
        let publication = try publisher.advertise(topic("/x"))
        _ = try subscriber.subscribe(to: "/x", qos: .keepLast(1000))
        try waitForSubscribers(1, of: publication, on: publisher, while: [subscriber])
        for _ in 0..<500 { try publisher.publish([1], on: publication, stampNanoseconds: 0) }
        publisher.close()
        for sequence in 1...500 { #expect(try receive(subscriber).header.sequence == UInt64(sequence)) }
    }

    @Test func invalidBytesSentToAPublisherDoNotSubscribe() throws {
        let bench = try Bench(.zeroMQ)
        let publisher = try bench.node("p")
        let publication = try publisher.advertise(topic("/x", .latched))
        try publisher.publish([1], on: publication, stampNanoseconds: 0)
        let context = zmq_ctx_new()
        let socket = zmq_socket(context, ZMQ_XSUB)
        defer {
            zmq_close(socket)
            zmq_ctx_term(context)
        }
        zmq_connect(socket, "ipc://" + bench.directory.publisherPath("p"))
        for frame in [[UInt8]](
            arrayLiteral: [], [0], [7, 7, 7], [0, 0x2f, 0x78, 0], [1] + [UInt8](repeating: 1, count: 900))
        {
            zmq_send(socket, frame, frame.count, 0)
        }
        let subscribe: [UInt8] = [1] + Array("/x".utf8) + [0]
        zmq_send(socket, subscribe, subscribe.count, 0)
        try until("the one subscription") { try publisher.subscriberCount(of: publication) == 1 }
    }
}

private struct SendableThread: @unchecked Sendable {
    let handle: pthread_t
}

/// A flag with which a thread requests another to stop, and waits until it has.
private final class Flag: @unchecked Sendable {
    private let condition = NSCondition()
    private var state = 0

    var isSet: Bool { condition.withLock { state > 0 } }

    func set() { condition.withLock { state = 1 } }

    func acknowledge() {
        condition.withLock {
            state = 2
            condition.broadcast()
        }
    }

    func waitForAcknowledgement() {
        condition.lock()
        while state < 2 { condition.wait() }
        condition.unlock()
    }
}
