import Foundation
import NavTestSystem
import Testing

/// `navbus view` and `navbus bridge foxglove`: the bus in a browser, and in Foxglove.
struct LiveTests {
    private static let canSpeak = Python.has("google.protobuf, websockets")

    /// Starts a command that prints its address, and a node that drives.
    private func serve(_ arguments: [String], in box: Sandbox) async throws -> (server: Program, address: String) {
        let server = try box.start("navbus", arguments + ["--port", "0"])
        try await server.says("://127.0.0.1:")
        let address = try #require(server.output.split(separator: "\n").first.map(String.init))
        try box.start(
            "navigation-node",
            [
                "--set", "tiles=\(try await Town.shared.tiles)", "--set", "destination=\(Town.to)", "--set",
                "sim_time=true",
            ])
        try await box.announces("/nav/position", node: "navigation-node")
        try box.start(
            "navbus", ["bag", "play", try await Town.shared.drive, "--rate", "5", "--clock", "--subscribers", "1"])
        return (server, address)
    }

    @Test func thePageIsForThisMachineAlone() async throws {
        try await withSandbox { box in
            let (server, address) = try await serve(["view", "--tiles", try await Town.shared.tiles], in: box)
            let answers = [
                ([], "200"), (["-H", "Host: evil.example"], "403"), (["-H", "Origin: http://evil.example"], "403"),
                (["-H", "Host: localhost:1"], "200"), (["-X", "POST"], "405"), (["-H", "Host:"], "403"),
            ]
            for (headers, status) in answers {
                let answer = try await box.succeed(
                    "/usr/bin/curl", ["-s", "-o", "/dev/null", "-w", "%{http_code}"] + headers + [address])
                #expect(answer.output == status, "\(headers)")
            }
            // What is new comes as events, and a page of an earlier run is told to load again.
            let news = try await box.run("/usr/bin/curl", ["-sN", "--max-time", "5", address + "news?after=0"])
            #expect(news.output.contains("\"positions\"") && news.output.contains("navigation-node"))
            let stale = try await box.run("/usr/bin/curl", ["-sN", "--max-time", "2", address + "news?after=999999"])
            #expect(stale.output.hasPrefix("event: reset"))
            server.send(SIGTERM)
            #expect(try await server.wait().status == 0)
            let open = try await box.run("navbus", ["view", "--host", "0.0.0.0", "--port", "0"])
            #expect(open.status == 2 && open.errors.contains("--allow-remote"))
        }
    }

    @Test(.enabled(if: Browser.path != nil, "needs Chromium (Debian's package chromium): the page is not looked at"))
    func aBrowserFollowsTheDrive() async throws {
        try await withSandbox { box in
            let (_, address) = try await serve(["view", "--tiles", try await Town.shared.tiles], in: box)
            let page = try await Browser.open(address, in: box, seconds: 12)
            #expect(page.console.isEmpty, "\(page.console)")
            #expect(page.document.contains("data-live=\"live\""))
            #expect(page.document.contains("class=\"route ") && page.document.contains("class=\"trace runA measured\""))
            #expect(page.document.contains("data-plot=\"speed\"") && page.document.contains("Nodes</button>"))
        }
    }

    @Test(.enabled(if: canSpeak, "needs Python with google.protobuf and websockets"))
    func aClientOfFoxglovesProtocolReadsTheDrive() async throws {
        try await withSandbox { box in
            let (server, address) = try await serve(["bridge", "foxglove"], in: box)
            let client = try await box.run(
                Project.python, [Project.root + "/Tests/EndToEndTests/foxglove_client.py", address])
            #expect(client.status == 0, "\(client.errors)")
            for line in [
                "foxglove.sdk.v1", "/gnss/fix navbus.v1.GnssFix", "/nav/position navbus.v1.MatchedPosition",
                "/foxglove/fix foxglove.LocationFix", "/foxglove/route foxglove.GeoJSON", "refused a publication",
                "refused a stranger's page",
            ] {
                #expect(client.output.contains(line), "\(line) in \(client.output)")
            }
            server.send(SIGTERM)
            #expect(try await server.wait().status == 0)
        }
    }
}
