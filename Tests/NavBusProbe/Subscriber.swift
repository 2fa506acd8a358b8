import Glibc
import NavBus

/// Hears one topic until a message of one byte, then says what it has seen:
/// `sequence <of that message> received <n> lost <n> delivered <n> dropped <n>`.
///
/// Arguments: the bus directory, the topic, and the depth of the queue.
struct Subscriber {
    private let directory: BusDirectory
    private let topic: String
    private let depth: Int

    init(_ arguments: [String]) throws {
        guard arguments.count == 3, let depth = Int(arguments[2]) else {
            print("subscriber DIRECTORY TOPIC DEPTH")
            exit(2)
        }
        directory = try BusDirectory(path: arguments[0])
        topic = arguments[1]
        self.depth = depth
    }

    func run() throws {
        // A test that dies must not leave it behind.
        alarm(120)
        let node = try BusNode(name: "probe-\(getpid())", configuration: BusConfiguration(directory: directory))
        _ = try node.subscribe(to: topic, qos: .keepLast(depth), maximumPayloadSize: 1 << 24)
        var delivered = 0
        while true {
            guard let delivery = try node.poll(timeout: .seconds(1)) else { continue }
            delivered += 1
            guard delivery.payload.count == 1, let seen = node.statistics[topic: topic] else { continue }
            print(
                "sequence", delivery.header.sequence, "received", seen.received, "lost", seen.lost, "delivered",
                delivered, "dropped", seen.dropped)
            return
        }
    }
}
