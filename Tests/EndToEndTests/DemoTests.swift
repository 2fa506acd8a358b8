import NavTestKit
import NavTestSystem
import Testing

/// The demo as started by `launch/demo`, and its recording.
struct DemoTests {
    @Test func aDriveWithAWrongTurnIsReroutedAndArrives() async throws {
        try await withSandbox { box in
            try await box.succeed("navbus", ["map", "build", Project.map, "--out", "tiles"])
            try await box.succeed("navbus", Town.simulation(tiles: "tiles", to: "drive.mcap"))
            let launch = try await box.run(
                "navbus",
                [
                    "launch", Project.root + "/launch/demo.yaml", "work:=\(box.path)", "destination:=\(Town.to)",
                    "rate:=25",
                ])
            #expect(launch.status == 0, "\(launch.errors)\n\(launch.output)")
            // The events shown in the README; numbers differ where a busy machine applies the reroute later.
            let shown = try Self.shownEvents()
            expectInOrder(
                shown.map(Self.withoutNumbers), in: Self.withoutNumbers(launch.output + launch.errors))

            let bag = box.path + "/recording.mcap"
            let readable = try await box.succeed("navbus", ["bag", "info", bag])
            for topic in Self.topics { #expect(readable.output.contains(topic), "\(topic) in \(readable.output)") }
            let info = try await box.succeed("navbus", ["bag", "info", bag, "--json"]).output
            let counts = try topicCounts(of: info)
            #expect(counts["/gnss/fix"] == Town.fixCount)
            // The recording contains no timestamps of the system clock.
            let duration = try (json(info) as? [String: Any])?["duration_s"] as? Double
            #expect((Double(Town.fixCount - 5)...Double(Town.fixCount - 1)).contains(duration ?? 0), "\(info)")
            // The first fix starts the trip; a few more may pass before the route arrives.
            #expect((300...Town.fixCount).contains(counts["/nav/progress"] ?? 0))

            // A single process reproduces the work of the three.
            let again = try await box.succeed("navbus", ["replay", bag, "--journal", "--tiles", "tiles"])
            #expect(again.output.contains("reproduced bit for bit"), "\(again.output)")
        }
    }

    /// Returns the lines that the README shows below its commands, without those that `launch/demo` itself prints.
    private static func shownEvents() throws -> [String] {
        let block = try #require(
            ReadmeTests.blocks(of: "README.md", marked: "sh").first { $0.commands.contains("launch/demo") })
        let script = try #require(readFile(Project.root + "/launch/demo"))
        let events = block.prints.filter { $0 != "…" && !$0.hasPrefix("recorded: ") && !$0.hasPrefix("report: ") }
        #expect(events.count > 15 && events.count < block.prints.count, "\(block.prints)")
        for name in ["recorded: ", "report:   "] { #expect(script.contains("echo \"\(name)$")) }
        return events
    }

    private static func withoutNumbers(_ text: String) -> String {
        text.replacing(#/[0-9]+(\.[0-9]+)?/#, with: "#")
    }

    @Test(.enabled(if: Project.hasPython, "needs Python with google.protobuf, mcap, mcap_protobuf and zmq"))
    func bagOfAReplayIsDecodedByTheReferenceImplementation() async throws {
        try await withSandbox { box in
            let tiles = try await Town.shared.tiles
            let bag = box.path + "/replay.mcap"
            try await box.succeed(
                "navbus",
                [
                    "replay", try await Town.shared.drive, "--tiles", tiles, "--to", Town.to, "--out", bag,
                ])
            let counts = try topicCounts(of: try await box.succeed("navbus", ["bag", "info", bag, "--json"]).output)
            #expect((300...Town.fixCount).contains(counts["/nav/progress"] ?? 0))
            let decoded = try await box.succeed(Project.python, ["-c", Self.decodeEverything, bag])
            let lines = decoded.outputLines.map { $0.split(separator: " ") }
            let found = Dictionary(uniqueKeysWithValues: lines.map { (String($0[0]), Int($0[1])) })
            #expect(found == counts)
        }
    }

    private static let topics = [
        "/gnss/fix", "/nav/state", "/nav/position", "/nav/progress", "/nav/route", "/nav/reroute", "/nav/arrival",
        "/nav/instruction/visual", "/nav/instruction/spoken", "/nav/journal", "/health/navigation-node",
    ]

    /// Counts the decoded messages by topic with the reference implementation, and fails on an undecodable message.
    private static let decodeEverything = """
        import collections, sys
        from mcap.reader import make_reader
        from mcap_protobuf.decoder import DecoderFactory
        counts = collections.Counter()
        with open(sys.argv[1], "rb") as file:
            reader = make_reader(file, validate_crcs=True, decoder_factories=[DecoderFactory()])
            for schema, channel, message, decoded in reader.iter_decoded_messages():
                assert decoded.DESCRIPTOR.full_name == schema.name, schema.name
                assert decoded.ByteSize() > 0 or not message.data
                counts[channel.topic] += 1
        for topic, count in counts.items():
            print(topic, count)
        """
}

/// Expects texts to appear in the given order.
func expectInOrder(_ texts: [String], in output: String, sourceLocation: SourceLocation = #_sourceLocation) {
    var rest = output[...]
    for text in texts {
        guard let place = rest.firstRange(of: text) else {
            Issue.record("'\(text)' is missing or too early in:\n\(output)", sourceLocation: sourceLocation)
            return
        }
        rest = rest[place.upperBound...]
    }
}
