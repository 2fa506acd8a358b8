import Foundation
import NavTestSystem
import Testing

/// A planner in C++, built with the commands of the user guide.
@Suite(
    .enabled(
        if: ["g++", "protoc", "pkg-config"].allSatisfy { Project.find($0) != nil },
        "needs g++, protoc, pkg-config and libprotobuf-dev"))
struct CppPeerTests {
    @Test func plannerInCppSetsADestinationAndFollowsTheRoute() async throws {
        try await withSandbox { box in
            try ReadmeTests().showRepository(in: box)
            let guide = try ReadmeTests.blocks(of: "Sources/navbus/navbus.docc/UserGuide.md", marked: "bash")
            #expect(guide.count == 1)
            let build = try box.start("/bin/bash", ["-euc", try #require(guide.first).lines.joined(separator: "\n")])
            let built = try await build.wait(seconds: 300)
            try #require(built.status == 0, "\(built.output)\(built.errors)")

            let (tiles, drive) = (try await Town.shared.tiles, try await Town.shared.drive)
            let node = try box.start("navigation-node", ["--set", "tiles=\(tiles)"])
            let planner = try box.start("\(box.path)/build/planner", Town.to.split(separator: ",").map(String.init))
            try await box.announces("/nav/progress", node: "navigation-node")
            try box.start("navbus", ["bag", "play", drive, "--rate", "20"])
            try await planner.says(" m to go on ", times: 20)
            let lines = planner.output.split(separator: "\n")
            #expect(lines.contains { $0.wholeMatch(of: #/route 1: \d+ m, \d+ s, \d+ points from .+ to .+/#) != nil })
            let progress = #/\d+ m to go on .+, next maneuver MANEUVER_TYPE_\w+ in \d+ m/#
            #expect(lines.contains { $0.wholeMatch(of: progress) != nil }, "\(lines)")

            node.send(SIGTERM)
            let ended = try await planner.wait()
            #expect(ended.status == 1)
            #expect(ended.errors.contains("navigation-node has ended"), "\(ended.errors)")
        }
    }
}
