import Foundation
import NavTestSystem
import Testing

/// `navbus report`: the page of a drive as shown by a browser.
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
            // Small enough that the page of an hour of driving stays below three megabytes.
            #expect(page.utf8.count < 400_000)
            #expect(page.contains("Unioninkatu"))
            // Without tiles the page has no map. A trace is as valid an input as a bag.
            try await box.succeed("navbus", ["report", "drive.mcap", "--out", "bare.html"])
            try box.write("trace.csv", "t_s,lat,lon,speed_mps\n1767258000,60.17,24.94,5\n1767258001,60.1701,24.94,5\n")
            try await box.succeed("navbus", ["report", "trace.csv", "--out", "trace.html"])
        }
    }

    /// Incomplete tiles, as in the folder of a tile cache.
    @Test func reportShowsTheRoadsOfTheAvailableTiles() async throws {
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

    @Test(.needsBrowser)
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
            // The instructions are a list in which the current one is marked; the readout shows the road.
            #expect(dom.contains("Turn right onto Simonkatu") && dom.contains("aria-current=\"true\""))
            #expect(dom.contains("<div class=\"road\">Mannerheimintie"))
            #expect(dom.contains("© OpenStreetMap contributors"))
            // The plots have their statistics as text for screen readers.
            #expect(try #/aria-label="Speed\. [^"]*median \d+/#.firstMatch(in: dom) != nil)
        }
    }

    @Test(.needsBrowser)
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

    @Test(.needsBrowser)
    func aBrowserDrawsTheDemoInEachWidthAndTheme() async throws {
        try await withSandbox { box in
            try FileManager.default.createSymbolicLink(
                atPath: box.path + "/tiles", withDestinationPath: try await Town.shared.tiles)
            // Unlike the bag of a replay, the recording has latencies and health.
            try await box.succeed(
                "navbus",
                [
                    "launch", Project.root + "/launch/demo.yaml", "work:=\(box.path)", "destination:=\(Town.to)",
                    "drive:=\(try await Town.shared.drive)", "rate:=25",
                ])
            try await box.succeed("navbus", ["report", "recording.mcap", "--tiles", "tiles", "--out", "demo.html"])
            for (width, theme, isDark) in [(390, "dark", "1"), (820, "light", "0"), (1_440, "dark", "1")] {
                let picture = "\(box.path)/\(width).png"
                let page = try await Browser.show(
                    "file://\(box.path)/demo.html",
                    ["--width", "\(width)", "--theme", theme, "--screenshot", picture],
                    until: [
                        "document.documentElement.dataset.ready === 'true'",
                        "performance.getEntriesByName('first-contentful-paint').length === 1",
                        // Nothing is wider than the window.
                        "innerWidth === \(width) && document.documentElement.scrollWidth === \(width)",
                        "getComputedStyle(document.documentElement).getPropertyValue('--dark').trim() === '\(isDark)'",
                        "['speed', 'offset', 'deviation', 'eta', 'latency'].every((name) => "
                            + "document.querySelector(`[data-plot=${name}] .series.runA`).getAttribute('d').length > 50)",
                        "document.querySelectorAll('[data-plot=health] .span.health1').length > 0",
                        "document.querySelectorAll('.route').length === 2",
                        "document.querySelector('.trace.measured').getAttribute('d').length > 1000",
                        "document.querySelectorAll('#marks [data-t]').length > 10",
                    ], in: box)
                #expect(page.console.isEmpty, "\(page.console)")
                #expect(page.times.paint != nil && page.times.drawn != nil && page.times.isTextFirst)
                // A PNG has its width in bytes 16 to 19.
                let image = [UInt8](try Data(contentsOf: URL(fileURLWithPath: picture)))
                #expect(image.count > 10_000 && image[16..<20].reduce(0) { $0 << 8 | Int($1) } == width)
            }
        }
    }

    @Test(.needsBrowser)
    func mapAndPlotsShowTheSoughtMoment() async throws {
        try await withSandbox { box in
            let tiles = try await Town.shared.tiles
            try await Self.replay(in: box, tiles, to: "drive.mcap")
            try await box.succeed("navbus", ["report", "drive.mcap", "--tiles", tiles, "--out", "drive.html"])
            let page = try await Browser.show(
                "file://\(box.path)/drive.html",
                until: [
                    "document.documentElement.dataset.ready === 'true'",
                    // A row of the list seeks outside the visible part of map and plots.
                    "page.seek(0), page.view.setFollow(true), page.view.zoom(8), page.view.setFollow(false), "
                        + "page.plots.zoom(0.2, 0), page.rows[page.rows.length - 1].button.click(), "
                        + "page.t > 300000 && page.view.isInView(page.view.vehicle, 0) "
                        + "&& page.plots.plots[0].cursor.style.display === ''",
                    // The keyboard moves the map; playback does not move it back.
                    "[...'dddddddd'].forEach((key) => dispatchEvent(new KeyboardEvent('keydown', { key }))), "
                        + "!page.view.isInView(page.view.vehicle, 0)",
                    "page.seek(page.t + 100, true), !page.view.isInView(page.view.vehicle, 0)",
                    // A link to a moment works in an open page, too.
                    "location.hash = 't=150', page.t === 150000",
                    // Screen readers get the displayed values as text.
                    #"/^2:30 of \d:\d\d, \d+ km\/h, limit \d+, .*Mannerheimintie/.test("#
                        + "document.getElementById('timeline').getAttribute('aria-valuetext'))",
                    // Zoomed plots keep their part of the drive, whatever the size of the page and during playback,
                    // until a moment is chosen.
                    "page.plots.zoomOut(), page.seek(0), page.plots.zoom(0.2, 300000), page.plots.draw(), page.seek(100, true), "
                        + "page.plots.window[0] > 200000 && page.plots.plots[0].cursor.style.display === 'none'",
                    "page.seek(200), page.plots.window[0] === 0 && page.plots.plots[0].cursor.style.display === ''",
                    // Playback scrolls the plots to the next part.
                    "page.plots.zoomOut(), page.seek(0), page.plots.zoom(0.2, 0), page.seek(page.plots.window[1] + 100, true), "
                        + "page.plots.window[0] > 0 && page.plots.plots[0].cursor.style.display === ''",
                    "page.nextRate(), document.getElementById('rate').getAttribute('aria-label') === 'Playback rate 30×'",
                    "[-10000, -5000, 0.25].map(axisNumber).join() === '−10k,−5k,0.25'",
                ], in: box)
            #expect(page.console.isEmpty, "\(page.console)")
        }
    }

    @Test(.needsBrowser)
    func mapShowsTheFixesAndRejectedFixesOfBothRuns() async throws {
        try await withSandbox { box in
            let tiles = try await Town.shared.tiles
            try await box.succeed("navbus", ["bag", "convert", try await Town.shared.drive, "--out", "a.csv"])
            // In the second run, the fix after 150 s is displaced by 2 km.
            var lines = try #require(readFile(box.path + "/a.csv")).split(separator: "\n").map(String.init)
            var columns = lines[151].components(separatedBy: ",")
            columns[1] = "60.1876"
            lines[151] = columns.joined(separator: ",")
            try box.write("b.csv", lines.joined(separator: "\n") + "\n")
            for name in ["a", "b"] {
                try await box.succeed(
                    "navbus",
                    ["replay", "\(name).csv", "--tiles", tiles, "--to", Town.to, "--out", "\(name).mcap"])
            }
            try await box.succeed(
                "navbus", ["report", "a.mcap", "--against", "b.mcap", "--tiles", tiles, "--out", "both.html"])
            let page = try await Browser.show(
                "file://\(box.path)/both.html",
                until: [
                    "document.documentElement.dataset.ready === 'true'",
                    "page.runs.map((run) => run.rejected.messages).join() === '0,1'",
                    // Returns the name of the colour to the right of a place, on a map without roads.
                    """
                    window.colour = (x, y, right) => {
                      const view = page.view, copy = make("canvas").getContext("2d", { willReadFrequently: true });
                      Object.assign(view.view, { x, y, scale: 8 });
                      Object.assign(view.shows, { roads: false, sigma: false });
                      view.draw();
                      copy.drawImage(view.canvas, -Math.floor(view.canvas.width / 2) - right, -Math.floor(view.canvas.height / 2));
                      const pixel = copy.getImageData(0, 0, 1, 1).data;
                      const away = (name) => [1, 3, 5].reduce((sum, i, k) => (
                        sum + Math.abs(parseInt(view.colours[name].slice(i, i + 2), 16) - pixel[k])), 0);
                      return ["land", "fix", "bad", "runB"].sort((a, b) => away(a) - away(b))[0];
                    }, true
                    """,
                    // A fix of both runs has both colours; a fix of the first run only that run's colour.
                    "[a, b] = page.runs.map((run) => run.fixes), i = a.t.indexOf(149000), "
                        + "b.x[b.t.indexOf(149000)] === a.x[i] "
                        + "&& [0, 3, 9].map((d) => colour(a.x[i], a.y[i], d)).join() === 'fix,runB,land'",
                    "i = a.t.indexOf(150000), b.y[b.t.indexOf(150000)] !== a.y[i] "
                        + "&& [0, 3].map((d) => colour(a.x[i], a.y[i], d)).join() === 'fix,land'",
                    // The same holds for rejected fixes.
                    "r = page.runs[1].rejected, [0, 2, 9].map((d) => colour(r.x[0], r.y[0], d)).join() === 'runB,runB,land'",
                    "page.runs[0].rejected = r, [0, 2, 9].map((d) => colour(r.x[0], r.y[0], d)).join() === 'bad,runB,land'",
                    "page.view.shows.fixes = false, colour(r.x[0], r.y[0], 0) === 'land'",
                    // The readout names the run.
                    "page.seek(140000), [...document.querySelectorAll('#readout .which')].map((e) => e.textContent).join() === 'A,B'",
                    "['A', 'B'].every((run) => ['speed', 'road'].every((part) => "
                        + "document.querySelector(`#readout .run${run} .${part}`)))",
                    #"/^2:20 of \d:\d\d, A: \d+ km\/h, .+; B: \d+ km\/h, /.test("#
                        + "document.getElementById('timeline').getAttribute('aria-valuetext'))",
                    "page.help(), document.querySelectorAll('.fixB, .rejectedB').length === 2",
                ], in: box)
            #expect(page.console.isEmpty, "\(page.console)")
        }
    }

    @Test(.needsBrowser)
    func mapAndTimelineShowReceiverSwitchesAndRefusals() async throws {
        try await withSandbox { box in
            let tiles = try await Town.shared.tiles
            try await Self.replay(in: box, tiles, to: "drive.mcap")
            try await box.succeed("navbus", ["report", "drive.mcap", "--tiles", tiles, "--out", "drive.html"])
            let page = try await Browser.show(
                "file://\(box.path)/drive.html",
                until: [
                    "document.documentElement.dataset.ready === 'true'",
                    // Warnings at the time of a more severe event, and at times without one.
                    """
                    events = page.runs[0].events, at = events.findIndex((e) => e.kind === "reroute" && weight(e) === 2),
                    trouble = events[at].t, ticks = () => document.querySelectorAll("#timeline .tickmark").length,
                    first = ticks(), firstBad = document.querySelectorAll("#timeline .tickmark.bad").length,
                    events.splice(at, 0, { t: trouble, kind: "policy", text: "policy SHOULD_REROUTE: NO by CLIENT" }),
                    events.push(
                      { t: 25000, kind: "receiver", text: "receiver 'front'" },
                      { t: 35000, kind: "receiver", text: "receiver 'rear' instead of 'front' (BETTER)" },
                      { t: 45000, kind: "policy", text: "policy SHOULD_REROUTE: YES by CLIENT" },
                      { t: 55000, kind: "policy", text: "policy ACCEPT_FASTER_ROUTE: NO by RECORDED" },
                      { t: 65000, kind: "policy", text: "policy SHOULD_DISCARD_FIX: NO by CLIENT" }),
                    page.view.buildMarks(), page.view.draw(), page.timeline.draw(), true
                    """,
                    "[25, 35, 45, 55, 65].filter((s) => document.querySelector(`#marks .event.warn[data-t='${s}000']`)).join() "
                        + "=== '35,55'",
                    "['receiver', 'policy'].every((kind) => "
                        + "document.querySelectorAll(`#timeline .warn[data-event=${kind}]`).length === 1)",
                    "ticks() === first + 2 && document.querySelectorAll('#timeline .tickmark.bad').length === firstBad",
                    // On the map, too, the more severe event is drawn above the other.
                    "marks = [...document.querySelectorAll(`#marks .event[data-t='${trouble}']`)], "
                        + "marks.length > 1 && marks.every((mark) => mark.classList.contains('bad') || mark.style.display === 'none')",
                    "page.seek(34000), page.jump(1), page.t === 35000",
                ], in: box)
            #expect(page.console.isEmpty, "\(page.console)")
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
