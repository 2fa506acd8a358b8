import ArgumentParser
import Foundation
import NavReplay
import NavVerdict

/// `navbus bag diff`.
struct BagDiffCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff", abstract: "List the events in which two drives differ.",
        discussion: """
            Each line is an event that only the first bag has (-), only the second (+), or both at different times (~), with the \
            seconds since the first event. The exit status is 0 when nothing differs and 1 otherwise.
            """)

    @Argument(help: "The first bag, such as the drive before a change.") var first: String
    @Argument(help: "The second bag, such as the drive after it.") var second: String
    @Flag(help: "Print JSON.") var json = false

    private struct Document: Encodable {
        struct Line: Encodable {
            var change: String
            var time_s: Double
            var time_second_s: Double?
            var topic: String
            var text: String
        }

        var common: Int
        var changes: [Line]
    }

    func run() throws {
        let diff = try BagDiff(first, second)
        for warning in diff.warnings { Console.note(warning) }
        let lines = diff.changes.map { change -> Document.Line in
            switch change {
            case .removed(let event): .init(change: "-", time_s: event.time, topic: event.topic, text: event.text)
            case .added(let event): .init(change: "+", time_s: event.time, topic: event.topic, text: event.text)
            case .moved(let event, let time):
                .init(change: "~", time_s: event.time, time_second_s: time, topic: event.topic, text: event.text)
            }
        }
        if json {
            print(try navbus.json(Document(common: diff.commonCount, changes: lines)))
        } else {
            for line in lines {
                let shift = line.time_second_s.map { "  (\(seconds($0)) in the second)" } ?? ""
                print("\(line.change) \(padded(seconds(line.time_s)))  \(Console.printable(line.text))\(shift)")
            }
            func count(_ sign: String) -> Int { lines.count { $0.change == sign } }
            print(
                "\(diff.commonCount) events in both, \(count("~")) of them at different times; \(count("-")) only in the first, "
                    + "\(count("+")) only in the second")
        }
        if !lines.isEmpty { throw ExitCode(1) }
    }

    private func seconds(_ value: Double) -> String { String(format: "%.2f s", value) }

    private func padded(_ text: String) -> String { String(repeating: " ", count: max(12 - text.count, 0)) + text }
}
