import ArgumentParser
import Foundation
import NavBag
import NavKit
import NavMessages

/// `navbus bag check`.
struct BagCheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Check bags for damage.",
        discussion: """
            Reads every record and checks the checksums, the index, the schemas and the publishers' sequence numbers. The exit \
            status is 1 when a problem is found.
            """)

    @Argument(help: ArgumentHelp("The bags.", valueName: "FILE")) var bags: [String]
    @Flag(help: "Print JSON, one line per bag.") var json = false

    private struct Document: Encodable {
        var file: String
        var ok: Bool
        var problems: [String]
        var problem_count: Int
        var messages: UInt64 = 0
        var backward: UInt64 = 0
        var longest_gap_s = 0.0
        var indexed = true
        var topics: [Topic] = []
    }

    private struct Topic: Encodable {
        var topic: String
        var type: String
        var messages: UInt64
        var missing: UInt64
    }

    func run() throws {
        var (damaged, recoverable) = (0, 0)
        for bag in bags {
            let document: Document
            do throws(BagError) {
                document = Self.document(bag, try checkBag(BagFile(path: bag), schemaProblem: Self.problem))
                if !document.ok { recoverable += 1 }
            } catch {
                // The beginning may be damaged and the rest readable.
                if (try? MCAPLinearReader(recovering: BagFile(path: bag))) != nil { recoverable += 1 }
                document = Document(file: bag, ok: false, problems: [error.description], problem_count: 1)
            }
            if !document.ok { damaged += 1 }
            if json { print(try navbus.json(document)) } else { show(document) }
        }
        guard damaged == 0 else {
            let remedy = recoverable > 0 ? ": 'navbus bag recover' saves the readable part" : ""
            throw NodeError(
                .invalid, "\(damaged) of \(bags.count) bags \(damaged == 1 ? "has" : "have") problems\(remedy)")
        }
    }

    private static func document(_ bag: String, _ check: BagCheck) -> Document {
        var topics: [Topic] = []
        for channel in check.channels {
            if topics.last?.topic != channel.channel.topic || topics.last?.type != channel.schemaName {
                topics.append(
                    Topic(topic: channel.channel.topic, type: channel.schemaName, messages: 0, missing: 0))
            }
            topics[topics.count - 1].messages += channel.messageCount
            topics[topics.count - 1].missing += channel.missingCount
        }
        return Document(
            file: bag, ok: check.isSound, problems: check.problems, problem_count: check.problemCount,
            messages: check.messageCount, backward: check.backwardCount,
            longest_gap_s: Double(check.longestGap) * 1e-9, indexed: check.isIndexed, topics: topics)
    }

    private func show(_ document: Document) {
        print("\(document.file): \(document.ok ? "sound" : "not sound"), \(document.messages) messages")
        for problem in document.problems { print("  ! \(Console.printable(problem))") }
        if document.problem_count > document.problems.count { print("  ! \(document.problem_count) problems in total") }
        if !document.indexed {
            print("  note: the messages are not in chunks, so there is no index: every command reads the whole file")
        }
        if document.longest_gap_s > 3_600 {
            print("  note: a gap of \(Int(document.longest_gap_s / 3_600)) h without messages")
        }
        if document.backward > 0 { print("  note: \(document.backward) messages are older than their predecessor") }
        let width = document.topics.map(\.topic.count).max() ?? 0
        for topic in document.topics {
            let name = Console.printable(topic.topic).padding(toLength: width, withPad: " ", startingAt: 0)
            let missing = topic.missing > 0 ? "\t\(topic.missing) missing" : ""
            print("  \(name)  \(topic.messages)\t\(Console.printable(topic.type))\(missing)")
        }
    }

    /// Returns the reason why messages of a schema cannot be decoded, or nil; a schema without a definition is allowed.
    private static func problem(_ schema: BagSchema) -> String? {
        guard schema.encoding == "protobuf", !schema.data.isEmpty else { return nil }
        do throws(SchemaError) {
            let pool = try SchemaPool(fileDescriptorSet: schema.data)
            return pool.message(named: schema.name) == nil ? "its definition lacks the type" : nil
        } catch {
            return "its definition cannot be read: \(error)"
        }
    }
}

/// `navbus bag recover`.
struct BagRecoverCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recover", abstract: "Recover the readable part of a bag into a new bag with an index.")

    @Argument(help: "The bag: truncated, damaged or without an index.") var bag: String
    @Option(name: [.short, .long], help: ArgumentHelp("The bag to write (.mcap).", valueName: "FILE.mcap"))
    var out: String
    @Flag(help: "Replace an existing bag.") var overwrite = false

    func validate() throws { try checkBagName(out) }

    func run() throws {
        guard !isSameFile(bag, out) else {
            throw NodeError(.usage, "--out is the input bag; use another file")
        }
        let source: BagFile
        do throws(BagError) {
            source = try BagFile(path: bag)
            // Check the source before creating any file.
            _ = try MCAPLinearReader(recovering: source)
        } catch {
            throw NodeError(.invalid, "cannot recover '\(bag)': \(error)")
        }
        let file = try OutputFile(out, replacing: .none, overwrite: overwrite)
        let recovery: BagRecovery
        do throws(BagError) {
            var writer = try BagWriter(path: file.partial, overwrite: true, durable: true)
            recovery = try recoverBag(from: source, to: &writer)
        } catch {
            throw NodeError(.invalid, "cannot recover '\(bag)' into '\(out)': \(error)")
        }
        let isDamaged = recovery.ending != .complete || !recovery.damage.isNone
        guard recovery.messageCount > 0 || recovery.recordCount > 0 || !isDamaged else {
            let cause = recovery.damage.errors.first?.description ?? recovery.ending.description
            throw NodeError(
                .invalid, "no message of '\(bag)' can be recovered, so '\(out)' is not written: \(cause)")
        }
        try file.finish()
        print("\(out): \(recovery.messageCount) messages, \(recovery.recordCount) other records")
        for error in recovery.damage.errors { print("  ! skipped: \(error)") }
        if recovery.damage.count > recovery.damage.errors.count {
            print("  ! \(recovery.damage.count) damaged parts in total")
        }
        if recovery.damage.orphanMessages > 0 {
            print("  ! \(recovery.damage.orphanMessages) messages of undefined channels")
        }
        if recovery.ending != .complete { print("  ! end of the bag: \(recovery.ending)") }
    }
}
