import Foundation
import NavTestSystem
import Testing

/// `navbus report`: the page of a drive, as a browser shows it.
struct ReportTests {
    @Test func reportIsOneReproduciblePage() async throws {
        try await withSandbox { box in
            let tiles = try await Town.shared.tiles
            try await Self.replay(in: box, tiles, to: "drive.mcap")
            for name in ["one.html", "two.html"] {
                try await box.succeed("navbus", ["report", "drive.mcap", "--tiles", tiles, "--out", name])
            }
            let page = try #require(readFile(box.path + "/one.html"))
            #expect(page == readFile(box.path + "/two.html"))
            // The page of an hour of driving stays below three megabytes.
            #expect(page.utf8.count < 400_000)
            #expect(page.contains("Unioninkatu"))
            // Without tiles the page has no map; a trace works as well as a bag.
            try await box.succeed("navbus", ["report", "drive.mcap", "--out", "bare.html"])
            try box.write("trace.csv", "t_s,lat,lon,speed_mps\n1767258000,60.17,24.94,5\n1767258001,60.1701,24.94,5\n")
            try await box.succeed("navbus", ["report", "trace.csv", "--out", "trace.html"])
        }
    }

    /// As from the folder of a tile cache.
    @Test func reportShowsTheRoadsOfThePresentTiles() async throws {
        try await withSandbox { box in
            let (tiles, drive) = (try await box.copyTiles(), try await Town.shared.drive)
            let list = try json(try #require(readFile(tiles + "/tileset.json"))) as? [String: Any]
            let files = try #require(list?["tiles"] as? [[String: Any]]).compactMap { $0["file"] as? String }
            for (index, file) in files.enumerated() {
                try FileManager.default.removeItem(atPath: "\(tiles)/\(file)")
                let report = ["report", drive, "--tiles", tiles, "--out", "drive.html"]
                let result = try await box.succeed("navbus", report)
                #expect(result.errors.contains("lacks the roads of \(index + 1) tiles"), "\(result.errors)")
            }
        }
    }

    @Test func recordingWithoutADriveIsRefused() async throws {
        try await withSandbox { box in
            try box.write("empty.csv", "t_s,lat,lon\n")
            try box.write("noise.mcap", [UInt8](repeating: 0x89, count: 5_000))
            for (arguments, words) in [
                (["empty.csv", "--out", "a.html"], "has no position"),
                (["noise.mcap", "--out", "a.html"], "noise.mcap"),
                (["gone.mcap", "--out", "a.html"], "gone.mcap"),
                (["empty.csv", "--out", "empty.csv"], "is an input recording"),
            ] {
                let result = try await box.run("navbus", ["report"] + arguments)
                #expect([1, 2].contains(result.status) && result.errors.contains(words), "\(result.errors)")
                #expect(!FileManager.default.fileExists(atPath: box.path + "/a.html"))
            }
        }
    }

    @Test(.enabled(if: Browser.path != nil, "SKIPPED: needs Chromium (Debian's package chromium)"))
    func aBrowserShowsTheDrive() async throws {
        try await withSandbox { box in
            let tiles = try await Town.shared.tiles
            try await Self.replay(in: box, tiles, to: "drive.mcap")
            try await box.succeed("navbus", ["report", "drive.mcap", "--tiles", tiles, "--out", "drive.html"])
            let page = try await Browser.open("file://\(box.path)/drive.html#t=150", in: box)
            #expect(page.console.isEmpty, "\(page.console)")
            let dom = page.document
            #expect(dom.contains("data-ready=\"true\""))
            #expect(dom.ranges(of: "class=\"route ").count == 2)
            #expect(dom.contains("class=\"trace runA measured\"") && dom.contains("class=\"trace offroute\""))
            for plot in ["speed", "offset", "deviation", "eta"] {
                #expect(dom.contains("data-plot=\"\(plot)\""), "\(plot)")
            }
            #expect(dom.contains("data-event=\"reroute\"") && dom.contains("data-event=\"arrival\""))
            // The instructions are a list with the current one marked; the readout has the road.
            #expect(dom.contains("Turn right onto Simonkatu") && dom.contains("aria-current=\"true\""))
            #expect(dom.contains("<div class=\"road\">Mannerheimintie"))
            #expect(dom.contains("© OpenStreetMap contributors"))
            // Screen readers get the numbers of the plots.
            #expect(try #/aria-label="Speed\. [^"]*median \d+/#.firstMatch(in: dom) != nil)
        }
    }

    @Test(.enabled(if: Browser.path != nil, "SKIPPED: needs Chromium (Debian's package chromium)"))
    func browserShowsTheDifferences() async throws {
        try await withSandbox { box in
            let tiles = try await Town.shared.tiles
            try await Self.replay(in: box, tiles, to: "a.mcap")
            try await Self.replay(in: box, tiles, ["--set", "deviation.debounce_s=12"], to: "b.mcap")
            try await box.succeed(
                "navbus", ["report", "a.mcap", "--against", "b.mcap", "--tiles", tiles, "--out", "both.html"])
            let page = try await Browser.open("file://\(box.path)/both.html", in: box)
            #expect(page.console.isEmpty, "\(page.console)")
            #expect(page.document.contains("class=\"sign moved\"") && page.document.contains("class=\"changemark\""))
            #expect(page.document.contains("trace runB measured"))
        }
    }

    private static func replay(
        in box: Sandbox, _ tiles: String, _ more: [String] = [], to bag: String
    ) async throws {
        try await box.succeed(
            "navbus",
            ["replay", try await Town.shared.drive, "--tiles", tiles, "--to", Town.to, "--out", bag] + more)
    }
}
