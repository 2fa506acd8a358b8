import Foundation
import NavTestSystem
import Testing

/// Invalid input ends with exit status 1 or 2 and one line that says what failed, where and what to do; never with a
/// trap.
struct BadInputTests {
    /// An invalid call, and the texts that its error line must contain.
    struct Mistake: Sendable, CustomTestStringConvertible {
        var tool = "navbus"
        var call: String
        var status: Int32
        var says: [String]
        var environment: [String: String] = [:]

        var testDescription: String { "\(tool) \(call)" }
    }

    /// Runs a call in a folder of valid and invalid files; `TILES` and `DRIVE` stand for the valid ones.
    private func check(_ mistake: Mistake, in box: Sandbox) async throws {
        let (tiles, drive) = (try await Town.shared.tiles, try await Town.shared.drive)
        let words = mistake.call.split(separator: " ").map { word in
            word.replacing("TILES", with: tiles).replacing("DRIVE", with: drive)
                .replacing("LAUNCH", with: Project.root + "/launch")
        }
        let result = try await box.run(mistake.tool, words.map { String($0) }, environment: mistake.environment)
        let output = "exit \(result.status): \(result.errors)"
        #expect(result.status == mistake.status, "\(output)")
        #expect(!result.errors.contains("Fatal error"), "\(output)")
        #expect(result.errorLines.count == 1, "\(output)")
        #expect(result.errors.hasPrefix("\(mistake.tool): "), "\(output)")
        for text in mistake.says {
            #expect(result.errors.contains(text.replacing("TILES", with: tiles)), "no '\(text)' in \(output)")
        }
    }

    // MARK: Maps

    @Test(arguments: [
        Mistake(call: "map build cut.osm.pbf --out o", status: 1, says: ["cut.osm.pbf", "byte", "fetch it again"]),
        Mistake(call: "map build text --out o", status: 1, says: ["text", "OpenStreetMap"]),
        Mistake(call: "map build empty --out o", status: 1, says: ["empty", "OpenStreetMap"]),
        Mistake(call: "map build missing --out o", status: 1, says: ["missing", "No such file"]),
        Mistake(call: "map build folder --out o", status: 1, says: ["folder", "not a regular file"]),
        Mistake(call: "map build LAUNCH/../Tests/Fixtures/helsinki.osm.pbf --out text", status: 1, says: ["text"]),
        Mistake(
            call: "map build LAUNCH/../Tests/Fixtures/helsinki.osm.pbf --out /proc/o", status: 1, says: ["/proc/o"]),
        Mistake(call: "map build text --out o --jobs 0", status: 2, says: ["--jobs must be at least 1"]),
        Mistake(call: "map info missing", status: 1, says: ["no tileset at 'missing'", "navbus map build"]),
        Mistake(call: "map info folder", status: 1, says: ["no tileset at 'folder'", "navbus map build"]),
    ])
    func invalidMapInputIsReported(_ mistake: Mistake) async throws {
        try await withSandbox { box in
            let map = try #require(readBytes(Project.map))
            try box.write("cut.osm.pbf", Array(map[..<300_000]))
            try box.write("text", "hello\n")
            try box.write("empty", "")
            try FileManager.default.createDirectory(atPath: box.path + "/folder", withIntermediateDirectories: false)
            try await check(mistake, in: box)
            #expect(!FileManager.default.fileExists(atPath: box.path + "/o"), "a failed build left tiles behind")
        }
    }

    @Test func tilesOfAnotherFormatVersionAreRefused() async throws {
        try await withSandbox { box in
            let tiles = try await box.copyTiles()
            let file = tiles + "/tileset.json"
            let text = try #require(readFile(file)).replacing(#/"formatVersion" ?: ?\d+/#, with: #""formatVersion":99"#)
            try text.write(toFile: file, atomically: true, encoding: .utf8)
            for call in ["map info \(tiles)", "replay DRIVE --tiles \(tiles) --out o"] {
                let says = [tiles, "format version 99", "this program reads", "rebuild it with 'navbus map build'"]
                try await check(Mistake(call: call, status: 1, says: says), in: box)
            }
        }
    }

    @Test(arguments: ["{garbage", "", "[]", "{}", #"{"formatVersion":"one"}"#])
    func malformedTilesetIsRefused(text: String) async throws {
        try await withSandbox { box in
            let tiles = try await box.copyTiles()
            try text.write(toFile: tiles + "/tileset.json", atomically: true, encoding: .utf8)
            try await check(
                Mistake(call: "map info \(tiles)", status: 1, says: ["tileset.json", "navbus map build"]), in: box)
        }
    }

    @Test(arguments: ["truncate", "flip", "empty", "remove", "replace"])
    func damagedTileIsReportedByItsPath(damage: String) async throws {
        try await withSandbox { box in
            let tiles = try await box.copyTiles()
            let name = try #require(
                FileManager.default.subpathsOfDirectory(atPath: tiles).first { $0.hasSuffix(".road") })
            var bytes = try #require(readBytes("\(tiles)/\(name)"))
            switch damage {
            case "truncate": bytes = Array(bytes[..<1_000])
            case "flip": bytes[bytes.count / 2] ^= 1
            case "empty": bytes = []
            case "remove": try FileManager.default.removeItem(atPath: "\(tiles)/\(name)")
            default: bytes = Array("not a tile at all".utf8)
            }
            if damage != "remove" { try Data(bytes).write(to: URL(fileURLWithPath: "\(tiles)/\(name)")) }
            for call in ["map info \(tiles)", "route --tiles \(tiles) --from \(Town.from) --to \(Town.to)"] {
                let mistake = Mistake(call: call, status: 1, says: ["\(tiles)/\(name)", "navbus map build"])
                try await check(mistake, in: box)
            }
            // A node continues without a missing tile, because the tile may arrive later.
            if damage == "remove" { return }
            let node = Mistake(
                tool: "navigation-node", call: "--set tiles=\(tiles)", status: 1,
                says: ["\(tiles)/\(name)", "navbus map build"])
            try await check(node, in: box)
        }
    }

    // MARK: Places

    @Test(arguments: [
        Mistake(
            call: "route --tiles TILES --from 10,10 --to 60.17,24.94", status: 1,
            says: ["no road", "10.0,10.0", "inside the map"]),
        Mistake(
            call: "simulate --tiles TILES --from 60.17,24.94 --to 10,10 --out o", status: 1,
            says: ["no road", "10.0,10.0", "inside the map"]),
        Mistake(
            call: "route --tiles TILES --from -33.86,151.2 --to 60.17,24.94", status: 1,
            says: ["no road", "-33.86,151.2"]),
        Mistake(
            call: "route --tiles TILES --from here --to 60.17,24.94", status: 2,
            says: ["'here'", "--from", "LAT,LON", "navbus route --help"]),
        Mistake(
            call: "route --tiles TILES --from 60.1655,24.9375 --to 60.1765,24.9505 --snap-max-m 0", status: 1,
            says: [
                "no road", "within 0 m", "(start)", "the nearest one from which the route can be driven is",
                "m away",
            ]),
        Mistake(
            call: "route --tiles TILES --from 60.1655,24.9375 --to 60.1765,24.9505 --snap-max-m -1", status: 2,
            says: ["--snap-max-m", "0 to 10000"]),
        Mistake(
            call: "map junction --tiles TILES -33.86,151.2", status: 1,
            says: ["-33.86,151.2", "no three roads", "150 m", "--radius"]),
        Mistake(call: "map junction --tiles TILES here", status: 2, says: ["'here'", "LAT,LON"]),
        Mistake(call: "map junction --tiles TILES 60,24 --radius 0", status: 2, says: ["--radius", "1 to 10000"]),
        Mistake(call: "map junction --tiles TILES 60,24 --width 0.4", status: 2, says: ["--width", "0.5 to 10"]),
        Mistake(
            call: "route --tiles TILES --from 91,0 --to 60.17,24.94", status: 2,
            says: ["'91,0'", "--from", "LAT,LON", "the latitude"]),
        Mistake(
            call: "route --tiles TILES --from 60.17,24.94 --to 60.18,240.95", status: 2,
            says: ["'60.18,240.95'", "--to", "the longitude must be -180 to 180 degrees"]),
        Mistake(call: "route --tiles TILES", status: 2, says: ["--from and --to", "--batch"]),
        Mistake(
            call: "route --tiles TILES --from 60.17,24.94 --to 60.18,24.95 --depart noon", status: 2,
            says: ["'noon'", "--depart", "YYYY-MM-DDTHH:MM"]),
        Mistake(
            call: "route --tiles TILES --from 60.17,24.94 --to 60.18,24.95 --depart 2026-13-01T08:00", status: 2,
            says: ["'2026-13-01T08:00'", "--depart"]),
        Mistake(
            call: "route --tiles TILES --from 60.17,24.94 --to 60.18,24.95 --depart 2026-02-30T08:00", status: 2,
            says: ["'2026-02-30T08:00'", "--depart", "an existing day"]),
        Mistake(call: "map build text --out o --country ZZ", status: 2, says: ["--country ZZ", "ISO 3166-1"]),
        Mistake(
            call: "route --tiles TILES --from 60.17,24.94 --to 60.18,24.95 --profile truck --height 0", status: 2,
            says: ["--height", "0.5 to 10"]),
        Mistake(
            call: "route --tiles TILES --from 60.17,24.94 --to 60.18,24.95 --weight 18 --axle-load 30", status: 2,
            says: ["--axle-load", "--weight"]),
        Mistake(call: "route --tiles TILES --batch missing.csv", status: 1, says: ["missing.csv"]),
        Mistake(
            call: "route --tiles TILES --batch pairs.csv --format geojson", status: 2, says: ["--batch", "--format"]),
        Mistake(
            call: "route --tiles TILES --batch pairs.csv --language de", status: 2, says: ["--batch", "--language"]),
        Mistake(
            call: "route --tiles TILES --batch pairs.csv --units metric", status: 2, says: ["--batch", "--units"]),
        Mistake(call: "route --tiles TILES --batch pairs.csv", status: 1, says: ["pairs.csv", "line 2", "degrees"]),
        Mistake(call: "route --tiles TILES --batch text.csv", status: 1, says: ["text.csv", "from_lat,from_lon"]),
        Mistake(
            call: "route --tiles TILES --from 60.17,24.94 --to 60.18,24.95 --avoid trams", status: 2,
            says: ["trams", "tolls"]),
        Mistake(
            call: "route --tiles TILES --from 60.17,24.94 --to 60.18,24.95 --avoid tolls,,ferries", status: 2,
            says: ["tolls,,ferries", "separated by commas"]),
        Mistake(
            call: "simulate --tiles TILES --from 60.17,24.94 --to 60.175,24.945 --seed -1 --out o", status: 2,
            says: ["'-1'", "--seed", "a whole number from 0"]),
        Mistake(
            call: "simulate --tiles TILES --from 60.17,24.94 --to 60.17,24.94 --out o", status: 1, says: ["same place"]),
        Mistake(
            call: "simulate --tiles TILES --from 60.17,24.94 --to 60.175,24.945 --deviate-at 90000 --out o", status: 1,
            says: ["90000 m", "--deviate-at"]),
        Mistake(
            call: "simulate --tiles TILES --from 60.17,24.94 --to 60.175,24.945 --out o.bag", status: 2,
            says: ["o.bag", "ROS 1", "'o.mcap'"]),
        Mistake(
            call: "simulate --tiles TILES --from 60.17,24.94 --to 60.175,24.945 --rate 0 --out o", status: 2,
            says: ["--rate"]),
        Mistake(
            call: "simulate --tiles TILES --from 60.17,24.94 --to 60.175,24.945 --rate 1e-300 --out o", status: 2,
            says: ["--rate"]),
        Mistake(
            call: "simulate --tiles TILES --from 60.17,24.94 --to 60.175,24.945 --outage 9-3 --out o", status: 2,
            says: ["'9-3'", "START-END"]),
    ])
    func invalidPlaceIsReported(_ mistake: Mistake) async throws {
        try await withSandbox { box in
            try box.write("pairs.csv", "from_lat,from_lon,to_lat,to_lon\n60.17,24.94,north,24.95\n")
            try box.write("text.csv", "hello\n")
            try await check(mistake, in: box)
        }
    }

    @Test(.enabled(if: Project.hasOsmium, "needs Python with the package osmium: set NAVBUS_PYTHON"))
    func unreachableDestinationIsReported() async throws {
        try await withSandbox { box in
            try await box.succeed(Project.python, ["-c", Self.twoIslands, box.path + "/islands.osm.pbf"])
            try await box.succeed("navbus", ["map", "build", "islands.osm.pbf", "--out", "tiles"])
            let places = "--tiles tiles --from 60.1,24.905 --to 60.1,24.955"
            for call in ["route \(places)", "simulate \(places) --out o"] {
                try await check(Mistake(call: call, status: 1, says: ["no road leads to 60.1,24.955"]), in: box)
            }
        }
    }

    private static let twoIslands = """
        import sys, osmium
        from osmium.osm.mutable import Node, Way
        writer = osmium.SimpleWriter(sys.argv[1])
        for number, longitude in enumerate((24.90, 24.91, 24.95, 24.96), 1):
            writer.add_node(Node(id=number, location=(longitude, 60.1), version=1))
        for number, nodes in enumerate(([1, 2], [3, 4]), 1):
            writer.add_way(Way(id=number, nodes=nodes, tags={"highway": "residential"}, version=1))
        writer.close()
        """

    // MARK: Bags and traces

    @Test(arguments: [
        Mistake(call: "bag info text.mcap", status: 1, says: ["text.mcap", "not an MCAP file"]),
        Mistake(call: "bag info empty.mcap", status: 1, says: ["empty.mcap", "not an MCAP file"]),
        Mistake(call: "bag info missing.mcap", status: 1, says: ["missing.mcap", "No such file"]),
        Mistake(call: "bag play text.mcap", status: 1, says: ["text.mcap", "not an MCAP file"]),
        Mistake(call: "bag play hollow.mcap", status: 1, says: ["hollow.mcap", "no message"]),
        Mistake(call: "bag play DRIVE --topics /no --wait 0", status: 2, says: ["/gnss/fix"]),
        Mistake(call: "bag play DRIVE --rate 0", status: 2, says: ["--rate"]),
        Mistake(call: "bag play DRIVE --rate 1e300", status: 2, says: ["--rate"]),
        Mistake(call: "bag play DRIVE --start 5 --end 4", status: 2, says: ["--end"]),
        Mistake(call: "bag play DRIVE --remap /gnss/fix", status: 2, says: ["--remap /gnss/fix", "such as"]),
        Mistake(call: "replay text.mcap --tiles TILES --out o", status: 1, says: ["text.mcap", "not an MCAP file"]),
        Mistake(
            call: "replay DRIVE --tiles TILES --to 48.1,11.5 --out o", status: 1, says: ["no route was found", "48.1"]),
        Mistake(
            call: "replay poor.csv --tiles TILES --to 60.1765,24.9505 --out o", status: 1,
            says: ["no route was found", "2 were rejected", "/nav/fix_rejected"]),
        Mistake(call: "replay hollow.mcap --tiles TILES --out o", status: 1, says: ["hollow.mcap", "/gnss/fix"]),
        Mistake(call: "replay missing.csv --tiles TILES --out o", status: 1, says: ["missing.csv", "does it exist"]),
        Mistake(call: "replay text.csv --tiles TILES --out o", status: 1, says: ["text.csv", "lat"]),
        Mistake(call: "replay DRIVE --tiles TILES --out /nowhere/o", status: 1, says: ["/nowhere/o", "No such file"]),
        Mistake(call: "replay mine.mcap --tiles TILES --out ./mine.mcap", status: 2, says: ["mine.mcap", "--out"]),
        Mistake(call: "replay DRIVE --tiles TILES --out o --set tils=x", status: 2, says: ["'tils'", "'tiles'"]),
        Mistake(call: "replay DRIVE --tiles TILES --out o --set tiles=x", status: 2, says: ["--tiles DIR"]),
        Mistake(call: "bag record --out /nowhere/o", status: 1, says: ["/nowhere/o", "No such file"]),
        Mistake(call: "bag record --out o.bag", status: 2, says: ["o.bag", "ROS 1", "'o.mcap'"]),
        Mistake(call: "bag cut DRIVE -o o.db3", status: 2, says: ["o.db3", "ROS 2", "'o.mcap'"]),
        Mistake(call: "bag recover DRIVE -o o.bag", status: 2, says: ["o.bag", "'o.mcap'"]),
        Mistake(call: "replay DRIVE --tiles TILES --out o.BAG", status: 2, says: ["o.BAG", "'o.mcap'"]),
        Mistake(call: "bag record --out text.csv", status: 2, says: ["text.csv", "not a bag", "'text.mcap'"]),
        Mistake(call: "bag cut DRIVE -o new.txt", status: 2, says: ["new.txt", "'new.mcap'"]),
        Mistake(call: "bag record --out text.mcap", status: 1, says: ["text.mcap", "--overwrite"]),
        Mistake(call: "bag record --out o --split-mb 0", status: 2, says: ["--split-mb"]),
        Mistake(call: "bag record --out o --quota-mb 1", status: 2, says: ["--quota-mb must be from 2"]),
        Mistake(call: "bag record --out o --snapshot 5 --split-s 10", status: 2, says: ["--snapshot", "--split-s"]),
        Mistake(call: "bag record nav/ --out o", status: 2, says: ["'nav/'", "'/nav/*'"]),
        Mistake(call: "bag record --out o --attach missing", status: 1, says: ["missing"]),
        Mistake(call: "bag check hollow.mcap", status: 1, says: ["bag recover"]),
        Mistake(call: "bag recover text.mcap --out o", status: 1, says: ["text.mcap", "not an MCAP file"]),
        Mistake(call: "bag recover mine.mcap --out ./mine.mcap", status: 2, says: ["--out"]),
        Mistake(call: "match --tiles TILES text.csv", status: 1, says: ["text.csv", "lat"]),
        Mistake(call: "match --tiles TILES", status: 2, says: ["trace"]),
        Mistake(call: "match --tiles TILES DRIVE --lag 3", status: 2, says: ["--lag", "--format edges"]),
        Mistake(
            call: "match --tiles TILES DRIVE --format edges --predictions", status: 2, says: ["--predictions", "csv"]),
        Mistake(call: "match --tiles TILES DRIVE --out-dir /nowhere", status: 1, says: ["/nowhere"]),
        Mistake(
            call: "simulate --tiles TILES --from 60.17,24.94 --to 60.175,24.945 --out /nowhere/o", status: 1,
            says: ["/nowhere/o", "No such file"]),
    ])
    func invalidBagOrTraceIsReported(_ mistake: Mistake) async throws {
        try await withSandbox { box in
            try box.write("text.mcap", "hello world, this is not a bag\n")
            try box.write("text.csv", "hello world, this is not a trace\n")
            // Too inaccurate for the start of a route.
            try box.write("poor.csv", "t_s,lat,lon,h_acc_m\n0,60.17,24.94,500\n1,60.1701,24.94,500\n")
            try box.write("empty.mcap", "")
            let path = try await Town.shared.drive
            let drive = try #require(readBytes(path))
            try box.write("mine.mcap", drive)
            // Truncated inside its only chunk: nothing readable is left.
            try box.write("hollow.mcap", Array(drive[..<1_000]))
            try await check(mistake, in: box)
            #expect(readBytes(box.path + "/mine.mcap") == drive, "the input was overwritten")
        }
    }

    @Test func recoveryIsAdvisedOnlyForBags() async throws {
        try await withSandbox { box in
            try box.write("text.mcap", "hello world, this is not a bag\n")
            try box.write("empty.mcap", "")
            let check = try await box.run("navbus", ["bag", "check", "text.mcap", "empty.mcap"])
            #expect(check.status == 1 && check.errors.contains("2 of 2 bags have problems"), "\(check.errors)")
            #expect(!check.errors.contains("bag recover"), "\(check.errors)")
            // A bag that ends after its header has nothing to recover.
            let drive = try #require(readBytes(try await Town.shared.drive))
            let header = drive[9..<17].reversed().reduce(0) { $0 << 8 | Int($1) }
            try box.write("head.mcap", Array(drive[..<(17 + header)]))
            let recover = try await box.run("navbus", ["bag", "recover", "head.mcap", "--out", "o.mcap"])
            #expect(recover.status == 1 && recover.errors.contains("no message of 'head.mcap'"), "\(recover.errors)")
            #expect(readBytes(box.path + "/o.mcap") == nil)
        }
    }

    @Test func traceOfAnotherMapIsReported() async throws {
        try await withSandbox { box in
            try box.write("munich.csv", "t_s,lat,lon\n0,48.1635,11.5643\n1,48.1636,11.5644\n")
            let tiles = try await Town.shared.tiles
            let match = try await box.succeed("navbus", ["match", "munich.csv", "--tiles", tiles])
            let replay = try await box.run(
                "navbus", ["replay", "munich.csv", "--tiles", tiles, "--out", "o.mcap"])
            for run in [match, replay] {
                #expect(run.errors.contains("no position of 'munich.csv' lies within the map"), "\(run.errors)")
            }
            let line = try await box.succeed(
                "navbus", ["match", "munich.csv", "--tiles", tiles, "--format", "geojson"])
            #expect(line.output == #"{"type":"FeatureCollection","features":[]}"# + "\n")
            let home = try await box.succeed("navbus", ["match", try await Town.shared.drive, "--tiles", tiles])
            #expect(!home.errors.contains("lies within the map"))
        }
    }

    @Test func truncatedBagIsReadAsFarAsPossible() async throws {
        try await withSandbox { box in
            let whole = box.path + "/whole.mcap"
            let (tiles, drive) = (try await Town.shared.tiles, try await Town.shared.drive)
            try await box.succeed("navbus", ["replay", drive, "--tiles", tiles, "--to", Town.to, "--out", whole])
            let bytes = try #require(readBytes(whole))
            let before = try topicCounts(of: try await box.succeed("navbus", ["bag", "info", whole, "--json"]).output)
            let bag = try box.write("cut.mcap", Array(bytes[..<(bytes.count - 2_000)]))

            let info = try await box.succeed("navbus", ["bag", "info", bag])
            #expect(info.output.contains("no usable index"))
            let counts = try topicCounts(of: try await box.succeed("navbus", ["bag", "info", bag, "--json"]).output)
            let fixes = try #require(counts["/gnss/fix"])
            #expect(fixes > 0 && fixes <= before["/gnss/fix"] ?? 0)
            let replay = try await box.succeed(
                "navbus", ["replay", bag, "--tiles", tiles, "--out", "o.mcap", "--json"])
            #expect((try json(replay.output) as? [String: Any])?["fixes"] as? Int == fixes)
            let match = try await box.succeed("navbus", ["match", bag, "--tiles", tiles])
            for told in [replay, match] { #expect(told.errors.contains("'\(bag)' is damaged")) }
            try await box.succeed(
                "navbus", ["bag", "play", bag, "--rate", "1000", "--wait", "0", "--topics", "/gnss/fix"])
        }
    }

    // MARK: Nodes and their configuration

    @Test(arguments: [
        Mistake(tool: "navigation-node", call: "", status: 2, says: ["--set tiles=DIRECTORY"]),
        Mistake(
            tool: "navigation-node", call: "--set tiles=missing", status: 1, says: ["'missing'", "navbus map build"]),
        Mistake(tool: "navigation-node", call: "--set tils=x", status: 2, says: ["'tils'", "did you mean 'tiles'?"]),
        Mistake(tool: "navigation-node", call: "--set whatever=x", status: 2, says: ["'whatever'", "--print-config"]),
        Mistake(tool: "navigation-node", call: "--set tiles", status: 2, says: ["--set tiles", "such as"]),
        Mistake(
            tool: "navigation-node", call: "--set reroute.cooldown_s=-1", status: 2,
            says: ["'-1'", "'reroute.cooldown_s'", "0 … 600"]),
        Mistake(
            tool: "navigation-node", call: "--set destination=somewhere", status: 2,
            says: ["'somewhere'", "'destination'", "LAT,LON"]),
        Mistake(
            tool: "navigation-node", call: "--set tiles=TILES --set via=60.17,24.94", status: 2,
            says: ["via", "without a destination"]),
        Mistake(
            tool: "navigation-node", call: "--config twice.yaml", status: 2,
            says: ["twice.yaml", "'reroute.cooldown_s' twice"]),
        Mistake(
            tool: "navigation-node", call: "--config wrong.yaml", status: 2,
            says: ["'reroute.cooldwn_s'", "wrong.yaml", "'reroute.cooldown_s'"]),
        Mistake(tool: "navigation-node", call: "--config missing.yaml", status: 2, says: ["missing.yaml", "exist"]),
        Mistake(tool: "navigation-node", call: "--config broken.yaml", status: 2, says: ["broken.yaml", "YAML"]),
        Mistake(
            tool: "navigation-node", call: "", status: 2, says: ["'tilse'", "NAVIGATION_NODE_SET_TILSE", "'tiles'"],
            environment: ["NAVIGATION_NODE_SET_TILSE": "x"]),
        Mistake(
            tool: "navigation-node", call: "--name Node --set tiles=TILES", status: 2, says: ["'Node'", "a-z"]),
        Mistake(
            tool: "navigation-node", call: "--set tiles=TILES --remap fix:=/a", status: 2, says: ["fix:=/a", "such as"]),
        Mistake(tool: "navigation-node", call: "--tiles x", status: 2, says: ["--tiles", "navigation-node --help"]),
        Mistake(tool: "gnss-node", call: "", status: 2, says: ["no source", "--set source=gpsd://"]),
        Mistake(tool: "gnss-node", call: "--set source=missing.nmea", status: 1, says: ["missing.nmea", "exist"]),
        Mistake(
            tool: "gnss-node", call: "--set source=gpsd://host:port", status: 2,
            says: ["'gpsd://host:port'", "'source'", "gpsd://HOST:PORT"]),
        Mistake(tool: "gnss-node", call: "--set source=text", status: 1, says: ["text", "NMEA"]),
        Mistake(tool: "gnss-node", call: "--set source=x --set serial.baud=1", status: 2, says: ["'1'", "9600"]),
        Mistake(
            tool: "gnss-node", call: "--set source=text", status: 1, says: ["/proc/bus-of-nobody", "NAVBUS_DIR"],
            environment: ["NAVBUS_DIR": "/proc/bus-of-nobody"]),
        Mistake(
            tool: "gnss-node", call: "--set source=text", status: 1, says: ["107", "NAVBUS_DIR"],
            environment: ["NAVBUS_DIR": "/tmp/" + String(repeating: "x", count: 120)]),
    ])
    func invalidConfigurationIsReported(_ mistake: Mistake) async throws {
        try await withSandbox { box in
            try box.write("wrong.yaml", "reroute:\n  cooldwn_s: 5\n")
            try box.write("broken.yaml", "a: [1, 2\nb: }\n")
            try box.write("twice.yaml", "reroute: {cooldown_s: 7}\nreroute.cooldown_s: 8\n")
            try box.write("text", "hello world\n")
            try await check(mistake, in: box)
        }
    }

    @Test func nameConflictNamesTheOtherProcess() async throws {
        try await withSandbox { box in
            let tiles = try await Town.shared.tiles
            let first = try box.start("navigation-node", ["--set", "tiles=\(tiles)"])
            try await box.announces("/nav/progress", node: "navigation-node")
            let mistake = Mistake(
                tool: "navigation-node", call: "--set tiles=TILES", status: 1,
                says: ["'navigation-node' is in use by process", "another name"])
            try await check(mistake, in: box)
            #expect(first.exitStatus == nil)
            // Another name, and another domain, are free.
            let second = try box.start("navigation-node", ["--name", "second", "--set", "tiles=\(tiles)"])
            let third = try box.start(
                "navigation-node", ["--set", "tiles=\(tiles)"], environment: ["NAVBUS_DOMAIN": "other"])
            try await box.announces("/nav/progress", node: "second")
            try await box.announces("/nav/progress", node: "navigation-node", domain: "other")
            for node in [first, second, third] {
                node.send(SIGTERM)
                #expect(try await node.wait().status == 0)
            }
        }
    }

    // MARK: Calls

    @Test(arguments: [
        Mistake(call: "rout", status: 2, says: ["'rout'", "did you mean 'route'?"]),
        Mistake(call: "bag plya x", status: 2, says: ["'plya'", "'play'", "navbus bag --help"]),
        Mistake(call: "whatever", status: 2, says: ["'whatever'", "navbus --help"]),
        Mistake(call: "route --tils x", status: 2, says: ["--til", "navbus route --help"]),
        Mistake(
            call: "route --tiles x --from 1,1 --to 2,2 --format xml", status: 2,
            says: ["'xml'", "'json', 'geojson' or 'osrm'; see 'navbus route --help'"]),
        Mistake(call: "bag info", status: 2, says: ["<bag>", "navbus bag info --help"]),
        Mistake(call: "topic echo fix", status: 2, says: ["'fix'", "'/'"]),
        Mistake(call: "topic echo /no --timeout 0.2", status: 1, says: ["/no", "navbus topic list"]),
        Mistake(call: "topic echo /no --count 0", status: 2, says: ["--count"]),
        Mistake(call: "topic hz /no --duration=-1", status: 2, says: ["--duration"]),
        Mistake(call: "topic echo /no --field a[", status: 2, says: ["--field a["]),
        Mistake(call: "topic echo /no --filter a", status: 2, says: ["--filter a"]),
        Mistake(call: "topic echo /no --filter a>>1", status: 2, says: ["--filter a>>1"]),
        Mistake(call: "topic echo /no --filter a>fast", status: 2, says: ["--filter a>fast", "a number"]),
        Mistake(call: "topic echo /no --raw --pretty", status: 2, says: ["--raw"]),
        Mistake(call: "topic echo /no --descriptors missing", status: 1, says: ["missing", "protoc"]),
        Mistake(call: "topic echo /no --descriptors key.yaml", status: 1, says: ["key.yaml", "protobuf", "protoc"]),
        Mistake(call: "topic hz /no --duration 0.2", status: 1, says: ["/no", "no node publishes", "topic list"]),
        Mistake(call: "topic bw /gnss/fx --duration 0.2", status: 1, says: ["did you mean /gnss/fix?"]),
        Mistake(call: "topic delay /no --window 1", status: 2, says: ["--window"]),
        Mistake(call: "topic hz", status: 2, says: ["topics"]),
        Mistake(call: "topic info /no", status: 1, says: ["/no", "navbus topic list"]),
        Mistake(call: "topic info --type navbus.v1.Rout", status: 1, says: ["'navbus.v1.Route'", "topic info"]),
        Mistake(call: "topic pub /gnss/fix", status: 2, says: ["--file"]),
        Mistake(call: "topic pub /gnss/fix {", status: 2, says: ["navbus.v1.GnssFix", "character 2"]),
        Mistake(
            call: #"topic pub /gnss/fix {"latitud":1}"#, status: 2, says: ["'latitud'", "latitude, longitude"]),
        Mistake(call: "topic pub /no {}", status: 2, says: ["/no", "--type"]),
        Mistake(call: "topic pub /no {} --type x.Y", status: 2, says: ["'x.Y'", "--descriptors"]),
        Mistake(call: "topic pub /gnss/fix {} --type x.Y", status: 2, says: ["navbus.v1.GnssFix", "x.Y"]),
        Mistake(call: "topic pub /gnss/fix --file missing", status: 1, says: ["missing"]),
        Mistake(call: "topic pub /gnss/fix --file key.yaml", status: 2, says: ["key.yaml:1"]),
        Mistake(call: "topic pub /gnss/fix {} --rate 0", status: 2, says: ["--rate"]),
        Mistake(call: "service call Node", status: 2, says: ["'Node'", "SERVICE/METHOD"]),
        Mistake(call: "service call Nod/GetInfo", status: 1, says: ["'Nod'", "did you mean 'Node'?"]),
        Mistake(call: "service call Node/GetInf", status: 2, says: ["'GetInf'", "'GetInfo'"]),
        Mistake(call: "service call Node/GetInfo", status: 1, says: ["UNAVAILABLE", "navbus.v1.Node", "--wait"]),
        Mistake(call: "service call Node/GetInfo --node no", status: 1, says: ["'no'", "navbus node list"]),
        Mistake(call: "service call Node/GetSchema {\"type\":1}", status: 2, says: ["field type", "string"]),
        Mistake(call: "service call Node/GetInfo --timeout 0", status: 2, says: ["--timeout"]),
        Mistake(call: "service call Node/GetInfo --metadata x", status: 2, says: ["KEY=VALUE"]),
        Mistake(call: "service info Nowhere", status: 1, says: ["'Nowhere'", "navbus service list"]),
        Mistake(call: "node info no", status: 1, says: ["'no'", "navbus node list"]),
        Mistake(call: "node params no", status: 1, says: ["'no'", "navbus node list"]),
        Mistake(call: "node params no put x", status: 2, says: ["'put'", "get KEY"]),
        Mistake(call: "node params no set x", status: 2, says: ["'x'", "KEY=VALUE"]),
        Mistake(call: "doctor --peer x", status: 2, says: ["--peer x", "HOST:PORT"]),
        Mistake(call: "launch missing.yaml", status: 2, says: ["missing.yaml"]),
        Mistake(call: "launch key.yaml", status: 2, says: ["key.yaml:3:5", "\"executabel\"", "\"executable\""]),
        Mistake(call: "launch program.yaml", status: 2, says: ["program.yaml:3:", "no-such-program"]),
        Mistake(call: "launch argument.yaml", status: 2, says: ["argument.yaml:2:", "\"place\"", "place:=VALUE"]),
        Mistake(call: "launch argument.yaml place", status: 2, says: ["\"place\"", "NAME:=VALUE"]),
        Mistake(call: "launch argument.yaml plaec:=1 place:=1", status: 2, says: ["\"plaec\"", "place"]),
    ])
    func invalidCallIsReported(_ mistake: Mistake) async throws {
        try await withSandbox { box in
            try box.write("key.yaml", "nodes:\n  - name: a\n    executabel: x\n    executable: navbus\n")
            try box.write("program.yaml", "nodes:\n  - name: a\n    executable: no-such-program\n")
            try box.write(
                "argument.yaml",
                "arguments:\n  place: {description: where}\nnodes:\n  - {name: a, executable: navbus, args: [\"${place}\"]}\n"
            )
            try await check(mistake, in: box)
        }
    }
}
