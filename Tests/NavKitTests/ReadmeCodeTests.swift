import Foundation
import Logging
import NavBus
import NavGeo
import NavKit
import NavMessages
import NavTestBus
import Testing

/// The README's code, which must equal that of compiled files; `NAVBUS_REWRITE=1` rewrites it.
@Suite(.serialized)
struct ReadmeCodeTests {
    private static let readme = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("README.md")

    @Test(arguments: ["Tests/NavKitTests/SpeedWatch.swift"])
    func readmeCodeMatchesItsFile(_ file: String) throws {
        let root = Self.readme.deletingLastPathComponent()
        let code = try String(contentsOf: root.appendingPathComponent(file), encoding: .utf8)
        var text = try String(contentsOf: Self.readme, encoding: .utf8)
        let start = try #require(text.firstRange(of: "<!-- file \(file) -->\n")).upperBound
        let end = try #require(text[start...].firstRange(of: "<!-- /file -->\n")).lowerBound
        let block = "```swift\n\(code)```\n"
        if ProcessInfo.processInfo.environment["NAVBUS_REWRITE"] == "1" {
            text.replaceSubrange(start..<end, with: block)
            try text.write(to: Self.readme, atomically: true, encoding: .utf8)
        } else {
            #expect(text[start..<end] == block, "\(file) differs from the README's copy: run with NAVBUS_REWRITE=1")
        }
    }

    @Test func readmeNodeWarns() throws {
        let network = InProcessNetwork(pipeDepth: 64)
        let peer = try InProcessBus(name: "peer", network: network)
        let vehicle = NodeLink(peer, log: NodeLog(node: "peer", level: .critical))
        _ = try peer.subscribe(to: "/log")
        let runner = try NodeRunner<SpeedWatch>(
            try InProcessBus(name: "speed-watch", network: network),
            configuration: RunConfiguration(NoConfiguration()),
            log: NodeLog(node: "speed-watch", level: .warning, isWrittenToStandardError: false))
        try vehicle.advertise([Topics.gnssFix, Topics.progress])
        for (speed, limit) in [(13.0, 13.9), (15.8, 13.9), (20.0, 13.9)] {
            try runner.step(waiting: .zero)
            vehicle.publish(GnssFix(speed: speed), on: Topics.gnssFix, stamp: NavGeo.Timestamp(nanoseconds: 1))
            vehicle.publish(
                RouteProgress(roadName: "Quay", speedLimitMps: limit), on: Topics.progress,
                stamp: NavGeo.Timestamp(nanoseconds: 1))
            for _ in 0..<4 { try runner.step(waiting: .zero) }
        }
        var lines: [String] = []
        while let delivery = try peer.poll(timeout: .zero) {
            lines.append(try LogEntry(decoding: delivery.payload.bytes).text ?? "")
        }
        #expect(lines == ["72 km/h on Quay for 50"])
    }
}
