import Foundation
import NavTestKit
import NavTestSystem
import Testing

/// The navigation node suite as a program: its node guides and answers. Times are never checked.
struct NavSuiteTests {
    @Test func everyFixHasItsProgress() throws {
        let home = try TemporaryFolder()
        let folder = home.path + "/tiles"
        let built = try Programs.run("navbus", ["map", "build", Fixtures.helsinki, "--out", folder])
        try #require(built.status == 0)
        let bench = try Programs.run("navbus-bench", ["nav", "--tiles", folder, "--length", "10", "--quick", "--json"])
        try #require(bench.status == 0)
        let names = try bench.output.split(separator: "\n").map { line in
            let row = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            #expect((row["value"] as? Double ?? 0) > 0)
            return try #require(row["name"] as? String)
        }
        #expect(names == ["p50", "p99", "max"].map { "nav.fix_to_progress.\($0)" })
    }
}
