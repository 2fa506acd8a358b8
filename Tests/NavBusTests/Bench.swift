import CZeroMQ
import Foundation
import NavBus
import NavTestBus
import NavTestKit
import Testing

/// The two bus implementations, which must behave alike.
enum Implementation: String, CaseIterable, CustomTestStringConvertible {
    case zeroMQ, inProcess

    var testDescription: String { rawValue }
}

/// A separate bus for one test, and foreign publishers on it.
final class Bench {
    let implementation: Implementation
    let directory: BusDirectory
    private let temporary: TemporaryFolder
    private let network = InProcessNetwork(pipeDepth: 8)

    init(_ implementation: Implementation) throws {
        self.implementation = implementation
        temporary = try TemporaryFolder()
        directory = try BusDirectory(path: temporary.path)
    }

    /// Creates a node; if `shallow`, both implementations queue only a few messages for a slow node.
    func node(_ name: String, shallow: Bool = false) throws -> any Bus {
        switch implementation {
        case .inProcess: return try InProcessBus(name: name, network: network)
        case .zeroMQ:
            var configuration = BusConfiguration(directory: directory)
            configuration.rescanMilliseconds = 100
            if shallow { (configuration.sendHighWaterMark, configuration.receiveHighWaterMark) = (4, 4) }
            return try BusNode(name: name, configuration: configuration)
        }
    }

    /// Sends frames on `topic` as another program would, once `subscriber` is connected.
    func sendRaw(_ messages: [[[UInt8]]], topic: String, to subscriber: any Bus) throws {
        switch implementation {
        case .inProcess: for frames in messages { network.inject(frames) }
        case .zeroMQ:
            let raw = try RawPublisher("foreign", topic: topic, in: directory)
            try until("the subscription") {
                _ = try subscriber.poll(timeout: .milliseconds(5))
                return try raw.hasSubscriber()
            }
            for frames in messages { try raw.send(frames) }
            raws.append(raw)
        }
    }

    private var raws: [RawPublisher] = []
}

/// A publisher that consists of registry files and a bare socket.
final class RawPublisher {
    private let socket: ZeroMQSocket
    private let lock: Int32

    init(_ node: String, topic: String, in directory: BusDirectory, answersProbes: Bool = false) throws {
        try FileManager.default.createDirectory(
            atPath: directory.nodePath(node), withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        lock = open(directory.lockPath(node), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        #expect(flock(lock, LOCK_EX | LOCK_NB) == 0)
        let endpoint = "ipc://" + directory.publisherPath(node)
        socket = try ZeroMQSocket(.publisher, in: ZeroMQContext())
        try socket.set(ZMQ_XPUB_VERBOSER, 1)
        try socket.bind(endpoint)
        let json = """
            {"format": 1, "answers_probes": \(answersProbes), "node": "\(node)", "pid": 1, "boot_id": "00000000000000aa",
             "endpoints": {"pub": "\(endpoint)"}, "unknown": [1, 2],
             "topics": [{"name": "\(topic)", "type": "test.Type", "schema_fingerprint": "0", "max_bytes": 1000,
                         "qos": {"kind": "keep_last", "depth": 4}}]}
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

    func hasSubscriber() throws -> Bool { try subscription() != nil }

    /// Returns the next frame that starts or ends a subscription; nil if none is queued.
    func subscription() throws -> [UInt8]? { try socket.receiveFrames(limit: 1)?.first }

    func send(_ frames: [[UInt8]]) throws {
        for (index, frame) in frames.enumerated() {
            if let error = frame.withUnsafeBytes({ socket.send($0, more: index < frames.count - 1) }) { throw error }
        }
    }
}

/// Waits until `publication` has `count` subscriptions, while polling `others`, which have no messages queued.
func waitForSubscribers(
    _ count: Int, of publication: Publication, on publisher: any Bus, while others: [any Bus]
) throws {
    try until("\(count) subscribers") {
        for other in others {
            let early = try other.poll(timeout: .milliseconds(2))
            #expect(early == nil)
        }
        return try publisher.subscriberCount(of: publication) == count
    }
}

/// Returns the next message of `node`, while polling `others` so that they serve their subscribers.
func receive(_ node: any Bus, while others: [any Bus] = []) throws -> Delivery {
    var delivery: Delivery?
    try until("a message") {
        for other in others { _ = try other.poll(timeout: .zero) }
        delivery = try node.poll(timeout: .milliseconds(5))
        return delivery != nil
    }
    return try #require(delivery)
}

func topic(_ name: String, _ qos: QoS = .keepLast(100), maximumPayloadSize: Int = 1 << 16) -> TopicDescription {
    TopicDescription(
        name: name, typeName: "test.Type", schemaFingerprint: 0xfeed, qos: qos, maximumPayloadSize: maximumPayloadSize)
}

/// Returns the frames of a well-formed message.
func frames(_ topic: String, sequence: UInt64, boot: UInt64 = 0xaa, _ payload: [UInt8] = [1]) -> [[UInt8]] {
    let header = MessageHeader(sequence: sequence, stampNanoseconds: 5, bootID: boot, schemaFingerprint: 0)
    return [Array(topic.utf8) + [0], header.encoded, payload]
}

/// Returns the error that an operation throws; nil if it throws none.
func busError(_ operation: () throws -> Void) -> BusError? {
    do {
        try operation()
        return nil
    } catch {
        return error as? BusError
    }
}
