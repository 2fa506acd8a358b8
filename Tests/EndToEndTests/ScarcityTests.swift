import Foundation
import NavTestSystem
import Testing

/// What nodes do when the system gives them no more of something.
struct ScarcityTests {
    @Test func aTileThatComesWhileNoFileCanBeOpenedIsTakenOnceOneCan() async throws {
        try await withSandbox { box in
            let tiles = try await box.copyTiles()
            let names = try FileManager.default.subpathsOfDirectory(atPath: tiles)
            let tile = try #require(names.first { $0.hasSuffix(".road") })
            let (place, aside) = ("\(tiles)/\(tile)", box.path + "/aside.road")
            try FileManager.default.moveItem(atPath: place, toPath: aside)
            let node = try box.start("navigation-node", ["--set", "tiles=\(tiles)", "--set", "destination=\(Town.to)"])
            try await box.announces("/nav/progress", node: "navigation-node")
            // It publishes its health once it works; before, it would end for want of files.
            try await box.succeed(
                "navbus", ["topic", "echo", "/health/navigation-node", "--count", "1", "--timeout", "60"])
            try node.mayOpenFiles(false)
            try FileManager.default.moveItem(atPath: aside, toPath: place)
            try await node.says("it will be retried")
            // Looks at the tiles go on, and say so no more.
            try await Task.sleep(for: .seconds(3))
            #expect(node.errors.ranges(of: "it will be retried").count == 1, "\(node.errors)")
            try node.mayOpenFiles(true)
            try await node.says("1 tiles added")
            node.send(SIGTERM)
            #expect(try await node.wait().status == 0, "\(node.errors)")
        }
    }
}
