import Foundation
import Testing

/// The commands of the README do what a reader expects: they work.
///
/// A fenced block marked `sh` is run as it stands; blocks of other kinds (`console`, `text`, …) are only looked at by people.
struct ReadmeTests {
    static let text = readFile(Project.root + "/README.md")

    @Test(.enabled(if: text != nil, "there is no README.md"))
    func everyCommandWorks() async throws {
        let blocks = Self.blocks(of: try #require(Self.text))
        #expect(!blocks.isEmpty, "no block of the README is marked sh")
        try await withSandbox { box in
            // The reader's place: the repository, with what is built and written in the sandbox.
            for name in try FileManager.default.contentsOfDirectory(atPath: Project.root) where !name.hasPrefix(".") {
                try FileManager.default.createSymbolicLink(
                    atPath: "\(box.path)/\(name)", withDestinationPath: "\(Project.root)/\(name)")
            }
            for block in blocks { try await run(block, in: box) }
        }
    }

    /// Runs a block: its lines one after the other until one fails, what it leaves in the background stopped at its end.
    private func run(_ block: Block, in box: Sandbox) async throws {
        var lines: [String] = []
        for line in block.lines {
            let program = String(line.split(separator: " ").first ?? "")
            if ["launch/demo", "launch/test"].contains(program) {
                // The demo has a test of its own, and this is the other.
                #expect(FileManager.default.isExecutableFile(atPath: "\(Project.root)/\(program)"), "\(program)")
            } else {
                lines.append(line)
            }
        }
        guard !lines.isEmpty else { return }
        let script = lines.joined(separator: "\n")
        let stop = "jobs -p | xargs --no-run-if-empty kill -TERM 2>/dev/null; wait"
        let program = try box.start(
            "/bin/bash", ["-euo", "pipefail", "-c", "\(script)\n\(stop)"],
            environment: ["PYTHON": Project.python])
        let result = try await program.wait(seconds: 300)
        #expect(result.status == 0, "README.md line \(block.number):\n\(script)\n\(result.output)\n\(result.errors)")
    }

    struct Block: Equatable {
        /// The line of the README where the block begins, from 1.
        var number: Int
        /// Its commands, continued lines joined.
        var lines: [String]
    }

    /// The blocks marked `sh`.
    static func blocks(of text: String) -> [Block] {
        var blocks: [Block] = []
        var open: Block?
        var isInOther = false
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let trimmed = line.drop { $0 == " " }
            if trimmed.hasPrefix("```") {
                // Only a fence that says nothing ends a block.
                if open != nil || isInOther {
                    guard trimmed == "```" else { continue }
                    if let block = open { blocks.append(block) }
                    (open, isInOther) = (nil, false)
                } else if trimmed == "```sh" {
                    open = Block(number: index + 1, lines: [])
                } else {
                    isInOther = true
                }
            } else if open != nil {
                if let last = open?.lines.last, last.hasSuffix("\\") {
                    open?.lines.removeLast()
                    open?.lines.append(String(last.dropLast()) + String(trimmed))
                } else if !trimmed.isEmpty, !trimmed.hasPrefix("#") {
                    open?.lines.append(String(line))
                }
            }
        }
        return blocks
    }

    @Test func blocksAreFound() {
        let text = """
            Text
            ```sh
            # a comment
            one two \\
                three

            four
            ```
            ```console
            $ not this
            ```
            ```text
            ```sh
            ```
            ```sh
            five
            ```
            """
        #expect(
            Self.blocks(of: text) == [
                Block(number: 2, lines: ["one two three", "four"]), Block(number: 15, lines: ["five"]),
            ])
    }
}
