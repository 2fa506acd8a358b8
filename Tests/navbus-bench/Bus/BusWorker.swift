import ArgumentParser
import Foundation
import NavBus
import NavKit

/// One process of a measurement of navbus, with the roles and options of `navbus-bench-peer`.
struct BusWorker: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bus-worker", abstract: "One process of a measurement; navbus-bench bus starts it.",
        shouldDisplay: false)

    enum Role: String, ExpressibleByArgument {
        case ping, echo, inproc, pub, sub, server, unary, stream
    }

    @Argument(help: "Role of this process.") var role: Role
    @Option(help: "Folder of the bus and of the samples.") var folder: String
    @Option(help: "Name of the files that this process writes.") var name = "worker"
    @Option(help: "ipc, inproc, or tcp between two hosts of one bus each.") var transport = "ipc"
    @Option(help: "Bytes of a payload.") var size = 200
    @Option(help: "Measured messages.") var count = 1000
    @Option(help: "Warm-up messages before them.") var warmup = 0
    @Option(help: "Messages per second; 0 for as fast as possible.") var rate = 0
    @Option(help: "Number of subscribers to wait for.") var subscribers = 1
    @Option(help: "Credit of a stream, messages.") var window = 64
    @Option(help: "High-water mark of both directions, messages.") var hwm: Int32 = 1000
    @Option(help: "Must be 1: the in-process bus has one thread.") var threads = 1
    @Option(help: "Seconds until the kernel ends this process.") var deadline: UInt32 = 60

    func validate() throws {
        guard (8...(1 << 26)).contains(size), (1...100_000_000).contains(count), (0...100_000_000).contains(warmup),
            (0...1_000_000).contains(rate), (1...1000).contains(subscribers),
            (1...CallOptions.maximumWindow).contains(window), hwm > 0
        else { throw ValidationError("A number is out of its range.") }
    }

    func run() throws {
        alarm(deadline)
        do {
            switch role {
            case .ping: try ping()
            case .echo: try echo()
            case .inproc: try roundTripInProcess()
            case .pub: try publishToAll()
            case .sub: try receiveAll()
            case .server: try serveCalls()
            case .unary: try makeCalls()
            case .stream: try takeStreams()
            }
        } catch {
            throw NodeError(.system, "\(error)")
        }
    }

    // MARK: Shared by the roles

    /// Joins the measurement's bus.
    func makeNode(_ name: String) throws -> BusNode {
        var configuration = BusConfiguration(directory: try BusDirectory(path: folder + "/bus"))
        switch transport {
        case "ipc": break
        case "tcp":
            // Each node has a separate directory, as on separate hosts, because nodes in one directory connect over
            // ipc.
            configuration.directory = try BusDirectory(path: "\(folder)/\(name)-bus")
            configuration.hosts = try loopbackHosts(name, other: name == "echo" ? "ping" : "echo")
        default: throw NodeError(.usage, "this measurement supports ipc and tcp, not '\(transport)'")
        }
        (configuration.sendHighWaterMark, configuration.receiveHighWaterMark) = (hwm, hwm)
        // The peer's queues are bounded only by the number of messages.
        configuration.maximumQueuedBytes = max(configuration.maximumQueuedBytes, Int(hwm) * size * 2)
        return try BusNode(name: name, configuration: configuration)
    }

    func topic(_ name: String) -> TopicDescription {
        TopicDescription(name: name, typeName: "bench.Bytes", maximumPayloadSize: size)
    }

    /// A queue as large as those of the sockets.
    var queue: QoS { .keepLast(min(QoS.maximumDepth, count + warmup + 2048)) }

    var payload: [UInt8] { [UInt8](repeating: 7, count: size) }

    /// The nanoseconds between messages; nil if they are not paced.
    var interval: Int64? { rate > 0 ? 1_000_000_000 / Int64(rate) : nil }

    /// Writes samples, 64-bit nanoseconds, to `<folder>/<name>.<kind>`.
    func write(_ samples: [Int64], _ kind: String) throws {
        try samples.withUnsafeBytes { Data($0) }.write(to: URL(fileURLWithPath: "\(folder)/\(name).\(kind)"))
    }
}

/// Sleeps until `deadline`, nanoseconds of `CLOCK_MONOTONIC`.
func sleep(until deadline: Int64) {
    var time = timespec(tv_sec: Int(deadline / 1_000_000_000), tv_nsec: Int(deadline % 1_000_000_000))
    while clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nil) == EINTR {}
}
