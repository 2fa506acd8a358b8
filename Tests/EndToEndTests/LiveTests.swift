import Foundation
import NavTestSystem
import Testing

/// `navbus view` and `navbus bridge foxglove`: the bus in a browser, and in Foxglove.
struct LiveTests {
    private static let canSpeak = Python.has("google.protobuf, websockets")

    /// Starts a command that prints its address.
    private func serve(_ arguments: [String], in box: Sandbox) async throws -> (server: Program, address: String) {
        let server = try box.start("navbus", arguments + ["--listen", "127.0.0.1:0"])
        try await server.says("://127.0.0.1:")
        return (server, try #require(server.output.split(separator: "\n").first.map(String.init)))
    }

    /// Starts a node that drives through the town.
    @discardableResult
    private func drive(in box: Sandbox, rate: Int = 5) async throws -> Program {
        let node = try await navigate(in: box)
        try box.start(
            "navbus",
            ["bag", "play", try await Town.shared.drive, "--rate", "\(rate)", "--clock", "--subscribers", "1"])
        return node
    }

    private func navigate(in box: Sandbox) async throws -> Program {
        let node = try box.start(
            "navigation-node",
            [
                "--set", "tiles=\(try await Town.shared.tiles)", "--set", "destination=\(Town.to)", "--set",
                "sim_time=true",
            ])
        try await box.announces("/nav/position", node: "navigation-node")
        return node
    }

    private func client(_ name: String, _ arguments: [String], in box: Sandbox) throws -> Program {
        try box.start(Project.python, ["\(Project.root)/Tests/EndToEndTests/\(name)"] + arguments)
    }

    @Test func pageIsServedToThisMachineOnly() async throws {
        try await withSandbox { box in
            let (server, address) = try await serve(["view", "--tiles", try await Town.shared.tiles], in: box)
            try await drive(in: box)
            let answers = [
                ([], "200"), (["-H", "Host: evil.example"], "403"), (["-H", "Host: 192.0.2.7"], "403"),
                (["-H", "Host: localhost:1"], "200"), (["-H", "Host: 127.3.4.5"], "200"),
                (["-H", "Host: [::1]:2"], "200"),
                (["-H", "Host:"], "403"), (["-H", "Origin: http://evil.example"], "403"),
                (["-H", "Origin: null"], "403"), (["-H", "Origin: http://localhost:3000"], "200"),
                (["-H", "Origin: http://localhost.evil.example"], "403"), (["-X", "POST"], "405"), (["-I"], "200"),
            ]
            for (options, status) in answers {
                let answer = try await box.succeed(
                    "/usr/bin/curl", ["-s", "-o", "/dev/null", "-w", "%{http_code}"] + options + [address])
                #expect(answer.output == status, "\(options)")
            }
            // A page that missed too many updates, or that belongs to an earlier process, has to reload. Other pages get the
            // updates.
            for known in ["0", "999999", "99999999999999", "x"] {
                let stale = try await box.run(
                    "/usr/bin/curl", ["-sN", "--max-time", "2", address + "news?after=\(known)"])
                #expect(stale.output.hasPrefix("event: reset"), "\(known)")
            }
            let page = try await box.succeed("/usr/bin/curl", ["-s", address]).output
            let number = try #require(page.firstMatch(of: #/"live":(\d+)/#)?.1)
            let news = try await box.run("/usr/bin/curl", ["-sN", "--max-time", "5", address + "news?after=\(number)"])
            #expect(news.output.contains("\"positions\"") && news.output.contains("navigation-node"))
            server.send(SIGTERM)
            #expect(try await server.wait().status == 0)
            let open = try await box.run("navbus", ["view", "--listen", "0.0.0.0:0"])
            #expect(open.status == 2 && open.errors.contains("--allow-remote"), "\(open.errors)")
            let wrong = try await box.run("navbus", ["view", "--listen", "8800"])
            #expect(wrong.status == 2 && wrong.errors.contains("HOST:PORT"), "\(wrong.errors)")
        }
    }

    @Test func remoteAccessRefusesForeignHostNames() async throws {
        try await withSandbox { box in
            let server = try box.start("navbus", ["view", "--listen", "0.0.0.0:0", "--allow-remote"])
            try await server.says("://0.0.0.0:")
            let port = try #require(server.output.firstMatch(of: #/:(\d+)/#)?.1)
            // A foreign host name that resolves to this machine (DNS rebinding) is refused.
            for (host, status) in [("192.0.2.7", "200"), ("[2001:db8::1]", "200"), ("evil.example", "403")] {
                let answer = try await box.succeed(
                    "/usr/bin/curl",
                    [
                        "-s", "-o", "/dev/null", "-w", "%{http_code}", "-H", "Host: \(host):\(port)", "-H",
                        "Origin: http://\(host):\(port)", "http://127.0.0.1:\(port)/",
                    ])
                #expect(answer.output == status, "\(host)")
            }
        }
    }

    @Test(.needsBrowser)
    func aBrowserFollowsTheDrive() async throws {
        try await withSandbox { box in
            let (server, address) = try await serve(["view", "--tiles", try await Town.shared.tiles], in: box)
            // The page opens before data exists, follows the drive, pauses at a moment, and returns to the present.
            let browser = try Browser.follow(
                address,
                until: [
                    "document.documentElement.dataset.live === 'live'",
                    "page.runs[0].positions.t.length > 20 && document.querySelectorAll('.route').length > 0",
                    "page.nodes.some((node) => node.name === 'navigation-node' && node.topics.some((t) => t.rate > 0.5))",
                    // The player publishes no health reports.
                    "page.nodes.some((node) => node.name === 'player' && node.reason.includes('no health') "
                        + "&& ['/gnss/fix', '/clock'].every((name) => node.topics.some((t) => t.topic === name && t.rate > 0.5)))",
                    "page.map !== null && page.t === page.duration && (page.seek(3000), page.duration > 0)",
                    "window.moment = window.moment || page.duration, page.t === 3000 && page.duration > moment + 5000",
                    "page.play(), page.openList('nodes'), true",
                    "window.later = window.later || page.duration, page.duration > later && page.t === page.duration",
                    // The last state of a node is that of the present.
                    "(page.runs[0].nodes[0].states.push({ t: page.duration, state: 3, reason: '' }), page.plots.build(), "
                        + "page.plots.plots.find((p) => p.spec.name === 'health').spec.read(page.duration).includes('lost'))",
                    // A step line reaches the last value before a gap.
                    "seriesPath([0, 1000, 60000], [5, 5, 8], [0, 60000], 100, (t) => t / 1000, (v) => v, true) "
                        + "=== 'M0.0 5.0H1.0M60.0 8.0H60.0'",
                ], in: box)
            // A low rate, so that the drive does not end before the last condition is met.
            try await drive(in: box, rate: 2)
            let page = try await Browser.page(of: browser)
            #expect(page.console.isEmpty, "\(page.console)")
            let dom = page.document
            #expect(dom.contains("data-ready=\"true\"") && dom.contains("class=\"vehicle runA\""))
            #expect(page.times.isTextFirst)
            #expect(dom.contains("class=\"route ") && dom.contains("class=\"trace runA measured\""))
            for plot in ["speed", "offset", "deviation", "eta", "latency", "health"] {
                #expect(dom.contains("data-plot=\"\(plot)\""), "\(plot)")
            }
            #expect(dom.contains("aria-label=\"Go to the present\"") && dom.contains("data-node=\"navigation-node\""))
            #expect(try #/\/nav\/position<\/th><td class="number">\d+\.\d Hz/#.firstMatch(in: dom) != nil)
            server.send(SIGTERM)
            #expect(try await server.wait().status == 0)
        }
    }

    @Test(.enabled(if: canSpeak, "SKIPPED: needs Python with google.protobuf and websockets"))
    func aClientOfFoxglovesProtocolReadsTheDrive() async throws {
        try await withSandbox { box in
            let (server, address) = try await serve(["bridge", "foxglove"], in: box)
            let client = try client("foxglove_client.py", [address], in: box)
            // The drive starts after both connections exist, so that it does not end before.
            try await client.says("is connected", times: 2)
            let node = try await drive(in: box)
            try await client.says("reads the drive")
            node.send(SIGTERM)
            try await client.says("/nav/position is withdrawn")
            _ = try await navigate(in: box)
            try await client.says("refuses a stranger's page")
            server.send(SIGTERM)
            #expect(try await server.wait().status == 0)
            let result = try await client.wait()
            #expect(result.status == 0, "\(result.errors)")
            for line in [
                "/gnss/fix navbus.v1.GnssFix", "/nav/position navbus.v1.MatchedPosition",
                "/foxglove/fix foxglove.LocationFix", "/foxglove/route foxglove.GeoJSON", "answers pings",
                "refuses to publish", "/nav/position is back", "closes with 1001",
            ] {
                #expect(result.output.contains(line), "\(line) in \(result.output)")
            }
        }
    }

    @Test(.enabled(if: canSpeak && Python.has("foxglove"), "SKIPPED: needs Python with foxglove-sdk and websockets"))
    func theSameClientReadsFromFoxglovesOwnServer() async throws {
        try await withSandbox { box in
            let result = try await client("foxglove_client.py", ["--reference"], in: box).wait()
            #expect(result.status == 0 && result.output.contains("own server"), "\(result.errors)")
        }
    }

    @Test(.enabled(if: canSpeak, "SKIPPED: needs Python with google.protobuf and websockets"))
    func misbehavingClientsDoNotAffectOthers() async throws {
        try await withSandbox { box in
            let (bridge, socket) = try await serve(["bridge", "foxglove"], in: box)
            let text = String(repeating: "x", count: 4_000)
            try box.start(
                "navbus", ["topic", "pub", "/log", "{\"node\":\"a\",\"text\":\"\(text)\"}", "--rate", "4000"])
            let (view, page) = try await serve(["view"], in: box)
            for (server, address, path) in [(view, page, ""), (bridge, socket, "ws")] {
                let address = address.drop { $0 != "/" }.filter { $0 != "/" }
                let result = try await client("web_abuse.py", [address, path, "\(server.id)"], in: box).wait()
                #expect(result.status == 0, "\(result.output)\(result.errors)")
                #expect(result.output.contains("bad requests are refused"))
                #expect(result.output.contains("unread answers hold back further requests"))
                #expect(path.isEmpty || result.output.contains("a mute client is disconnected"), "\(result.output)")
                server.send(SIGTERM)
                #expect(try await server.wait().status == 0, "\(server.errors)")
            }
        }
    }
}
