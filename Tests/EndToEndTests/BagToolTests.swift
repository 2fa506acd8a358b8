import Foundation
import Glibc
import NavTestKit
import NavTestSystem
import Testing

/// Commands that cut, merge, filter, print and convert bags; other implementations read the output.
struct BagToolTests {
    private static let hasROS = Python.has("rosbags, mcap, mcap_protobuf, zstandard")

    /// Returns a bag of a simulated drive with its guidance, which has many topics.
    private func replayed(in box: Sandbox) async throws -> String {
        let (tiles, drive) = (try await Town.shared.tiles, try await Town.shared.drive)
        try await box.succeed(
            "navbus", ["replay", drive, "--tiles", tiles, "--to", Town.to, "--out", "drive.mcap"])
        return "drive.mcap"
    }

    /// Prints the messages of bags as the reference implementation reads them, with every checksum verified.
    private static let dump = """
        import sys, hashlib
        from mcap.reader import SeekingReader
        for path in sys.argv[1:]:
            with open(path, "rb") as file:
                for schema, channel, message in SeekingReader(file, validate_crcs=True).iter_messages():
                    print(message.log_time, channel.topic, schema.name, message.publish_time,
                          hashlib.md5(message.data).hexdigest())
        """

    @Test(.enabled(if: Project.hasPython, "needs Python with mcap: set NAVBUS_PYTHON"))
    func cutFilteredAndMergedBagsHaveTheMessagesOfTheirSources() async throws {
        try await withSandbox { box in
            let bag = try await replayed(in: box)
            func dump(_ path: String) async throws -> [String] {
                try await box.succeed(Project.python, ["-c", Self.dump, path]).outputLines.map(String.init)
            }
            func time(_ line: String) -> UInt64 { line.split(separator: " ").first.flatMap { UInt64($0) } ?? 0 }
            func topic(_ line: String) -> Substring { line.split(separator: " ")[1] }
            let all = try await dump(bag)
            let start = try #require(all.first.map(time)) + 100_000_000_000
            try await box.succeed("navbus", ["bag", "cut", bag, "--start", "100", "--end", "200", "-o", "cut.mcap"])
            let cut = try await dump("cut.mcap")
            let expected = all.filter { (start..<start + 100_000_000_000).contains(time($0)) }
            // The cut begins with the last values of the latched topics, stamped with the time of the cut.
            let head = cut.prefix(cut.count - expected.count)
            #expect(Array(cut.dropFirst(head.count)) == expected && expected.count > 300)
            #expect(
                Set(head.map(topic)).isSuperset(of: ["/nav/route", "/nav/state"])
                    && head.allSatisfy { time($0) == start })
            for line in head {
                let last = all.last { topic($0) == topic(line) && time($0) < start }
                #expect(last?.split(separator: " ").last == line.split(separator: " ").last, "\(line)")
            }

            try await box.succeed("navbus", ["bag", "filter", bag, "--topics", "/nav/*", "-o", "nav.mcap"])
            try await box.succeed("navbus", ["bag", "filter", bag, "--exclude", "/nav/*", "-o", "rest.mcap"])
            #expect(try await dump("nav.mcap") == all.filter { topic($0).hasPrefix("/nav/") })
            try await box.succeed("navbus", ["bag", "merge", "nav.mcap", "rest.mcap", "-o", "merged.mcap"])
            #expect(try await dump("merged.mcap").sorted() == all.sorted())
            try await box.succeed("navbus", ["bag", "check", "cut.mcap", "nav.mcap", "rest.mcap", "merged.mcap"])
            // The latched values at the beginning of a part come from the preceding part.
            try await box.succeed("navbus", ["bag", "cut", bag, "--end", "100", "-o", "first.mcap"])
            try await box.succeed("navbus", ["bag", "cut", bag, "--start", "200", "-o", "last.mcap"])
            let parts = ["last.mcap", "first.mcap", "cut.mcap"]
            try await box.succeed("navbus", ["bag", "merge"] + parts + ["-o", "whole.mcap"])
            #expect(try await dump("whole.mcap").sorted() == all.sorted())

            let beyond = try await box.run("navbus", ["bag", "cut", bag, "--start", "9999", "-o", "beyond.mcap"])
            #expect(beyond.status == 2 && beyond.errors.contains("the bag ends"), "\(beyond.errors)")

            // No file is replaced without --overwrite.
            let again = try await box.run("navbus", ["bag", "merge", "nav.mcap", "-o", "merged.mcap"])
            #expect(again.status == 1 && again.errors.contains("--overwrite"), "\(again.errors)")
            let edited = readBytes(box.path + "/cut.mcap")
            let replay = ["replay", bag, "--tiles", try await Town.shared.tiles, "--to", Town.to, "--out", "cut.mcap"]
            let replaced = try await box.run("navbus", replay)
            #expect(replaced.status == 1 && replaced.errors.contains("--overwrite"), "\(replaced.errors)")
            #expect(readBytes(box.path + "/cut.mcap") == edited)
            let itself = try await box.run("navbus", ["bag", "cut", bag, "-o", bag, "--overwrite"])
            #expect(itself.status == 2 && itself.errors.contains("the input bag"), "\(itself.errors)")
        }
    }

    /// The script is meant for bags of 50 GB; 0.2 GB are enough to detect a command that keeps a bag in memory.
    @Test(.enabled(if: Project.hasPython, "needs Python with mcap: set NAVBUS_PYTHON"))
    func memoryOfCommandsDoesNotDependOnTheSizeOfABag() async throws {
        try await withSandbox { box in
            let bag = try await replayed(in: box)
            let measured = try box.start(
                Project.python,
                [
                    Project.root + "/Tests/Peers/bag_memory.py", "--gb", "0.2", "--limit-mb", "50", "--only", "bag",
                    "--drive", bag, "--tiles", try await Town.shared.tiles, "--bin", Programs.folder, "--folder", "f",
                ])
            let result = try await measured.wait(seconds: 300)
            #expect(result.status == 0, "\(result.output)\(result.errors)")
            #expect(result.outputLines.count { $0.hasPrefix("bag ") } == 17, "\(result.output)")
        }
    }

    @Test func truncatedBagIsReportedByEveryReader() async throws {
        try await withSandbox { box in
            let bag = try await replayed(in: box)
            let whole = try #require(readBytes(box.path + "/" + bag))
            try box.write("cut.mcap", Array(whole.prefix(whole.count / 3)))
            let diff = try await box.run("navbus", ["bag", "diff", bag, "cut.mcap"])
            #expect(diff.status == 1 && diff.errors.contains("'cut.mcap' is damaged"), "\(diff.errors)")
            let play = try await box.run("navbus", ["bag", "play", "cut.mcap", "--rate", "10000"])
            #expect(play.status == 0 && play.errors.contains("'cut.mcap' is damaged"), "\(play.errors)")
        }
    }

    @Test func pipeIsWrittenToAndNotReplaced() async throws {
        try await withSandbox { box in
            let pipe = box.path + "/pipe"
            #expect(mkfifo(pipe, 0o600) == 0)
            let reader = try box.start("/usr/bin/cat", [pipe])
            try await box.succeed("navbus", ["bag", "convert", try await Town.shared.drive, "-o", pipe, "--to", "csv"])
            #expect(try await reader.wait().outputLines.count == Town.fixCount + 1)
            var status = stat()
            #expect(stat(pipe, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO)
        }
    }

    @Test func tracesWithTheSameNameHaveSeparateOutputs() async throws {
        try await withSandbox { box in
            for name in ["1", "2"] {
                let folder = "\(box.path)/\(name)/urban"
                try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
                try FileManager.default.copyItem(atPath: try await Town.shared.drive, toPath: folder + "/trace.mcap")
            }
            let match = ["match", "--tiles", try await Town.shared.tiles, "--out-dir", ".", "1/urban/trace.mcap"]
            try await box.succeed("navbus", match)
            try await box.succeed("navbus", match + ["2/urban/trace.mcap"])
            for name in ["urban-trace", "1-urban-trace", "2-urban-trace"] {
                #expect(readBytes("\(box.path)/\(name).csv.csv") != nil, "\(name)")
            }
        }
    }

    @Test func messagesArePrintedOnePerLine() async throws {
        try await withSandbox { box in
            let drive = try await Town.shared.drive
            let lines = try await box.succeed("navbus", ["bag", "cat", drive, "--topics", "/gnss/fix"]).outputLines
            #expect(lines.count == Town.fixCount)
            let first = try #require(lines.first).split(separator: " ", maxSplits: 2)
            let fix = try json(first[2]) as? [String: Any]
            #expect(first[1] == "/gnss/fix" && fix?["latitude"] is Double)
            let field = try await box.succeed(
                "navbus",
                ["bag", "cat", drive, "--topics", "/gnss/fix", "--field", "speed", "--count", "5", "--start", "60"])
            #expect(field.outputLines.count == 5)
            #expect(field.outputLines.allSatisfy { Double($0.split(separator: " ")[2]) != nil }, "\(field.output)")
            let object = try await box.succeed("navbus", ["bag", "cat", drive, "--json", "--count", "1"])
            let keys = (try json(object.output) as? [String: Any])?.keys.sorted()
            #expect(keys == ["log_ns", "message", "publish_ns", "sequence", "topic", "type"])
            let none = try await box.run("navbus", ["bag", "cat", drive, "--topics", "/none"])
            #expect(none.status == 2 && none.errors.contains("/gnss/fix"), "\(none.errors)")
            // A misspelt field is an error, both in --field and in a condition.
            for arguments in [["--field", "spede"], ["--filter", "spede > 3"]] {
                let typo = try await box.run("navbus", ["bag", "cat", drive, "--topics", "/gnss/fix"] + arguments)
                #expect(typo.status == 2 && typo.errors.contains("no field 'spede': did you mean"), "\(typo.errors)")
                #expect(typo.output.isEmpty, "\(typo.output)")
            }
            // An invalid value is an error, too.
            for (condition, hint) in [
                ("fix_type = RTK_FIXD", "did you mean 'RTK_FIXED'?"), ("speed = fast", "is not a number"),
                ("fix_type > 3", "compare it with = or !="),
            ] {
                let wrong = try await box.run(
                    "navbus", ["bag", "cat", drive, "--topics", "/gnss/fix", "--filter", condition])
                #expect(wrong.status == 2 && wrong.errors.contains(hint), "\(wrong.errors)")
            }
            let all = try await box.succeed(
                "navbus", ["bag", "cat", drive, "--topics", "/gnss/fix", "--filter", "speed >= 0"])
            #expect(all.outputLines.count == Town.fixCount)
        }
    }

    /// Writes a bag whose names and texts contain terminal control characters and would break a line of JSON.
    private static let hostile = #"""
        import sys
        from mcap.writer import Writer
        with open(sys.argv[1], "wb") as out:
            writer = Writer(out)
            writer.start()
            schema = writer.register_schema("a\x1b[2Jb", "jsonschema", b"{}")
            channel = writer.register_channel("/x\x1b[2J\x9b", "json", schema)
            for time, text in enumerate(['{"a": "\x9b2J\x7f",\n\t"b": 1}', '{}, "topic": "\x1b[2J"', "NaN"]):
                writer.add_message(channel, time, text.encode(), time)
            writer.add_metadata("m\x1b[2J", {"k\x1b[2J": "v\x9b2J"})
            writer.add_attachment(0, 0, "f\x1b[2J", "text/plain", b"x")
            writer.finish()
        """#

    @Test(.enabled(if: Project.hasPython, "needs Python with mcap: set NAVBUS_PYTHON"))
    func controlCharactersOfAForeignBagDoNotReachTheTerminal() async throws {
        try await withSandbox { box in
            func controls(_ text: String) -> [Unicode.Scalar] {
                text.unicodeScalars.filter {
                    ($0.value < 0x20 && $0 != "\n" && $0 != "\t") || (0x7f..<0xa0).contains($0.value)
                }
            }
            try await box.succeed(Project.python, ["-c", Self.hostile, "foreign.mcap"])
            for command in ["info", "cat", "check"] {
                for options in [[], ["--json"]] {
                    let run = try await box.succeed("navbus", ["bag", command, "foreign.mcap"] + options)
                    #expect(controls(run.output + run.errors).isEmpty, "\(command) \(options): \(run.output)")
                }
            }
            let none = try await box.run("navbus", ["bag", "cat", "foreign.mcap", "--topics", "/none"])
            #expect(none.status == 2 && controls(none.errors).isEmpty, "\(none.errors)")
            let lines = try await box.succeed("navbus", ["bag", "cat", "foreign.mcap", "--json"]).outputLines
            let objects = try lines.map { try json(String($0)) as? [String: Any] ?? [:] }
            #expect(objects.map { $0["topic"] as? String } == Array(repeating: "/x\u{1b}[2J\u{9b}", count: 3))
            let texts = objects.map { object in
                object["message"] as? String ?? (object["message"] as? [String: Any])?["a"] as? String
            }
            #expect(texts == ["\u{9b}2J\u{7f}", "{}, \"topic\": \"\u{1b}[2J\"", "NaN"])
        }
    }

    /// Prints 10,000 fixes as text, and as rosbags reads them from the ROS 2 bag.
    private static let rosbags = """
        import csv, math, sys
        from rosbags.rosbag2 import Reader
        from rosbags.typesys import Stores, get_typestore
        store = get_typestore(Stores.ROS2_HUMBLE)
        rows = list(csv.DictReader(open(sys.argv[1])))
        fixes, velocities, different = [], {}, 0
        with Reader(sys.argv[2]) as reader:
            for connection, stamp, data in reader.messages():
                message = store.deserialize_cdr(data, connection.msgtype)
                ns = message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
                if connection.topic == "/fix":
                    fixes.append((stamp, ns, message))
                else:
                    velocities[ns] = message.twist.linear
        for row, (stamp, ns, fix) in zip(rows, fixes):
            speed, course = float(row["speed_mps"]), math.radians(float(row["heading_deg"]))
            velocity = velocities[ns]
            sigma = float(row["h_acc_m"]) / math.sqrt(-2 * math.log(0.32))
            same = (ns == round(float(row["t_s"]) * 10) * 10**8 and stamp == ns and fix.header.frame_id == "gnss"
                    and fix.latitude == float(row["lat"]) and fix.longitude == float(row["lon"])
                    and fix.status.status == 0 and fix.position_covariance_type == 1
                    and abs(fix.position_covariance[0] - sigma ** 2) < 1e-9
                    and abs(velocity.x - speed * math.sin(course)) < 1e-9
                    and abs(velocity.y - speed * math.cos(course)) < 1e-9)
            different += not same
        print(len(rows), len(fixes), len(velocities), different)
        """

    @Test func conversionReportsTheDamageThatItSkips() async throws {
        try await withSandbox { box in
            let rows = (0..<3_000).map { "\(1_700_000_000 + $0),60.1,24.9,\(Double($0 % 300) / 10),90,0.9" }
            try box.write("drive.csv", "t_s,lat,lon,speed_mps,heading_deg,hdop\n" + rows.joined(separator: "\n") + "\n")
            try await box.succeed("navbus", ["bag", "convert", "drive.csv", "-o", "whole.mcap"])
            var bytes = try Data(contentsOf: URL(fileURLWithPath: box.path + "/whole.mcap"))
            bytes[bytes.count / 3] ^= 0xff
            try bytes.write(to: URL(fileURLWithPath: box.path + "/damaged.mcap"))
            for target in ["back.csv", "back.geojson", "back.mcap", "ros"] {
                let run = try await box.run("navbus", ["bag", "convert", "damaged.mcap", "-o", target])
                #expect(run.errors.contains("a damaged part was skipped: "), "\(target): \(run.errors)")
            }
            // A drive with a gap is neither replayed nor matched.
            let tiles = try await Town.shared.tiles
            for command in [["replay", "--out", "out.mcap"], ["match"]] {
                let run = try await box.run("navbus", command + ["damaged.mcap", "--tiles", tiles])
                #expect(run.status == 1 && run.errors.contains("'damaged.mcap': "), "\(run.errors)")
                #expect(run.errors.contains("'navbus bag recover' makes a bag of what can be read"))
            }
        }
    }

    @Test func attachmentsAndMetadataAreConvertedOrReported() async throws {
        try await withSandbox { box in
            let drive = try await Town.shared.drive
            func supplements(_ bag: String) async throws -> (attachments: [String], metadata: [String]) {
                let info = try await box.succeed("navbus", ["bag", "info", bag, "--json"])
                let document = try json(info.output) as? [String: Any]
                func names(_ key: String) -> [String] {
                    (document?[key] as? [[String: Any]])?.compactMap { $0["name"] as? String } ?? []
                }
                return (names("attachments"), names("metadata"))
            }
            let source = try await supplements(drive)
            #expect(!source.attachments.isEmpty && !source.metadata.isEmpty)
            for options in [[], ["--foxglove"]] {
                try await box.succeed("navbus", ["bag", "convert", drive, "-o", "c.mcap", "--overwrite"] + options)
                let converted = try await supplements("c.mcap")
                #expect(converted.attachments == source.attachments)
                #expect(converted.metadata.sorted() == (source.metadata + ["navbus.convert"]).sorted())
            }
            for target in ["drive.gpx", "ros"] {
                let run = try await box.succeed("navbus", ["bag", "convert", drive, "-o", target])
                #expect(run.errors.contains("left out: \(source.attachments.count) attachments and"), "\(run.errors)")
                let isMapped = run.errors.contains(" messages became /fix (sensor_msgs/msg/NavSatFix)")
                #expect(isMapped == (target == "ros"), "\(run.errors)")
            }
            let again = try await box.run("navbus", ["bag", "convert", drive, "-o", "ros"])
            #expect(again.status == 1 && again.errors.contains("'ros' exists; --overwrite replaces it"))
            let folder = try await box.run("navbus", ["match", "ros", "--tiles", try await Town.shared.tiles])
            #expect(folder.status == 1 && folder.errors.contains("'ros' is a folder: convert"), "\(folder.errors)")
            // A damaged attachment is left out of a copy and reported.
            var bytes = try #require(readBytes(drive))
            let mark = Array("from_node,to_node".utf8)
            let place = try #require(bytes.indices.first { bytes[$0...].starts(with: mark) })
            bytes[place] ^= 0xff
            try box.write("damaged.mcap", bytes)
            let cut = try await box.succeed("navbus", ["bag", "cut", "damaged.mcap", "-o", "cut.mcap"])
            let edges = "truth_edges.csv"
            #expect(cut.errors.contains("left out: the attachment '\(edges)' of 'damaged.mcap'"), "\(cut.errors)")
            let kept = try await supplements("cut.mcap").attachments
            #expect(kept == source.attachments.filter { $0 != edges })
        }
    }

    @Test func conversionToROS2ReplacesTheOldBagAndNothingElse() async throws {
        try await withSandbox { box in
            func drive(_ count: Int) -> String {
                let rows = (0..<count).map { "\(1_700_000_000 + $0),60.1,24.9,\(Double($0 % 300) / 10),90,0.9" }
                return "t_s,lat,lon,speed_mps,heading_deg,hdop\n" + rows.joined(separator: "\n") + "\n"
            }
            func files(_ folder: String) throws -> [String] {
                try FileManager.default.contentsOfDirectory(atPath: "\(box.path)/\(folder)").sorted()
            }
            try box.write("drive.csv", drive(100))
            try box.write("short.csv", drive(50))
            try await box.succeed("navbus", ["bag", "convert", "drive.csv", "-o", "drive.mcap"])
            try await box.succeed("navbus", ["bag", "convert", "drive.csv", "-o", "ros/"])
            #expect(try files("ros") == ["metadata.yaml", "ros_0.mcap"])
            try box.write("ros/notes.txt", "mine")
            let first = readBytes(box.path + "/ros/ros_0.mcap")
            let kept = ["metadata.yaml", "notes.txt", "ros_0.mcap"]

            // A conversion changes nothing if it fails or if its input lies in the folder that it would replace.
            let overwrite = ["-o", "ros", "--overwrite"]
            let none = try await box.run(
                "navbus", ["bag", "convert", "drive.mcap"] + overwrite + ["--topics", "/none"])
            #expect(none.status == 1 && none.errors.contains("no message that can be converted"), "\(none.errors)")
            let inside = try await box.run("navbus", ["bag", "convert", "ros/ros_0.mcap"] + overwrite)
            #expect(inside.status == 2 && inside.errors.contains("the recording lies in 'ros'"), "\(inside.errors)")
            #expect(try files("ros") == kept)
            #expect(first != nil && readBytes(box.path + "/ros/ros_0.mcap") == first)

            try await box.succeed("navbus", ["bag", "convert", "short.csv"] + overwrite)
            #expect(try files("ros") == kept)
            #expect(readBytes(box.path + "/ros/ros_0.mcap") != first)
            #expect(readFile(box.path + "/ros/notes.txt") == "mine")
            #expect(readFile(box.path + "/ros/metadata.yaml")?.contains("- \"ros_0.mcap\"") == true)

            // The old bag's files are removed even if the new names differ; a file that the old bag does not list
            // stays.
            try FileManager.default.moveItem(atPath: box.path + "/ros", toPath: box.path + "/other")
            try await box.succeed("navbus", ["bag", "convert", "drive.csv", "-o", "other", "--overwrite"])
            #expect(try files("other") == ["metadata.yaml", "notes.txt", "other_0.mcap"])
            try FileManager.default.moveItem(atPath: box.path + "/other", toPath: box.path + "/third")
            try box.write("third/third_0.mcap", "mine")
            let foreign = try await box.run("navbus", ["bag", "convert", "drive.csv", "-o", "third", "--overwrite"])
            #expect(foreign.status == 1 && foreign.errors.contains("'third/third_0.mcap'"), "\(foreign.errors)")
            #expect(readFile(box.path + "/third/third_0.mcap") == "mine")
            #expect(try files(".").allSatisfy { !$0.contains("partial") })
        }
    }

    @Test func mergeAndReportNameTheFileThatFails() async throws {
        try await withSandbox { box in
            let drive = try await Town.shared.drive
            try box.write("text.mcap", "this is no bag")
            for call in [
                ["bag", "merge", drive, "text.mcap", "-o", "o.mcap"],
                ["report", drive, "--against", "text.mcap", "-o", "o.html"],
            ] {
                let run = try await box.run("navbus", call)
                #expect(run.status == 1 && run.errors.contains("text.mcap"), "\(run.errors)")
            }
        }
    }

    @Test(.enabled(if: hasROS, "needs Python with rosbags: set NAVBUS_PYTHON"))
    func rosbagsReadsTenThousandFixesWithoutADifference() async throws {
        try await withSandbox { box in
            var text = "t_s,lat,lon,speed_mps,heading_deg,hdop,h_acc_m\n"
            for index in 0..<10_000 {
                text +=
                    "\(1_700_000_000 + index / 10).\(index % 10),\(60 + Double(index) * 1e-6),\(24 - Double(index) * 1e-6),"
                text += "\(Double(index % 300) / 10 + 1),\(index % 360),0.9,\(1 + Double(index % 50) / 10)\n"
            }
            try box.write("drive.csv", text)
            try await box.succeed("navbus", ["bag", "convert", "drive.csv", "-o", "ros"])
            let read = try await box.succeed(Project.python, ["-c", Self.rosbags, "drive.csv", "ros"])
            #expect(read.outputLines == ["10000 10000 10000 0"])
            // Converted back, the fixes are the same.
            try await box.succeed("navbus", ["bag", "convert", "ros/ros_0.mcap", "-o", "back.csv"])
            let back = (readFile(box.path + "/back.csv") ?? "").split(separator: "\n")
            #expect(back.count == 10_001)
            #expect(
                zip(back, text.split(separator: "\n")).dropFirst().allSatisfy { got, want in
                    let (got, want) = (got.split(separator: ","), want.split(separator: ","))
                    return got.count > 6 && Double(got[0]) == Double(want[0]) && Double(got[1]) == Double(want[1])
                        && Double(got[2]) == Double(want[2]) && got.dropLast().last == want.last
                })
        }
    }

    private static let panels = """
        import collections, json, sys
        from mcap.reader import make_reader
        from mcap_protobuf.decoder import DecoderFactory
        counts, lines = collections.Counter(), []
        with open(sys.argv[1], "rb") as file:
            reader = make_reader(file, validate_crcs=True, decoder_factories=[DecoderFactory()])
            for schema, channel, message, content in reader.iter_decoded_messages():
                counts[channel.topic, schema.name] += 1
                if schema.name == "foxglove.GeoJSON":
                    lines.append(json.loads(content.geojson)["features"][0]["geometry"]["coordinates"])
                if schema.name == "foxglove.LocationFix":
                    assert 60 < content.latitude < 61 and 24 < content.longitude < 26, content
                    variances = content.position_covariance[0], content.position_covariance[4]
                    assert all(0 < one < 10_000 for one in variances) and content.position_covariance_type == 1, content
        print(counts["/gnss/fix", "navbus.v1.GnssFix"], counts["/foxglove/fix", "foxglove.LocationFix"],
              counts["/foxglove/position", "foxglove.LocationFix"] > 300,
              0 < counts["/foxglove/route", "foxglove.GeoJSON"] <= counts["/nav/route", "navbus.v1.Route"],
              all(a != b for a, b in zip(lines, lines[1:])) and all(len(line) > 1 for line in lines))
        """

    @Test(.enabled(if: Project.hasPython, "needs Python with mcap: set NAVBUS_PYTHON"))
    func conversionAddsChannelsForMapPanels() async throws {
        try await withSandbox { box in
            let bag = try await replayed(in: box)
            try await box.succeed("navbus", ["bag", "convert", bag, "-o", "panels.mcap", "--foxglove"])
            let read = try await box.succeed(Project.python, ["-c", Self.panels, "panels.mcap"])
            let count = try #require(read.output.split(separator: " ").first)
            #expect(read.outputLines == ["\(count) \(count) True True True"], "\(read.output)")

            try await box.succeed("navbus", ["bag", "convert", bag, "-o", "drive.geojson"])
            let document = try json(readFile(box.path + "/drive.geojson") ?? "") as? [String: Any]
            let features = try #require(document?["features"] as? [[String: Any]])
            let names = features.compactMap { ($0["properties"] as? [String: Any])?["name"] as? String }
            #expect(names.prefix(3) == ["fixes", "matched", "route"])
            try await box.succeed("navbus", ["bag", "convert", bag, "-o", "drive.gpx"])
            let back = try await box.succeed("navbus", ["bag", "convert", "drive.gpx", "-o", "again.mcap"])
            #expect(back.output == "again.mcap: \(count) messages\n")
        }
    }

    /// Prints the names of the attachments, and the names of the metadata with their keys.
    private static let supplements = """
        import sys
        from mcap.reader import make_reader
        with open(sys.argv[1], "rb") as file:
            reader = make_reader(file)
            for a in reader.iter_attachments(): print("attachment", a.name, len(a.data) > 0)
            for m in reader.iter_metadata(): print("metadata", m.name, m.metadata.get("tiles") or m.metadata.get("version"))
        """

    @Test(.enabled(if: Project.hasPython, "needs Python with mcap: set NAVBUS_PYTHON"))
    func recorderStoresADescriptionOfTheRun() async throws {
        try await withSandbox { box in
            let tiles = try await Town.shared.tiles
            try box.write(
                "run.yaml",
                """
                nodes:
                  - name: recorder
                    executable: navbus
                    args: [bag, record, --out, drive.mcap]
                  - name: navigation-node
                    executable: navigation-node
                    set: {tiles: "\(tiles)"}
                """)
            let launch = try box.start("navbus", ["launch", "run.yaml"])
            try await eventually("the configuration is recorded", detail: { launch.errors }) {
                let info = try await box.run("navbus", ["bag", "info", "drive.mcap", "--json"])
                let read = try await box.run(Project.python, ["-c", Self.supplements, "drive.mcap"])
                return info.status == 0 && read.output.contains("navbus.parameters/navigation-node")
                    && read.output.contains("navbus.node/navigation-node")
                    && read.output.contains("tileset.json")
            }
            launch.send(SIGINT)
            #expect(try await launch.wait().status == 0, "\(launch.errors)")
            let read = try await box.succeed(Project.python, ["-c", Self.supplements, "drive.mcap"])
            let lines = Set(read.outputLines.map(String.init))
            #expect(
                lines.contains("attachment run.yaml True") && lines.contains("attachment tileset.json True"), "\(lines)"
            )
            #expect(lines.contains("metadata navbus.parameters/navigation-node \(tiles)"), "\(lines)")
            #expect(lines.contains { $0.hasPrefix("metadata navbus.recorder 0.") })
            #expect(lines.contains { $0.hasPrefix("metadata navbus.node/navigation-node 0.") }, "\(lines)")
            // The bag records the publishers, so it can be played back to a node.
            let play = try await box.run(
                "navbus", ["bag", "play", "drive.mcap", "--as-input", "stranger", "--wait", "0"])
            #expect(play.status == 2 && play.errors.contains("its nodes are: navigation-node"), "\(play.errors)")
        }
    }

    /// Plays a bag on a terminal and prints the last line of the progress bar after each key press.
    private static let keys = """
        import os, pty, re, select, sys, time
        pid, terminal = pty.fork()
        if pid == 0:
            os.execv(sys.argv[1], ["navbus", "bag", "play", sys.argv[2], "--clock", "--subscribers", "0"])
        shown = b""
        def line(wanted, holds=lambda text: True):
            global shown
            end = time.monotonic() + 120
            while time.monotonic() < end:
                if select.select([terminal], [], [], 0.1)[0]: shown += os.read(terminal, 4096)
                last = shown.split(b"\\r")[-1].decode(errors="replace")
                if re.search(wanted, last) and holds(last): return last
            sys.exit(f"{wanted} does not come: {last}")
        def seconds(text): return float(re.search(r" ([0-9.]+) s of", text)[1])
        line(" s of ")
        os.write(terminal, b"\\x1b[C" * 3)
        line(" s of ", lambda text: seconds(text) >= 30)
        os.write(terminal, b"\\x1b[A" * 2)
        line(" 4.0 times")
        os.write(terminal, b" ")
        paused = seconds(line("paused"))
        os.write(terminal, b"\\x1b[D")
        line(" s of .*paused", lambda text: abs(seconds(text) - (paused - 10)) < 1)
        os.write(terminal, b"q")
        while True:
            try:
                if not os.read(terminal, 4096): break
            except OSError: break
        print(os.waitpid(pid, 0)[1])
        """

    @Test(.enabled(if: Project.hasPython, "needs Python: set NAVBUS_PYTHON"))
    func keysSeekAndChangeTheRate() async throws {
        try await withSandbox { box in
            let drive = try await Town.shared.drive
            let played = try await box.succeed(
                Project.python, ["-c", Self.keys, try Programs.path("navbus"), drive])
            #expect(played.outputLines == ["0"], "\(played.errors)")
        }
    }

    @Test func snapshotHasTheLastSeconds() async throws {
        try await withSandbox { box in
            let recorder = try box.start("navbus", ["bag", "record", "--snapshot", "3600", "--out", "event.mcap"])
            try await eventually("the recorder serves", detail: { recorder.errors }) {
                try await box.run("navbus", ["service", "list"]).output.contains("navbus.v1.Recorder")
            }
            for _ in 0..<2 {
                try await box.succeed("navbus", ["topic", "pub", "/gnss/fix", "{\"latitude\": 1}", "--count", "3"])
            }
            #expect(!FileManager.default.fileExists(atPath: box.path + "/event.mcap"))
            let snapshot = try await box.succeed("navbus", ["bag", "snapshot", "--reason", "a test", "--json"])
            #expect((try json(snapshot.output) as? [String: Any])?["path"] as? String == "event.mcap")
            try await box.succeed("navbus", ["bag", "check", "event.mcap"])
            let info = try await box.succeed("navbus", ["bag", "info", "event.mcap", "--json"])
            #expect(try topicCounts(of: info.output)["/gnss/fix"] == 6)
            recorder.send(SIGINT)
            #expect(try await recorder.wait().status == 0, "\(recorder.errors)")
            let none = try await box.run("navbus", ["bag", "snapshot"])
            #expect(none.status == 1 && none.errors.contains("--snapshot SECONDS"), "\(none.errors)")
        }
    }
}
