import ArgumentParser
import Foundation
import NavBench
import NavKit

/// The options common to all suites.
struct SuiteOptions: ParsableArguments {
    @Flag(help: "Print one JSON line per figure; the report's header goes to standard error.") var json = false

    @Option(help: ArgumentHelp("Alternating rounds, 1 to 1000; figures are medians over them.", valueName: "n"))
    var rounds = 7

    @Flag(help: "Run one short round as a smoke test; its figures are meaningless.") var quick = false

    @Option(
        help: ArgumentHelp(
            "Only comparisons whose names contain this text, such as bus.pubsub.ipc.200B.", valueName: "text"))
    var match: String?

    func validate() throws {
        guard (1...1000).contains(rounds) else { throw ValidationError("--rounds takes 1 to 1000, not \(rounds).") }
    }
}

/// Runs a suite's comparisons and prints the results.
struct Report {
    let options: SuiteOptions
    /// Lines about the peers, printed below those about the machine.
    let peers: [String]

    func run(_ comparisons: [Comparison]) throws {
        let chosen = comparisons.filter { options.match.map($0.name.contains) ?? true }
        guard !chosen.isEmpty else {
            throw NodeError(
                .usage,
                "no comparison has '\(options.match ?? "")' in its name; available: "
                    + comparisons.map(\.name).joined(separator: ", "))
        }
        let rounds = options.quick ? 1 : options.rounds
        Workers.cleanUpOnSignals()
        head(rounds)
        let progress = ProgressLine()
        let figures: [Figure]
        do {
            figures = try Rounds(rounds).run(chosen, progress: progress.show)
        } catch {
            progress.clear()
            throw NodeError(.system, "\(error)")
        }
        progress.clear()
        let lines = options.json ? figures.map(\.json) : FigureTable(figures).lines
        FileHandle.standardOutput.write(Data((lines.joined(separator: "\n") + "\n").utf8))
    }

    private func head(_ rounds: Int) {
        let kind =
            options.quick ? "smoke test: these figures are meaningless" : "medians of \(rounds) alternating rounds"
        let lines = Machine.description + peers + ["rounds   \(kind)", ""]
        let text = Data((lines.joined(separator: "\n") + "\n").utf8)
        (options.json ? FileHandle.standardError : FileHandle.standardOutput).write(text)
    }
}

/// A progress line on a terminal; no output in a pipe.
private struct ProgressLine {
    private let isShown = isatty(STDERR_FILENO) == 1
    private let width = 24

    func show(_ share: Double, _ what: String) {
        guard isShown else { return }
        let filled = Int(share * Double(width))
        let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled)
        FileHandle.standardError.write(Data("\r\(bar) \(Int(share * 100)) % \(what)\u{1b}[K".utf8))
    }

    func clear() {
        guard isShown else { return }
        FileHandle.standardError.write(Data("\r\u{1b}[K".utf8))
    }
}
