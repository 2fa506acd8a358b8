import Foundation
import NavTestSystem
import Testing

/// Nodes when the system runs out of a resource.
struct ResourceExhaustionTests {
    @Test func tileIsLoadedOnceFilesCanBeOpenedAgain() async throws {
        try await withSandbox { box in
            let tiles = try await box.copyTiles()
            let names = try FileManager.default.subpathsOfDirectory(atPath: tiles)
            let tile = try #require(names.first { $0.hasSuffix(".road") })
            let (place, aside) = ("\(tiles)/\(tile)", box.path + "/aside.road")
            try FileManager.default.moveItem(atPath: place, toPath: aside)
            let node = try box.start("navigation-node", ["--set", "tiles=\(tiles)", "--set", "destination=\(Town.to)"])
            try await box.announces("/nav/progress", node: "navigation-node")
            // The node runs once it publishes its health; before that, a lack of file descriptors would end it.
            try await box.succeed(
                "navbus", ["topic", "echo", "/health/navigation-node", "--count", "1", "--timeout", "60"])
            try node.mayOpenFiles(false)
            try FileManager.default.moveItem(atPath: aside, toPath: place)
            try await node.says("it will be retried")
            // The node keeps checking the tiles without further log lines.
            try await Task.sleep(for: .seconds(3))
            #expect(node.errors.ranges(of: "it will be retried").count == 1, "\(node.errors)")
            try node.mayOpenFiles(true)
            try await node.says("1 tiles added")
            node.send(SIGTERM)
            #expect(try await node.wait().status == 0, "\(node.errors)")
        }
    }
}
