import ArgumentParser
import Foundation
import NavBus
import NavGeo
import NavMessages
import NavNodes

/// `navbus topic`.
struct TopicCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "topic", abstract: "Look at the topics of the bus.",
        subcommands: [TopicList.self, TopicEcho.self, TopicHz.self])
}

/// `navbus topic list`.
struct TopicList: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the topics that are published now, without joining the bus.")

    @Flag(help: "Print JSON.") var json = false
    @Flag(help: "List the catalogue instead, as a table in Markdown.") var catalogue = false

    private struct Row: Encodable {
        var topic: String
        var type: String
        var publisher: String
        var qos: String
    }

    func run() throws {
        if catalogue {
            print(TopicCatalogue.markdownTable())
            return
        }
        let rows: [Row]
        do throws(BusError) {
            let snapshot = try BusDirectory.fromEnvironment().inspect()
            for problem in snapshot.problems { FileHandle.standardError.write(Data("navbus: \(problem)\n".utf8)) }
            rows = snapshot.topics.map {
                Row(topic: $0.topic.name, type: $0.topic.typeName, publisher: $0.publisher, qos: $0.topic.qos.word)
            }.sorted { ($0.topic, $0.publisher) < ($1.topic, $1.publisher) }
        } catch {
            throw NodeError(.system, error.description)
        }
        if json {
            print(try navbus.json(rows))
            return
        }
        if rows.isEmpty {
            FileHandle.standardError.write(Data("navbus: nobody publishes anything now in this domain\n".utf8))
        }
        let widths = [rows.map(\.topic.count).max() ?? 0, rows.map(\.publisher.count).max() ?? 0]
        for row in rows {
            print(
                row.topic.padding(toLength: widths[0], withPad: " ", startingAt: 0) + "  "
                    + row.publisher.padding(toLength: widths[1], withPad: " ", startingAt: 0)
                    + "  \(row.type)  \(row.qos)")
        }
    }
}

extension QoS {
    /// The catalogue's word.
    fileprivate var word: String {
        switch self {
        case .latched: "latched"
        case .keepLast(let count): "keep_last(\(count))"
        case .latest: "latest"
        }
    }
}

/// A listener of one topic under a name of its own.
private struct Listener {
    let bus: BusNode
    let stop: StopSignal

    init(_ topic: String, qos: QoS) throws {
        let name = "\(ProcessInfo.processInfo.processName)-topic-\(ProcessInfo.processInfo.processIdentifier)"
        bus = try NodeArguments.join(name: name).bus
        stop = StopSignal(waking: bus.makeWaker())
        do throws(BusError) {
            _ = try bus.subscribe(to: topic, qos: qos, maximumPayloadSize: 64 << 20)
        } catch {
            throw NodeError(error.code == .invalidName ? .usage : .system, error.description)
        }
    }

    func poll(_ timeout: Duration) throws -> Delivery? {
        do throws(BusError) {
            return try bus.poll(timeout: timeout)
        } catch {
            throw NodeError(.system, error.description)
        }
    }

    /// The type that the topic's publisher announces, else the catalogue's.
    func type(of topic: String) -> String? {
        let announced = try? BusDirectory.fromEnvironment().inspect().topics.first { $0.topic.name == topic }?.topic
            .typeName
        return announced ?? TopicCatalogue.topic(named: topic)?.type.fullName
    }
}

/// `navbus topic echo`.
struct TopicEcho: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "echo", abstract: "Print the messages of a topic as JSON, one a line, until Ctrl-C.")

    @Argument(help: "The topic.") var topic: String
    @Option(help: ArgumentHelp("End after so many messages.", valueName: "COUNT")) var count: Int?
    @Option(help: ArgumentHelp("End with exit 1 when nothing has come for so many seconds.", valueName: "SECONDS"))
    var timeout: Double?

    func validate() throws {
        if let count, count < 1 { throw ValidationError("--count must be at least 1") }
        if let timeout, !(timeout >= 0) { throw ValidationError("--timeout must be seconds, at least 0") }
    }

    func run() throws {
        let listener = try Listener(topic, qos: .keepLast(1_000))
        var seen = 0
        var last = MonotonicClock.now()
        var output = Output()
        while !listener.stop.isStopped, count.map({ seen < $0 }) ?? true {
            guard let delivery = try listener.poll(.milliseconds(200)) else {
                if let timeout, (MonotonicClock.now() - last).inSeconds > timeout {
                    throw NodeError(
                        .missing, "nothing on \(topic) for \(timeout) s: is it published? (navbus topic list)")
                }
                continue
            }
            seen += 1
            last = MonotonicClock.now()
            let type = listener.type(of: topic) ?? ""
            do throws(MessageError) {
                output.line(try MessageJSON.text(decoding: delivery.payload.bytes, as: type))
            } catch {
                output.line(
                    "{\"error\":\"\(delivery.payload.count) bytes of type '\(type)' cannot be read: \(error)\"}")
            }
            output.flush()
        }
        listener.bus.close()
    }
}

/// `navbus topic hz`.
struct TopicHz: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hz", abstract: "Print the rate of a topic every second until Ctrl-C; messages are not decoded.")

    @Argument(help: "The topic.") var topic: String
    @Option(help: ArgumentHelp("End after so many seconds.", valueName: "SECONDS")) var duration: Double?

    func validate() throws {
        if let duration, !(duration >= 0) { throw ValidationError("--duration must be seconds, at least 0") }
    }

    func run() throws {
        let listener = try Listener(topic, qos: .keepLast(10_000))
        let start = MonotonicClock.now()
        var windowStart = start
        var output = Output()
        var received = 0
        var longest: Int64 = 0
        var last: Int64?
        while !listener.stop.isStopped {
            if let delivery = try listener.poll(.milliseconds(50)) {
                received += 1
                if let last { longest = max(longest, delivery.received.monotonicNanoseconds - last) }
                last = delivery.received.monotonicNanoseconds
            }
            let now = MonotonicClock.now()
            if now - windowStart >= .seconds(1) {
                let rate = Double(received) / (now - windowStart).inSeconds
                let lost = listener.bus.statistics[topic: topic]?.lost ?? 0
                output.line(
                    String(format: "%.1f Hz, longest gap %.0f ms", rate, Double(longest) * 1e-6)
                        + (lost > 0 ? ", \(lost) lost" : ""))
                output.flush()
                (received, longest, windowStart) = (0, 0, now)
            }
            if let duration, (now - start).inSeconds >= duration { break }
        }
        listener.bus.close()
    }
}
