import Logging
import NavKit
import Testing

/// The lines of a log that pass the rate limit.
struct LogGateTests {
    private let second: Int64 = 1_000_000_000

    private func line(_ text: String, _ level: Logger.Level = .info) -> LogLine { LogLine(level, text) }

    @Test func repeatedLinesAreCollapsedIntoACount() {
        var gate = LogGate()
        #expect(gate.take(line("a"), at: 0) == [.init(line: line("a"), count: 1)])
        for step in 1...500 { #expect(gate.take(line("a"), at: Int64(step)).isEmpty) }
        #expect(gate.take(line("b"), at: 600) == [.init(line: line("b"), count: 1)])
        #expect(gate.flush(at: second - 1).isEmpty)
        #expect(gate.flush(at: second) == [.init(line: line("a"), count: 500, heldFor: second - 500)])
        #expect(gate.flush(at: 10 * second).isEmpty && gate.collapsed == 500 && gate.leftOut == 0)
    }

    @Test func laterRepetitionIsANewLine() {
        var gate = LogGate()
        for step in 0..<5 {
            #expect(gate.take(line("a"), at: Int64(step) * second) == [.init(line: line("a"), count: 1)])
        }
        #expect(gate.collapsed == 0)
    }

    @Test func sameTextAtAnotherLevelIsAnotherLine() {
        var gate = LogGate()
        #expect(gate.take(line("a"), at: 0).count == 1)
        #expect(gate.take(line("a", .error), at: 0).count == 1)
        #expect(gate.take(LogLine(.info, "a", source: "part"), at: 0).count == 1)
        #expect(gate.take(LogLine(.info, "a", metadata: ["k": "v"]), at: 0).count == 1)
        #expect(gate.take(LogLine(.info, "a", metadata: ["k": "v"]), at: 0).isEmpty)
    }

    @Test func logFloodIsCutAndReported() {
        var gate = LogGate()
        var out = 0
        for step in 0..<10_000 { out += gate.take(line("line \(step)"), at: Int64(step)).count }
        #expect(out == 200 && gate.leftOut == 9_800)
        let told = gate.flush(at: 2 * second)
        #expect(told.map(\.line.text) == ["9800 lines were dropped: more than 50 per second"])
        #expect(told.first?.line.level == .warning && gate.flush(at: 20 * second).isEmpty)
        // After a pause lines pass again, and at fifty per second all of them do.
        out = 0
        for step in 0..<1_000 {
            out += gate.take(line("later \(step)"), at: 30 * second + Int64(step) * second / 50).count
        }
        #expect(out == 1_000)
    }

    @Test func criticalLinesAreAlwaysWritten() {
        var gate = LogGate()
        for step in 0..<1_000 { _ = gate.take(line("line \(step)"), at: 0) }
        #expect(gate.take(line("fire", .critical), at: 0).map(\.line.text) == ["fire"])
    }

    @Test func countOfAForgottenLineIsWritten() {
        var gate = LogGate()
        _ = gate.take(line("a"), at: 0)
        _ = gate.take(line("a"), at: 0)
        var out: [LogGate.Passed] = []
        for step in 0..<20 { out += gate.take(line("b \(step)"), at: 1) }
        #expect(out.contains(.init(line: line("a"), count: 1, heldFor: 1)) && out.count == 21)
    }

    @Test func textsAreBoundedAndSingleLine() {
        #expect(line("a\nb\u{7f}\u{1b}[31m").text == "a b  [31m")
        for filler in ["x", "é", "漢", "🚗"] {
            let text = line(String(repeating: filler, count: 9_000)).text
            #expect((4_093...4_096).contains(text.utf8.count), "\(filler)")
            #expect(text.allSatisfy { String($0) == filler }, "a character is split")
        }
        let facts = Dictionary(
            uniqueKeysWithValues: (0..<100).map { ("key\($0)", String(repeating: "v", count: 1_000)) })
        let metadata = LogLine(.info, "a", metadata: facts).metadata
        #expect(metadata.count == 16 && metadata.allSatisfy { $0.value.utf8.count == 256 })
        #expect(metadata.map(\.key) == metadata.map(\.key).sorted())
    }
}
