import Foundation
import NavTestSystem
import Testing

/// Help texts, versions and printed configurations.
struct HelpTests {
    @Test func everyCommandHasHelp() async throws {
        try await withSandbox { box in
            var pending: [[String]] = [["navbus"], ["navigation-node"], ["gnss-node"], ["tile-cache-node"]]
            var seen = 0
            while let command = pending.popLast() {
                let help = try await box.succeed(command[0], Array(command.dropFirst()) + ["--help"])
                #expect(help.errors.isEmpty)
                let usage = "USAGE: \(command.joined(separator: " "))"
                #expect(help.output.contains("OVERVIEW: ") && help.output.contains(usage), "\(help.output)")
                seen += 1
                pending += subcommands(of: help.output).map { command + [$0] }
            }
            #expect(seen >= 40, "commands are missing: \(seen)")
            for tool in ["navbus", "navigation-node", "gnss-node", "tile-cache-node"] {
                let version = try await box.succeed(tool, ["--version"])
                let match = try #/\d+\.\d+\.\d+(?:\+([0-9a-f]{12}(?:-dirty)?))?\n/#.wholeMatch(in: version.output)
                #expect(match != nil, "\(version.output)")
                // The commit of the build, if the test's environment contains it, too.
                if let commit = ProcessInfo.processInfo.environment["NAVBUS_COMMIT"] {
                    #expect(match?.1.map(String.init) == commit)
                }
            }
        }
    }

    private func subcommands(of help: String) -> [String] {
        guard let start = help.firstRange(of: "SUBCOMMANDS:\n") else { return [] }
        return help[start.upperBound...].split(separator: "\n", omittingEmptySubsequences: false)
            .prefix { !$0.isEmpty }
            .compactMap { $0.hasPrefix("  ") && !$0.hasPrefix("   ") ? String($0.split(separator: " ")[0]) : nil }
    }

    @Test(arguments: [
        ("navigation-node", ["tiles=a:b/\"c\"", "destination=60.17,24.94", "via=60.1,24.9;60.2,24.95"]),
        ("navigation-node", ["vehicle.kind=truck", "vehicle.avoid=tolls,ferries", "sim_time=true"]),
        ("navigation-node", []),
        ("gnss-node", ["source=gpsd://localhost:2947", "receiver=F9P: # front\\left", "file.rate=0.5"]),
        ("gnss-node", []),
        ("tile-cache-node", ["tilesets=name=roads,source=/a b/c\\,d;name=map,domain=maps,source=m.pmtiles,zooms=3-9"]),
        ("tile-cache-node", ["predictive.enabled=true", "network.bandwidth_kbps=2000", "http.listen=127.0.0.1:8090"]),
        ("tile-cache-node", []),
    ])
    func thePrintedConfigurationIsReadBack(tool: String, settings: [String]) async throws {
        try await withSandbox { box in
            let printed = try await box.succeed(tool, settings.flatMap { ["--set", $0] } + ["--print-config"])
            try box.write("node.yaml", printed.output)
            let again = try await box.succeed(tool, ["--config", "node.yaml", "--print-config"])
            #expect(again.output == printed.output)
            let defaults = try await box.succeed(tool, ["--print-config"])
            #expect((defaults.output == printed.output) == settings.isEmpty)
        }
    }

    @Test func catalogueIsPrintedAsATable() async throws {
        try await withSandbox { box in
            let table = try await box.succeed("navbus", ["topic", "list", "--catalogue"])
            #expect(table.outputLines.allSatisfy { $0.hasPrefix("|") && $0.hasSuffix("|") })
            #expect(table.output.contains("`/gnss/fix`"))
        }
    }
}
