import Foundation
import NavTestKit
import NavTestSystem
import Testing

/// `navbus check`: verdicts over a fleet of recorded drives, with real worker processes.
struct CheckTests {
    /// Creates drives with wrong turns, and a fleet file that stores their events as references.
    private func fleet(in box: Sandbox, drives: Int = 3, _ more: String = "") async throws {
        let tiles = try await Town.shared.tiles
        try FileManager.default.createDirectory(atPath: box.path + "/drives", withIntermediateDirectories: true)
        for seed in 0..<drives {
            try await box.succeed(
                "navbus", Town.simulation(tiles: tiles, seed: 7 + seed, to: "drives/\(seed).mcap"))
        }
        try box.write(
            "fleet.yaml",
            """
            tiles: \(tiles)
            references: stored
            criteria:
              right_road: ">= 0.8"
              cross_track_p95_m: "<= 25"
              deviation_delay_s: "<= 30"
              missed_deviations: "= 0"
              false_reroutes: "= 0"
            expect:
              - reroute APPLIED OFF_ROUTE
              - arrival ARRIVED 1
              - never reroute FAILED
            \(more)bags:
              - bags: drives/*.mcap
                tags: [town]

            """)
    }

    private func check(_ box: Sandbox, _ options: [String] = []) async throws -> Program.Result {
        try await box.run("navbus", ["check", "fleet.yaml", "--cache", "cache"] + options)
    }

    private func summary(_ result: Program.Result) throws -> [String: Any] {
        try #require(try json(result.output) as? [String: Any], "\(result.output)\(result.errors)")
    }

    private func files(below folder: String) throws -> [String: Date] {
        var times: [String: Date] = [:]
        for case let file as String in FileManager.default.enumerator(atPath: folder) ?? .init() {
            let attributes = try FileManager.default.attributesOfItem(atPath: "\(folder)/\(file)")
            if attributes[.type] as? FileAttributeType == .typeRegular {
                times[file] = attributes[.modificationDate] as? Date
            }
        }
        return times
    }

    @Test func storedReferencesPassAndAPlantedFaultIsClassified() async throws {
        try await withSandbox { box in
            try await fleet(in: box)
            let first = try await check(box)
            #expect(first.status == 1 && first.output.contains("no reference is stored"), "\(first.output)")
            let stored = try await check(box, ["--update", "--json"])
            #expect(stored.status == 0, "\(stored.output)\(stored.errors)")
            // All runs are cached.
            #expect(try summary(stored)["executed"] as? Int == 0)
            let references = try files(below: box.path + "/stored")
            #expect(references.keys.sorted() == (0..<3).map { "drives/\($0).mcap.txt" })
            let text = try #require(readFile(box.path + "/stored/drives/0.mcap.txt"))
            #expect(text.contains("reroute WILL_REROUTE (OFF_ROUTE)\n") && text.hasPrefix("# Events of drives/0.mcap"))
            #expect(!text.contains("progress"))
            let again = try await check(box)
            #expect(again.status == 0 && again.output.contains("3 passed, 0 failed, 0 changed; 0 executed"))
            _ = try await check(box, ["--update"])
            #expect(try files(below: box.path + "/stored") == references, "references were rewritten")

            // The planted fault doubles the tolerated deviation distance and time.
            let fault = ["deviation.min_distance_m=50", "deviation.max_distance_m=120", "deviation.debounce_s=6"]
            let changed = try await check(box, fault.flatMap { ["--set", $0] } + ["--json"])
            let found = try summary(changed)
            #expect(changed.status == 1 && found["changed"] as? Int ?? 0 >= 2, "\(changed.output)")
            let classes = try #require(found["classes"] as? [String])
            #expect(
                classes.first?.contains("later: ") == true
                    && classes.contains { $0.hasPrefix("later: reroute WILL_REROUTE (OFF_ROUTE) by ") },
                "\(classes)")

            // The printed command reproduces the verdict.
            let told = try await check(box, fault.flatMap { ["--set", $0] })
            let command = try #require(told.outputLines.first { $0.hasPrefix("    navbus check") })
            let repeated = try await box.run("/bin/bash", ["-c", String(command)])
            #expect(repeated.status == 1 && repeated.output.contains("1 changed"), "\(command)\n\(repeated.output)")
        }
    }

    /// Doubles the distances only. On mapped roads the matched edge reveals a deviation at once, so these drives leave
    /// the road for unmapped ground, between the default distance and twice that.
    @Test func doubledDeviationDistanceIsFoundAndClassified() async throws {
        try await withSandbox { box in
            let tiles = try await Town.shared.tiles
            let destination = "60.1765,24.9505"
            try await box.succeed(
                "navbus",
                [
                    "simulate", "--tiles", tiles, "--from", "60.1655,24.9375", "--to", destination, "--noise", "none",
                    "--out", "straight.mcap",
                ])
            try await box.succeed("navbus", ["bag", "convert", "straight.mcap", "--out", "straight.csv"])
            let text = try #require(readFile(box.path + "/straight.csv"))
            try FileManager.default.createDirectory(atPath: box.path + "/drives", withIntermediateDirectories: true)
            for (index, metres) in [35.0, -35, 42, -42].enumerated() {
                for start in [20.0, 60, 100] {
                    try box.write(
                        "drives/\(Int(start))-\(index).csv",
                        Self.drive(text, beside: metres, from: start, to: start + 40))
                }
            }
            try box.write(
                "fleet.yaml", "tiles: \(tiles)\nreferences: stored\nto: \(destination)\nbags: [drives/*.csv]\n")
            #expect(try await check(box, ["--update"]).status == 0)
            let fault = ["--set", "deviation.min_distance_m=50", "--set", "deviation.max_distance_m=120"]
            let found = try await check(box, fault + ["--json"])
            let classes = try #require(try summary(found)["classes"] as? [String])
            let changed = try summary(found)["changed"] as? Int ?? 0
            #expect(found.status == 1 && changed >= 8, "\(found.output)")
            for kind in ["gone", "later"] {
                let name = "\(kind): reroute WILL_REROUTE (OFF_ROUTE)"
                #expect(classes.contains { $0.hasPrefix(name) }, "\(name) is none of \(classes)")
            }
        }
    }

    /// Records a drive that runs some metres to the right of the road for a while.
    private static func drive(
        _ recorded: String, beside metres: Double, from start: Double, to end: Double
    ) throws -> String {
        var lines = recorded.split(separator: "\n").map { $0.split(separator: ",", omittingEmptySubsequences: false) }
        let columns = try ["t_s", "lat", "lon", "heading_deg"].map { try #require(lines[0].firstIndex(of: $0[...])) }
        var (first, course): (Double?, Double) = (nil, 0)
        for index in lines.indices.dropFirst() {
            let values = columns.map { Double(lines[index][$0]) }
            guard let moment = values[0], let latitude = values[1], let longitude = values[2] else { continue }
            first = first ?? moment
            if let degrees = values[3] { course = degrees * .pi / 180 }
            let time = moment - (first ?? moment)
            // The vehicle takes six seconds to leave the road and six to return.
            let share = max(0, min(1, (time - start) / 6, (end - time) / 6))
            let offset = metres * share * share * (3 - 2 * share)
            let (east, north) = (offset * cos(course), -offset * sin(course))
            lines[index][columns[1]] = "\(latitude + north / 111_320)"
            lines[index][columns[2]] = "\(longitude + east / (111_320 * cos(latitude * .pi / 180)))"
        }
        return lines.map { $0.joined(separator: ",") }.joined(separator: "\n") + "\n"
    }

    @Test func resultFileDoesNotDependOnJobsShardsOrCache() async throws {
        try await withSandbox { box in
            try await fleet(in: box, drives: 4)
            _ = try await check(box, ["--jobs", "1", "--no-caching", "--out", "one.json"])
            let many = try await check(
                box, ["--jobs", "4", "--out", "many.json", "--junit", "r.xml", "--html", "r.html"])
            let cached = try await check(box, ["--out", "cached.json"])
            #expect(cached.output.contains("; 0 executed, 4 cached"), "\(cached.output)")
            let one = try #require(readBytes(box.path + "/one.json"))
            #expect(readBytes(box.path + "/many.json") == one && readBytes(box.path + "/cached.json") == one)
            for shard in 1...3 {
                _ = try await check(box, ["--shard", "\(shard)/3", "--no-caching", "--out", "part\(shard).json"])
            }
            let merge = (1...3).flatMap { ["--merge", "part\($0).json"] }
            _ = try await check(box, merge + ["--out", "merged.json"])
            #expect(readBytes(box.path + "/merged.json") == one)
            let partial = try await check(box, Array(merge.prefix(4)))
            #expect(partial.status == 2 && partial.errors.contains("missing from the shards"), "\(partial.errors)")
            for option in [["--set", "deviation.debounce_s=9"], ["--set", "vehicle.kind=truck"]] {
                let other = try await check(box, merge + option)
                #expect(other.status == 2 && other.errors.contains("run its shard again"), "\(other.errors)")
            }
            #expect(many.output.contains("4 changed"), "\(many.output)")
            // The command replaces its own result files and nothing else.
            for path in ["fleet.yaml", "drives/3.mcap", "r.html"] {
                let before = readBytes(box.path + "/" + path)
                let refused = try await check(box, ["--junit", path])
                #expect(refused.status == 2 && refused.errors.contains("was not written by this command"))
                #expect(readBytes(box.path + "/" + path) == before)
            }
            _ = try await check(box, ["--junit", "r.xml"])
            let shared = try await check(box, ["--out", "all", "--html", "all"])
            #expect(shared.status == 2 && shared.errors.contains("a file each"), "\(shared.errors)")
            #expect(readFile(box.path + "/r.xml")?.contains("tests=\"4\" failures=\"4\"") == true)
            #expect(readFile(box.path + "/r.html")?.contains("drives/3.mcap") == true)
        }
    }

    @Test func unreadableBagDoesNotStopTheOthers() async throws {
        try await withSandbox { box in
            try await fleet(in: box, drives: 2)
            try box.write("drives/broken.mcap", "this is no bag")
            let whole = try #require(readBytes(box.path + "/drives/0.mcap"))
            try box.write("drives/cut.mcap", Array(whole.prefix(whole.count / 2)))
            let result = try summary(try await check(box, ["--json"]))
            let failures = try #require(result["failures"] as? [String: String])
            #expect(result["failed"] as? Int == 2 && result["changed"] as? Int == 2)
            #expect(failures["drives/broken.mcap"] != nil && failures["drives/cut.mcap"] != nil)
            _ = try await check(box, ["--junit", "r.xml"])
            #expect(readFile(box.path + "/r.xml")?.contains("failures=\"2\" errors=\"2\"") == true)
            // Only failed bags are run again.
            #expect(try summary(try await check(box, ["--json"]))["executed"] as? Int == 2)
        }
    }

    @Test func partialDriveGetsNoVerdict() async throws {
        try await withSandbox { box in
            try await fleet(in: box, drives: 1)
            let whole = try #require(readBytes(box.path + "/drives/0.mcap"))
            try box.write("drives/0.mcap", Array(whole.dropLast(100)))
            let result = try await check(box)
            #expect(result.status == 1 && result.output.contains("a part of a drive is not judged"), "\(result)")
        }
    }

    @Test func cutBagResumesItsTrip() async throws {
        try await withSandbox { box in
            let (tiles, drive) = (try await Town.shared.tiles, try await Town.shared.drive)
            let replay = ["replay", "--tiles", tiles, "--json"]
            try await box.succeed("navbus", replay + [drive, "--to", Town.to, "--out", "whole.mcap"])
            try await box.succeed("navbus", ["bag", "cut", "whole.mcap", "--start", "100", "-o", "part.mcap"])
            try await box.succeed(
                "navbus", ["bag", "filter", "part.mcap", "--exclude", "/nav/route", "-o", "bare.mcap"])
            try box.write(
                "fleet.yaml",
                """
                tiles: \(tiles)
                bags:
                  - {bags: part.mcap, expect: ['route where reason = *RESUMED', arrival ARRIVED 1]}
                  - {bags: bare.mcap, expect: [never arrival ARRIVED]}

                """)
            let result = try await check(box)
            #expect(result.status == 0 && !result.output.contains("note: part.mcap"), "\(result.output)")
            let note = "bare.mcap: the recording was under guidance, the replay is not"
            #expect(result.output.contains("note: \(note)"), "\(result.output)")
            let part = try await box.succeed("navbus", replay + ["part.mcap", "--out", "1.mcap"])
            #expect(try summary(part)["arrivals"] as? Int == 1 && !part.errors.contains("under guidance"))
            let bare = try await box.succeed("navbus", replay + ["bare.mcap", "--out", "2.mcap"])
            #expect(try summary(bare)["routes"] as? Int == 0 && bare.errors.contains("under guidance"))
        }
    }

    @Test func driveOnAnotherMapFails() async throws {
        try await withSandbox { box in
            let tiles = try await Town.shared.tiles
            try box.write("munich.csv", "t_s,lat,lon\n0,48.1635,11.5643\n1,48.1636,11.5644\n")
            try box.write("fleet.yaml", "tiles: \(tiles)\nexpect: [never reroute FAILED]\nbags: [munich.csv]\n")
            let result = try await check(box)
            #expect(result.status == 1 && result.output.contains("no position of 'munich.csv' lies within the map"))
            #expect(result.output.contains(tiles) && result.output.contains("48.1635"), "\(result.output)")
        }
    }

    @Test func bagIsRunAgainWhenADependencyChanges() async throws {
        try await withSandbox { box in
            try await fleet(in: box, drives: 2)
            let tiles = try await Town.shared.tiles
            try box.write(
                "fleet.yaml", "tiles: \(tiles)\nbags:\n  - drives/0.mcap\n  - {bags: drives/1.mcap, to: none}\n")
            func executed(_ options: [String] = []) async throws -> Int? {
                let result = try await check(box, options + ["--json"])
                return try summary(result)["executed"] as? Int
            }
            #expect(try await executed() == 2)
            #expect(try await executed() == 0)
            #expect(try await executed(["--set", "fix.max_age_s=4"]) == 2)
            // Only one bag has a trip, so the others stay cached.
            #expect(try await executed(["--set", "deviation.max_distance_m=61"]) == 1)
            #expect(try await executed(["--set", "faster.enabled=false"]) == 1)
            #expect(try await executed(["--set", "faster.enabled=false", "--set", "faster.min_gain=0.5"]) == 0)
            // A replay uses neither a tile cache nor a network, so these settings do not matter.
            #expect(try await executed(["--set", "tile_cache.deadline_s=5", "--set", "state.max_age_s=9"]) == 0)
            #expect(try await executed(["--set", "guidance.units=imperial"]) == 1)
            #expect(try await executed(["--set", "wrong_way.fixes=4"]) == 1)
            // Nothing was refused, no stop was reached, and no verdict depends on the horizon, so these settings do not
            // matter.
            let unread = [
                "policy.hold_s=99", "legs.auto_advance=false", "horizon.enabled=false",
            ]
            #expect(try await executed(unread.flatMap { ["--set", $0] }) == 0)
            // Runs of earlier configurations are still cached; the least recently used are evicted first.
            for value in 1...8 {
                #expect(try await executed() == 0, "before \(value)")
                #expect(try await executed(["--set", "fix.max_age_s=5.\(value)"]) == 2)
            }
            #expect(try await executed() == 0)
            // Neither a new modification time of the same content nor a damaged hash index causes another run.
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: 0)], ofItemAtPath: box.path + "/drives/0.mcap")
            #expect(try await executed() == 0)
            for damage in ["", "damaged", String(repeating: "0", count: 64) + "\n1\t2\t3\t4\t0f\t/a\n"] {
                try box.write("cache/navbus-check-files", damage)
                #expect(try await executed() == 0)
            }
            let bytes = try #require(readBytes(box.path + "/drives/1.mcap"))
            try box.write("drives/0.mcap", bytes)
            #expect(try await executed() == 1)
        }
    }

    @Test func changedKindOfTruthCausesAnotherRun() async throws {
        try await withSandbox { box in
            try await fleet(in: box, drives: 1)
            let tiles = try await Town.shared.tiles
            try box.write("edges.csv", "from_node,to_node\n1,2\n")
            func run(_ kind: String) async throws -> Program.Result {
                try box.write(
                    "fleet.yaml", "tiles: \(tiles)\ntruth: {\(kind): ./edges.csv}\nbags: [drives/0.mcap]\n")
                return try await check(box)
            }
            let edges = try await run("edges")
            #expect(edges.status == 0, "\(edges.output)\(edges.errors)")
            let positions = try await run("positions")
            #expect(positions.status == 1 && positions.output.contains("1 executed"), "\(positions.output)")
        }
    }

    @Test func eachDestinationOfABagIsASeparateRun() async throws {
        try await withSandbox { box in
            try await fleet(in: box, drives: 1)
            let tiles = try await Town.shared.tiles
            try box.write(
                "fleet.yaml",
                """
                tiles: \(tiles)
                bags:
                  - {bags: drives/0.mcap, name: here, to: "60.1699,24.9384"}
                  - {bags: drives/0.mcap, name: there, to: "60.1719,24.9414"}

                """)
            let names = ["drives/0.mcap [here]", "drives/0.mcap [there]"]
            #expect(try await check(box, ["--list"]).output == names.joined(separator: "\n") + "\n")
            #expect(try json(try await check(box, ["--list", "--json"]).output) as? [String] == names)
            #expect(try summary(try await check(box, ["--json"]))["executed"] as? Int == 2)
            let again = try summary(try await check(box, ["--json"]))
            #expect(again["executed"] as? Int == 0)
            // The report states that these runs have no expectations.
            #expect(again["unchecked"] as? Int == 2 && again["passed"] as? Int == 2)
        }
    }

    @Test func cacheCleanupKeepsUserFiles() async throws {
        try await withSandbox { box in
            try await fleet(in: box, drives: 1)
            let old = Date(timeIntervalSinceNow: -400 * 86_400)
            try FileManager.default.createDirectory(atPath: box.path + "/cache/ab", withIntermediateDirectories: true)
            let own = [".runs", ".json"].map { "ab/" + String(repeating: "0f", count: 31) + $0 }
            for name in ["notes.json", "ab/notes.json"] + own {
                try box.write("cache/" + name, "{}")
                try FileManager.default.setAttributes(
                    [.modificationDate: old], ofItemAtPath: "\(box.path)/cache/\(name)")
            }
            _ = try await check(box)
            let kept = try files(below: box.path + "/cache")
            #expect(kept["notes.json"] != nil && kept["ab/notes.json"] != nil)
            #expect(own.allSatisfy { kept[$0] == nil })
            // An unwritable home does not prevent a check.
            let homeless = try await box.run(
                "navbus", ["check", "fleet.yaml"], environment: ["XDG_CACHE_HOME": "/dev/null"])
            #expect(homeless.status == 1 && homeless.errors.contains("runs are not cached"), "\(homeless.errors)")
            let refused = try await box.run("navbus", ["check", "fleet.yaml", "--cache", "/dev/null/runs"])
            #expect(refused.status == 2 && refused.errors.contains("cannot be created"))
            let unwritable = try await check(box, ["--out", "nowhere/result.json"])
            #expect(unwritable.status == 2 && unwritable.errors.contains("cannot be written"), "\(unwritable.errors)")
        }
    }

    @Test func referencesOfAbsentBagsAreReported() async throws {
        try await withSandbox { box in
            try await fleet(in: box, drives: 2)
            _ = try await check(box, ["--update"])
            try box.write("stored/notes.txt", "not a reference\n")
            try FileManager.default.removeItem(atPath: box.path + "/drives/1.mcap")
            let told = try await check(box)
            #expect(told.status == 0 && told.errors.contains("references of 1 bags not in this fleet: drives/1.mcap;"))
            let part = try await check(box, ["--only", "drives/0*"])
            #expect(!part.errors.contains("not in this fleet"), "\(part.errors)")
            // The unused references are kept, because another fleet file may use the same folder.
            _ = try await check(box, ["--update"])
            #expect(readFile(box.path + "/stored/drives/1.mcap.txt") != nil)
        }
    }

    @Test func unreadableReferenceDoesNotStopOtherBags() async throws {
        try await withSandbox { box in
            try await fleet(in: box, drives: 2)
            _ = try await check(box, ["--update"])
            try box.write("stored/drives/0.mcap.txt", "soon say: Turn left\n")
            let result = try summary(try await check(box, ["--json"]))
            #expect(result["failed"] as? Int == 1 && result["passed"] as? Int == 1, "\(result)")
            let failures = try #require(result["failures"] as? [String: String])
            #expect(failures["drives/0.mcap"]?.contains("line 1 is not an event") == true)
            // A truth without positions is an error.
            let tiles = try await Town.shared.tiles
            try box.write("empty.csv", "t_s,lat,lon\n")
            try box.write(
                "fleet.yaml",
                "tiles: \(tiles)\ntruth: ./empty.csv\ncriteria: {cross_track_p95_m: '<= 25'}\nbags: [drives/*.mcap]\n")
            #expect(try summary(try await check(box, ["--json"]))["failed"] as? Int == 2)
        }
    }

    /// Creates a fleet with enough work that a test observes the workers even on a busy machine.
    private func longFleet(in box: Sandbox) async throws {
        try await fleet(in: box, drives: 1)
        for copy in 1...200 {
            try FileManager.default.copyItem(
                atPath: box.path + "/drives/0.mcap", toPath: box.path + "/drives/\(copy).mcap")
        }
    }

    @Test func moreWorkersThanProcessors() async throws {
        try await withSandbox { box in
            try await longFleet(in: box)
            let count = ProcessInfo.processInfo.activeProcessorCount + 1
            let program = try box.start("navbus", ["check", "fleet.yaml", "--no-caching", "--jobs", "\(count)"])
            var workers = 0
            try await eventually("\(count) workers run", detail: { "\(workers) ran; \(program.errors)" }) {
                workers = max(workers, try Self.processes(with: "--worker", of: box).count)
                return workers == count || program.exitStatus != nil
            }
            #expect(workers == count)
            program.send(SIGKILL)
            try await eventually("the workers have ended") { try Self.processes(with: "--worker", of: box).isEmpty }
        }
    }

    @Test func workersEndWithTheMainProcess() async throws {
        try await withSandbox { box in
            try await longFleet(in: box)
            let program = try box.start("navbus", ["check", "fleet.yaml", "--no-caching", "--jobs", "1"])
            var worker: Int32?
            try await eventually("a worker runs", detail: { program.errors }) {
                // A worker is tied to its parent only once it has set its name.
                worker = try Self.processes(with: "--worker", of: box).first {
                    String(decoding: readBytes("/proc/\($0)/comm") ?? [], as: UTF8.self) == "navbus-worker\n"
                }
                return worker != nil || program.exitStatus != nil
            }
            // A stopped worker cannot notice the end of its parent.
            kill(try #require(worker), SIGSTOP)
            program.send(SIGKILL)
            try await eventually("the worker has ended") { try Self.processes(with: "--worker", of: box).isEmpty }
        }
    }

    @Test func configurationsAreComparedBagByBag() async throws {
        try await withSandbox { box in
            try await fleet(in: box, drives: 3)
            _ = try await check(box, ["--update", "--out", "before.json"])
            let same = try await check(box, ["--compare", "before.json"])
            #expect(same.status == 0 && !same.output.contains("CHANGED"), "\(same.output)")
            #expect(same.output.contains("0 bags with changed events"))
            try box.write("patient.yaml", "deviation.debounce_s: 12\n")
            let other = try await check(box, ["--compare", "patient.yaml"])
            #expect(other.output.contains("3 bags with changed events, by kind:"), "\(other.output)")
            #expect(other.output.contains("earlier: reroute WILL_REROUTE (OFF_ROUTE) by "), "\(other.output)")
            // A repeated comparison rewrites no record; rewriting a file would break its hard link.
            let files = try files(below: box.path + "/cache").keys.filter { $0.hasSuffix(".runs") }
            #expect(files.count == 3)
            for (index, file) in files.enumerated() {
                try FileManager.default.linkItem(
                    atPath: "\(box.path)/cache/\(file)", toPath: "\(box.path)/kept\(index)")
            }
            let again = try await check(box, ["--compare", "patient.yaml"])
            #expect(again.output.contains("; 0 executed, 3 cached"), "\(again.output)")
            for file in files {
                let attributes = try FileManager.default.attributesOfItem(atPath: "\(box.path)/cache/\(file)")
                #expect(attributes[.referenceCount] as? Int == 2, "\(file)")
            }
            let wrong = try await check(box, ["--compare", "nothing.yaml"])
            #expect(wrong.status == 2 && wrong.errors.contains("nothing.yaml"))
        }
    }

    @Test(arguments: [
        (
            "tiles: TILES\nbags: [drives/*.mcap]\n", ["--set", "deviation.debounce=5"],
            "did you mean 'deviation.debounce_s'"
        ),
        ("tiles: TILES\nset: {reroute.detct: true}\nbags: [d]\n", [], "line 2: did you mean 'reroute.detect'"),
        ("tiles: TILES\nbags: [fleet.yaml]\n", ["--set", "tiles=x"], "the map is the key 'tiles' of the fleet file"),
        ("tiles: nowhere\nbags: [d]\n", [], "no tileset at 'nowhere'"),
        ("bags: [d]\n", [], "no 'tiles'"),
        ("tiles: TILES\ncriteria: {right_road: '>= 80'}\nbags: [d]\n", [], "a share such as '>= 0.95'"),
        ("tiles: TILES\nto: here\nbags: [d]\n", [], "'to: here' must be"),
        ("tiles: TILES\nbags: ['*.bag']\n", [], "line 2: no file matches '*.bag'"),
        ("tiles: TILES\nbags: [fleet.yaml, fleet.yaml]\n", [], "is in two entries"),
        ("tiles: TILES\nbags: [fleet.yaml]\n", ["--only", "b*"], "no bag matches the name 'b*'"),
        ("tiles: TILES\nbags: [fleet.yaml]\n", ["--only", "f*", "--only", "b*"], "no bag matches the name 'b*'"),
        ("tiles: TILES\nbags: [{bags: fleet.yaml, tags: a}]\n", ["--tag", "a", "--tag", "b"], "has the tag 'b'"),
        ("tiles: TILES\nbags: [fleet.yaml]\n", ["--merge", "x", "--update"], "--merge judges"),
        ("tiles: TILES\nbags: ['loop/**/*.yaml', fleet.yaml]\n", [], "no file matches 'loop/**/*.yaml'"),
        ("tiles: TILES\nbags: [fleet.yaml]\n", ["--shard", "3/2"], "--shard"),
        ("tiles: TILES\nreferences: fleet.yaml\nbags: [fleet.yaml]\n", ["--update"], "is a file: name a folder"),
        ("tiles: TILES\nbags: [fleet.yaml]\n", ["--update"], "no 'references: FOLDER'"),
    ])
    func invalidCallExitsWithStatusTwo(text: String, options: [String], message: String) async throws {
        try await withSandbox { box in
            let tiles = try await Town.shared.tiles
            try box.write("fleet.yaml", text.replacing("TILES", with: tiles))
            // Folders with many symbolic links to themselves.
            try FileManager.default.createDirectory(atPath: box.path + "/loop", withIntermediateDirectories: true)
            for name in ["a", "b", "c"] {
                try FileManager.default.createSymbolicLink(
                    atPath: "\(box.path)/loop/\(name)", withDestinationPath: box.path + "/loop")
            }
            let result = try await check(box, options)
            #expect(result.status == 2 && result.errors.contains(message), "\(result.errors)\(result.output)")
        }
    }

    /// The build server job and the fleet file of the user guide run as printed.
    @Test func buildServerJobOfTheUserGuideRuns() async throws {
        try await withSandbox { box in
            let guide = try #require(readFile(Project.root + "/Sources/navbus/navbus.docc/UserGuide.md"))
            func block(_ mark: String) throws -> String {
                let parts = guide.components(separatedBy: "<!-- \(mark) -->\n```yaml\n")
                return try #require(parts.count == 2 ? parts[1].components(separatedBy: "```\n").first : nil)
            }
            let job = try block("ci")
            #expect(job.split(separator: "\n").count <= 12)
            let steps = job.split(separator: "\n").compactMap { line in
                line.firstRange(of: "- run: ").map { String(line[$0.upperBound...]) }
            }
            #expect(steps.count == 2)
            try box.write("fleet.yaml", try block("fleet"))
            try box.write("navigation.yaml", "reroute.detect: true\n")
            try FileManager.default.copyItem(atPath: Project.map, toPath: box.path + "/map.osm.pbf")
            let tiles = try await Town.shared.tiles
            for folder in ["drives", "night/north"] {
                try FileManager.default.createDirectory(
                    atPath: "\(box.path)/\(folder)", withIntermediateDirectories: true)
                try await box.succeed("navbus", Town.simulation(tiles: tiles, to: folder + "/1.mcap"))
            }
            func run(_ command: String) async throws -> Program.Result {
                try await box.run("/bin/bash", ["-euc", command])
            }
            #expect(try await run("mkdir -p .build && " + steps[0]).status == 0)
            // The job expects stored references.
            let stored = try await run("navbus check fleet.yaml --cache .build/runs --update")
            #expect(stored.status == 0, "\(stored.output)\(stored.errors)")
            let checked = try await run(steps[1])
            #expect(checked.status == 0 && checked.output.contains("2 passed"), "\(checked.output)\(checked.errors)")
            #expect(readFile(box.path + "/.build/drives.xml")?.contains("tests=\"2\" failures=\"0\"") == true)
            #expect(readFile(box.path + "/.build/drives.html")?.contains("2 passed") == true)
        }
    }

    private static let hasRay = Programs.succeeds(Python.path, ["-c", "import ray"])

    @Test(.enabled(if: hasRay, "SKIPPED: a cluster needs Python's 'ray', which is not installed: set NAVBUS_PYTHON"))
    func clusterGivesTheSameBytesAfterAWorkerIsKilled() async throws {
        try await withSandbox { box in
            try await fleet(in: box, drives: 8)
            _ = try await check(box, ["--no-caching", "--out", "local.json"])
            let driver = try box.start(
                Python.path,
                [
                    Project.root + "/launch/check-ray", "fleet.yaml", "--workers", "4", "--shards", "8", "--",
                    "--no-caching", "--out", "cluster.json",
                ], environment: ["RAY_TMPDIR": "/tmp", "RAY_USAGE_STATS_ENABLED": "0"])
            var killed: Int32?
            try await eventually("a worker of the cluster runs a shard", detail: { driver.errors }) {
                killed = try Self.processes(with: "ray::run_shard", of: box).first
                return killed != nil || driver.exitStatus != nil
            }
            let worker = try #require(killed, "no worker was observed: \(driver.errors)")
            #expect(kill(worker, SIGKILL) == 0)
            let result = try await driver.wait()
            #expect(result.status == 1 && result.output.contains("8 changed"), "\(result.output)\(result.errors)")
            #expect(readBytes(box.path + "/cluster.json") == readBytes(box.path + "/local.json"))
        }
    }

    @Test(.enabled(if: hasRay, "SKIPPED: a cluster needs Python's 'ray', which is not installed: set NAVBUS_PYTHON"))
    func clusterRunsBothConfigurationsOfAComparison() async throws {
        try await withSandbox { box in
            try await fleet(in: box, drives: 3)
            try box.write("slow.yaml", "deviation.debounce_s: 9\n")
            let options = ["--no-caching", "--json", "--compare", "slow.yaml"]
            let local = try await check(box, options + ["--out", "local.json", "--html", "local.html"])
            #expect(try summary(local)["executed"] as? Int == 6)
            let driver = try box.start(
                Python.path,
                [Project.root + "/launch/check-ray", "fleet.yaml", "--workers", "2", "--shards", "3", "--"] + options
                    + ["--out", "cluster.json", "--html", "cluster.html"],
                environment: ["RAY_TMPDIR": "/tmp", "RAY_USAGE_STATS_ENABLED": "0"])
            let result = try await driver.wait()
            #expect(result.status == local.status, "\(result.errors)")
            // The workers have run everything, including the other configuration.
            #expect(try summary(result)["executed"] as? Int == 0)
            #expect(readBytes(box.path + "/cluster.json") == readBytes(box.path + "/local.json"))
            #expect(readBytes(box.path + "/cluster.html") == readBytes(box.path + "/local.html"))
        }
    }

    /// Returns the processes of this sandbox whose command line contains a text.
    private static func processes(with text: String, of box: Sandbox) throws -> [Int32] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap { Int32($0) }.filter { process in
            let words = readBytes("/proc/\(process)/cmdline") ?? []
            guard String(decoding: words, as: UTF8.self).contains(text) else { return false }
            let variables = String(decoding: readBytes("/proc/\(process)/environ") ?? [], as: UTF8.self)
            return variables.contains(box.path + "/b")
        }
    }
}
