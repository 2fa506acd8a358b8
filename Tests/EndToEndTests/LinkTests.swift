import Foundation
import NavTestKit
import NavTestSystem
import Testing

/// The libraries that each node links: each unneeded one could fail, be attacked, and would take memory in the vehicle.
struct LinkTests {
    /// Symbols and libraries that only the tile cache needs.
    private static let foreign = ["sqlite3_", "4GRDB", "7NIOCore", "8NIOPosix", "BoringSSL", "libsqlite3"]

    @Test(arguments: ["gnss-node", "navigation-node", "policy-node-example"])
    func nodeLinksNeitherDatabaseNorServer(program: String) throws {
        let path = try Programs.path(program)
        let symbols = try Programs.run(try #require(Project.find("nm")), ["--defined-only", path])
        let libraries = try Programs.run(try #require(Project.find("ldd")), [path])
        try #require(symbols.status == 0 && libraries.status == 0, "\(symbols.errors)\(libraries.errors)")
        #expect(symbols.outputLines.count > 1_000, "\(path) has no symbols to look at")
        let found = Self.foreign.filter { symbols.output.contains($0) || libraries.output.contains($0) }
        #expect(found.isEmpty, "\(program) links \(found)")
    }

    /// The maximum size of a node's program without symbols, MB.
    @Test(arguments: [("gnss-node", 10), ("navigation-node", 16)])
    func strippedProgramStaysSmall(program: String, limit: Int) throws {
        let size = try withTemporaryFolder { folder in
            let stripped = folder + "/" + program
            let run = try Programs.run(
                try #require(Project.find("strip")), ["-o", stripped, try Programs.path(program)])
            try #require(run.status == 0, "\(run.errors)")
            return try #require(FileManager.default.attributesOfItem(atPath: stripped)[.size] as? Int)
        }
        #expect(size <= limit * 1_000_000, "\(program) has \(size) bytes without symbols")
    }

    /// Verifies that the name check is effective: the names are found in the program that links the libraries.
    @Test func tileCacheLinksDatabaseAndServer() throws {
        let path = try Programs.path("tile-cache-node")
        let symbols = try Programs.run(try #require(Project.find("nm")), ["--defined-only", path])
        #expect(symbols.output.contains("4GRDB") && symbols.output.contains("7NIOCore"))
    }
}
