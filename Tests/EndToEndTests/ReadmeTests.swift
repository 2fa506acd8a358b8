import Foundation
import NavTestKit
import NavTestSystem
import Testing

/// The commands of the README and of the user guide.
///
/// A fenced block marked `sh` is run unchanged. A block marked `python` prints something about a running node or the
/// demo's recording. A `text` block under the comment `prints` is the expected output of the preceding `sh` block, in
/// which `…` stands for a measured number or, alone, for omitted lines. A block marked `console` is not run, for
/// example because it needs a receiver; the test only checks that its programs and options exist.
struct ReadmeTests {
    private static let documents = ["README.md", "Sources/navbus/navbus.docc/UserGuide.md"]

    /// Blocks that are checked but not run, by document and language.
    private static let readOnly = [
        (documents[0], "console"), (documents[1], "console"), (".github/CONTRIBUTING.md", "console"),
        ("Tests/Faults/README.md", "sh"), ("Tests/Contract/README.md", "sh"), ("Tests/Peers/README.md", "sh"),
    ]

    @Test func programsAndOptionsOfOtherCommandsExist() async throws {
        try await withSandbox { box in
            for (document, language) in Self.readOnly {
                let blocks = try Self.blocks(of: document, marked: language)
                #expect(!blocks.isEmpty, "no block of \(document) is marked \(language)")
                for block in blocks {
                    for line in block.commands { try await check(line, block.place, in: box) }
                }
            }
        }
    }

    /// Expects each option of a command to be in the help of its program.
    private func check(_ line: String, _ place: String, in box: Sandbox) async throws {
        let command = line.split(separator: " #", maxSplits: 1)[0]
        // Without the prompt and the environment settings.
        let words = command.split(separator: " ").map(String.init).drop {
            $0 == "$" || $0.contains(#/^[A-Z_]+=/#)
        }
        guard let program = words.first else { return }
        let options = words.prefix { $0 != "--" }.filter { $0.hasPrefix("--") }.map { $0.prefix { $0 != "=" } }
        let help: String
        switch program {
        case "swift", "ssh", "export", "git", "sha256sum": return
        case "python":
            guard Project.hasPython, let script = words.dropFirst().first else { return }
            help = try await box.succeed(Project.python, ["\(Project.root)/\(script)", "--help"]).output
        case _ where program.contains("/"):
            help = try #require(readFile("\(Project.root)/\(program)"), "\(place): \(program)")
        default:
            let names = words.dropFirst().prefix { $0.wholeMatch(of: #/[a-z][a-z0-9-]*/#) != nil }
            help = try await box.succeed(program, names + ["--help"]).output
        }
        for option in options { #expect(help.contains(option), "\(place): \(command)\n\(help)") }
    }

    @Test func everyCommandWorks() async throws {
        try await withSandbox { box in
            try showRepository(in: box)
            for document in Self.documents {
                let blocks = try Self.blocks(of: document, marked: "sh")
                #expect(!blocks.isEmpty, "no block of \(document) is marked sh")
                for block in blocks { try await run(block, in: box) }
            }
        }
    }

    /// Returns the blocks of a document that are marked with a language.
    static func blocks(of document: String, marked language: String) throws -> [Block] {
        let text = try #require(readFile(Project.root + "/" + document), "\(document) is missing")
        return blocks(in: text, marked: language).map { block in
            var block = block
            block.document = document
            return block
        }
    }

    /// Creates the folder a reader would work in: the repository, with build and output folders in the sandbox.
    func showRepository(in box: Sandbox) throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: Project.root) where !name.hasPrefix(".") {
            try FileManager.default.createSymbolicLink(
                atPath: "\(box.path)/\(name)", withDestinationPath: "\(Project.root)/\(name)")
        }
    }

    /// Runs a block line by line until one fails, and stops its background processes at the end.
    private func run(_ block: Block, in box: Sandbox) async throws {
        var lines: [String] = []
        for line in block.commands {
            let program = String(line.split(separator: " ").first ?? "")
            if ["launch/demo", "launch/test"].contains(program) {
                // The demo has a separate test.
                #expect(FileManager.default.isExecutableFile(atPath: "\(Project.root)/\(program)"), "\(program)")
            } else {
                lines.append(line)
            }
        }
        guard !lines.isEmpty else { return }
        let script = lines.joined(separator: "\n")
        let stop = "for job in $(jobs -p); do kill -TERM \"$job\" 2>/dev/null || true; done; wait"
        let program = try box.start(
            "/bin/bash", ["-euo", "pipefail", "-c", "\(script)\n\(stop)"],
            environment: ["PYTHON": Project.python])
        let result = try await program.wait(seconds: 300)
        #expect(result.status == 0, "\(block.place):\n\(script)\n\(result.output)\n\(result.errors)")
        var printed = result.outputLines[...]
        for line in block.prints where line != "…" {
            guard let place = printed.firstIndex(where: { Self.isShown($0, as: line) }) else {
                Issue.record("\(block.place) does not print '\(line)':\n\(result.output)")
                return
            }
            printed = printed[(place + 1)...]
        }
    }

    /// Whether a printed line equals the shown one, whatever its alignment.
    private static func isShown(_ printed: some StringProtocol, as shown: String) -> Bool {
        func aligned(_ line: some StringProtocol) -> String { line.split(separator: " ").joined(separator: " ") }
        let pattern = NSRegularExpression.escapedPattern(for: aligned(shown)).replacing("…", with: "[0-9]+(\\.[0-9]+)?")
        return aligned(printed).range(of: "^\(pattern)$", options: .regularExpression) != nil
    }

    @Test func numbersAreCompared() {
        #expect(Self.isShown("a   1743.5,246.2,ok,599", as: "a 1743.5,246.2,ok,…"))
        #expect(Self.isShown("(2.5 s)", as: "(… s)"))
        #expect(!Self.isShown("1743.5,246.2,ok,599", as: "1779.9,284.6,ok,…"))
        #expect(!Self.isShown("1743.5,ok,", as: "1743.5,ok,…") && !Self.isShown("1743x5", as: "1743.5"))
    }

    struct Block: Equatable {
        /// The document, and the line where the block begins, from 1.
        var document = ""
        var number: Int
        var lines: [String]
        /// The expected output, `…` for omitted lines.
        var prints: [String] = []

        /// The block's location for messages.
        var place: String { "\(document) line \(number)" }

        /// The commands without comments, with continued lines joined.
        var commands: [String] {
            var commands: [String] = []
            for line in lines {
                let trimmed = line.drop { $0 == " " }
                if let last = commands.last, last.hasSuffix("\\") {
                    commands[commands.count - 1] = String(last.dropLast()) + String(trimmed)
                } else if !trimmed.isEmpty, !trimmed.hasPrefix("#") {
                    commands.append(line)
                }
            }
            return commands
        }
    }

    /// Returns the blocks marked with a language.
    static func blocks(in text: String, marked language: String) -> [Block] {
        var blocks: [Block] = []
        var open: Block?
        var isInOther = false
        var (isOutput, takesOutput) = (false, false)
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let trimmed = line.drop { $0 == " " }
            guard trimmed.hasPrefix("```") else {
                open?.lines.append(String(line))
                if takesOutput { blocks[blocks.count - 1].prints.append(String(line)) }
                if !line.isEmpty { isOutput = trimmed == "<!-- prints -->" }
                continue
            }
            if open != nil || isInOther {
                // Only a fence without a language ends a block.
                guard trimmed == "```" else { continue }
                if let block = open { blocks.append(block) }
                (open, isInOther, takesOutput) = (nil, false, false)
            } else if trimmed == "```" + language {
                open = Block(number: index + 1, lines: [])
            } else {
                isInOther = true
                takesOutput = isOutput && !blocks.isEmpty
            }
            isOutput = false
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
            <!-- prints -->
            ```text
            one 2
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
        let blocks = Self.blocks(in: text, marked: "sh")
        #expect(blocks.map(\.number) == [2, 19])
        #expect(blocks.map(\.prints) == [["one 2"], []])
        #expect(blocks.map(\.commands) == [["one two three", "four"], ["five"]])
        #expect(Self.blocks(in: text, marked: "console").map(\.lines) == [["$ not this"]])
    }

    @Test(
        .enabled(
            if: Project.hasPython && Project.find("protoc") != nil,
            "needs protoc, and Python with zmq and google.protobuf: set NAVBUS_PYTHON"))
    func pythonListingsPrintTheOutputOfTheGuide() async throws {
        let listings = try Self.documents.flatMap { try Self.blocks(of: $0, marked: "python") }
        #expect(!listings.isEmpty)
        let (tiles, drive) = (try await Town.shared.tiles, try await Town.shared.drive)
        for listing in listings {
            try await withSandbox { box in
                try showRepository(in: box)
                let demo = box.path + "/.build/demo"
                try FileManager.default.createDirectory(atPath: demo, withIntermediateDirectories: true)
                try await box.succeed(
                    "navbus", ["replay", drive, "--tiles", tiles, "--to", Town.to, "--out", demo + "/recording.mcap"])
                let script = try box.write("listing.py", listing.lines.joined(separator: "\n") + "\n")
                try box.start("navigation-node", ["--set", "tiles=\(tiles)", "--set", "destination=\(Town.to)"])
                try await box.announces("/nav/progress", node: "navigation-node")
                let client = try box.start(Project.python, ["-u", script])
                try box.start("navbus", ["bag", "play", drive, "--rate", "20"])
                try await eventually("\(listing.place) prints", detail: { client.errors }) {
                    let isOver = client.exitStatus != nil
                    let lines = client.output.split(separator: "\n").count
                    guard !isOver || client.exitStatus == 0 && lines > 0 else {
                        throw Failure("\(listing.place):\n\(client.errors)")
                    }
                    return isOver || lines >= 5
                }
            }
        }
    }
}
