import Foundation

/// The record of one run over a bag: its events and figures.
package struct DriveRecord: Sendable, Codable, Equatable {
    /// The events: seconds since the first fix, to a tenth, and the words of the node's log.
    package var events: [EventDiff.Event] = []
    package var metrics: [String: Double] = [:]
    /// The expectations that do not hold, one line each.
    package var unexpected: [String] = []
    /// The metrics that have a truth but no value, for example because no position was published; nil in files of earlier versions.
    package var unmeasured: [String]?
    package var fixes = 0
    /// Notes about the recording that are not failures, such as missing messages; nil without any.
    package var notes: [String]?
    /// The configuration keys that the run read, with their values.
    package var keys: [String: String] = [:]
    /// The reason why the run failed; nil when it succeeded.
    package var failure: String?

    package init() {}
}

/// The verdict on one bag.
package struct BagResult: Sendable, Codable, Equatable {
    package enum Verdict: String, Sendable, Codable, CaseIterable {
        case passed
        /// An expectation does not hold.
        case failed
        /// The expectations hold, but the events differ from the stored reference.
        case changed
    }

    /// The path of the bag as the fleet file's patterns found it, with the name of its entry if the entry has one.
    package var bag: String
    package var tags: [String]
    package var verdict = Verdict.passed
    /// Descriptions of the expectations that do not hold.
    package var failures: [String] = []
    /// The differences from the stored reference, one line each.
    package var changes: [ChangeLine] = []
    /// The criteria that cannot be judged: the bag has no truth for them, or the drive has no such event, for example no deviation.
    package var unjudged: [String] = []
    /// The command that reproduces this verdict.
    package var command: String
    package var record: DriveRecord
    /// The hash of all inputs of the run other than the configuration keys in the record; nil when a file could not be read, and in files
    /// of earlier versions.
    package var inputs: String?

    /// Judges a run.
    ///
    /// - Parameter reference: the stored events; nil when the fleet stores none.
    package init(
        bag: String, tags: [String], command: String, record: DriveRecord, criteria: [Criterion],
        tolerances: EventDiff.Tolerances, reference: Reference?
    ) {
        (self.bag, self.tags, self.command, self.record) = (bag, tags, command, record)
        if let failure = record.failure {
            failures = [failure]
        } else {
            failures = record.unexpected
            for criterion in criteria {
                let name = criterion.metric.rawValue
                if let value = record.metrics[name] {
                    guard !criterion.holds(value) else { continue }
                    failures.append("\(name) is \(criterion.text(of: value)), expected \(criterion.text)")
                } else if record.unmeasured?.contains(name) == true {
                    failures.append(
                        "\(name) has no value, expected \(criterion.text): nothing was published at the times of the truth"
                    )
                } else {
                    unjudged.append(name)
                }
            }
            switch reference {
            case .events(let events):
                changes = EventDiff(events, record.events, tolerances: tolerances).changes.map { ChangeLine($0) }
            case .missing:
                changes = [ChangeLine(sign: "+", time: 0, text: "no reference is stored: --update stores it")]
            case nil: break
            }
        }
        verdict = !failures.isEmpty ? .failed : changes.isEmpty ? .passed : .changed
    }

    /// The reason why a criterion cannot be judged.
    package static let unjudgedReason = "no truth that covers the drive, or nothing to measure"

    /// The notes, one line each: the criteria that cannot be judged, and remarks on the recording.
    package var notes: [String] {
        let names = unjudged.joined(separator: ", ")
        return (unjudged.isEmpty ? [] : ["not judged: \(names) (\(Self.unjudgedReason))"])
            + (record.notes ?? []).map { "note: \($0)" }
    }

    /// Whether the run succeeded, so that it can be judged.
    package var hasRun: Bool { record.failure == nil }

    /// A one-line description of the first problem; nil when there is none.
    package var headline: String? {
        guard let failure = failures.first else { return changes.first?.description }
        let lines = failure.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        // A table of events begins with a heading; the first line marked - or + is the first difference.
        return lines.first { $0.hasPrefix("- ") || $0.hasPrefix("+ ") } ?? lines.first
    }
}

/// One difference from the stored reference.
package struct ChangeLine: Sendable, Codable, Equatable, CustomStringConvertible {
    /// `-` for a removed event, `+` for an added event, `~` for an event at another time.
    package var sign: String
    /// Seconds since the first fix.
    package var time: Double
    /// For `~`, the new time.
    package var moved: Double?
    package var text: String

    package init(sign: String, time: Double, moved: Double? = nil, text: String) {
        (self.sign, self.time, self.moved, self.text) = (sign, time, moved, text)
    }

    package init(_ change: EventDiff.Change) {
        switch change {
        case .removed(let event): self.init(sign: "-", time: event.time, text: event.text)
        case .added(let event): self.init(sign: "+", time: event.time, text: event.text)
        case .moved(let event, let time): self.init(sign: "~", time: event.time, moved: time, text: event.text)
        }
    }

    package var description: String {
        "\(sign) \(tenths(time)) s \(text)" + (moved.map { ", now at \(tenths($0)) s" } ?? "")
    }
}

/// The stored events of a bag: human-readable text, one event per line.
package enum Reference: Sendable, Equatable {
    case events([EventDiff.Event])
    /// The fleet stores references but has none for this bag.
    case missing

    /// The beginning of every reference.
    package static let head = "# Events of "

    /// Reads a reference.
    ///
    /// - Throws: ``LineError`` for the first malformed line.
    package init(text: String) throws(LineError) {
        let (lineEnd, space) = (UInt8(ascii: "\n"), UInt8(ascii: " "))
        var events: [EventDiff.Event] = []
        for (number, full) in Array(text.utf8).split(separator: lineEnd, omittingEmptySubsequences: false).enumerated()
        {
            // A checkout may have converted the line ends.
            let line = full.last == UInt8(ascii: "\r") ? full.dropLast() : full
            guard let first = line.first, first != UInt8(ascii: "#") else { continue }
            let parts = line.split(separator: space, maxSplits: 1)
            guard parts.count == 2, let time = Double(String(decoding: parts[0], as: UTF8.self)), time.isFinite else {
                throw LineError("line \(number + 1) is not an event: write seconds and words, such as '12.5 say: …'")
            }
            events.append(EventDiff.Event(time: time, topic: "", text: String(decoding: parts[1], as: UTF8.self)))
        }
        self = .events(events)
    }

    /// Returns events as the text of a reference.
    package static func text(_ events: [EventDiff.Event], bag: String) -> String {
        let lines = events.map { event in
            let time = tenths(event.time)
            return String(repeating: " ", count: max(8 - time.count, 0)) + time + " " + event.text
        }
        return ([head + bag + "; written by 'navbus check --update'."] + lines).joined(separator: "\n") + "\n"
    }

    /// Returns the path of a bag's reference below the folder of references.
    package static func path(bag: String) -> String {
        let parts = bag.split(separator: "/").map { $0 == ".." ? "up" : String($0) }
        return parts.filter { $0 != "." }.joined(separator: "/") + ".txt"
    }
}

/// The results of a fleet. The result file has one bag per line and is equal for equal inputs on any machine.
package struct FleetResult: Sendable, Equatable {
    /// The version and content hash of the program that ran.
    package var build: String
    package var bags: [BagResult]
    /// The names of the figures that this build can measure.
    package private(set) var figures = Set(Metric.allCases.map(\.rawValue))
    /// The names of the bags that passed without any check; they are not part of the result file.
    package var unchecked: Set<String> = []

    /// Whether a bag passed without any check.
    func isUnchecked(_ bag: BagResult) -> Bool { bag.verdict == .passed && unchecked.contains(bag.bag) }

    package init(build: String, bags: [BagResult]) {
        self.build = build
        self.bags = bags.sorted { $0.bag < $1.bag }
    }

    private struct Head: Codable {
        var format = 1
        var build: String
        /// The names of the figures; nil in files of earlier versions.
        var figures: [String]?
    }

    /// The beginning of every result file.
    package static let beginning = "{\"build\":"

    /// Returns the content of the result file.
    ///
    /// - Parameter map: calls the function for each index below the count, possibly in parallel, and returns the results in order.
    package func text(
        _ map: (Int, @Sendable (Int) throws -> String) throws -> [String] = { try (0..<$0).map($1) }
    ) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let head = String(decoding: try encoder.encode(Head(build: build, figures: figures.sorted())), as: UTF8.self)
        let lines = try map(bags.count) { String(decoding: try encoder.encode(bags[$0]), as: UTF8.self) }
        return ([head] + lines).joined(separator: "\n") + "\n"
    }

    /// Reads a result file; nil when the text is not a result file.
    package init?(text: String) {
        let decoder = JSONDecoder()
        let lines = text.split(separator: "\n")
        guard let first = lines.first, let head = try? decoder.decode(Head.self, from: Data(first.utf8)),
            head.format == 1
        else { return nil }
        var bags: [BagResult] = []
        for line in lines.dropFirst() {
            guard let bag = try? decoder.decode(BagResult.self, from: Data(line.utf8)) else { return nil }
            bags.append(bag)
        }
        self.init(build: head.build, bags: bags)
        figures = head.figures.map { Set($0) } ?? figures.subtracting(Metric.later.map(\.rawValue))
    }

    /// Records the inputs of the runs, by the name of the bag.
    package mutating func noteInputs(_ inputs: [String: String]) {
        for index in bags.indices { bags[index].inputs = inputs[bags[index].bag] }
    }

    package func count(_ verdict: BagResult.Verdict) -> Int { bags.count { $0.verdict == verdict } }

    /// A one-line summary: the numbers of passed, failed and changed bags.
    package var summary: String {
        "\(count(.passed)) passed, \(count(.failed)) failed, \(count(.changed)) changed"
    }
}
