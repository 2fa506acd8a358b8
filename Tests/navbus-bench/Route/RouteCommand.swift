import ArgumentParser
import Foundation
import NavBench
import NavKit

/// The command `navbus-bench route`.
struct RouteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "route", abstract: "Measure routing: queries, full results, alternatives, new traffic, map build.",
        discussion: """
            Every query runs in this process on one thread, over the same pairs of places in each round; p50 and p99 are \
            over the pairs, in milliseconds. Alternatives are verified by plain searches, and violations are counted. \
            Tests/Peers/routing.py compares OSRM, Valhalla and RoutingKit on the same pairs.
            """)

    /// The parts of the suite.
    enum Part: String, CaseIterable, ExpressibleByArgument {
        case queries, full, alternatives, updates, dijkstra, build
    }

    @OptionGroup var options: SuiteOptions

    @Option(help: ArgumentHelp("Directory of road tiles.", valueName: "DIR")) var tiles: String?

    @Option(
        help: ArgumentHelp(
            "OpenStreetMap extract whose build is measured; its tiles are used unless --tiles is given.",
            valueName: "FILE")) var map: String?

    @Option(help: ArgumentHelp("Pairs of places, as --save-pairs writes them.", valueName: "FILE")) var pairs: String?

    @Option(help: ArgumentHelp("Write the pairs of places to this file, for other systems.", valueName: "FILE"))
    var savePairs: String?

    @Option(help: ArgumentHelp("Pairs of each kind, 1 to 100000, unless a file gives them.", valueName: "n"))
    var count = 1000

    @Option(help: ArgumentHelp("Seed of the random pairs.", valueName: "n")) var seed: UInt64 = 1

    @Option(
        help: ArgumentHelp("Pairs whose results are verified by plain searches.", valueName: "n"))
    var verify = 100

    @Flag(
        help:
            "Measure the thread's CPU time instead of wall-clock time, for busy machines; updates and builds keep wall-clock time."
    )
    var processorTime = false

    @Option(
        help: ArgumentHelp(
            "Parts of the suite, of queries,full,alternatives,updates,dijkstra,build; all unless given.",
            valueName: "parts"))
    var only: String?

    @Option(
        help: ArgumentHelp(
            "Write the turn graph and the pairs' states to this file, for other libraries.", visibility: .hidden))
    var export: String?

    func validate() throws {
        guard tiles != nil || map != nil else { throw ValidationError("give --tiles DIR or --map FILE.osm.pbf") }
        guard (1...100_000).contains(count) else { throw ValidationError("--count takes 1 to 100000, not \(count).") }
        guard verify >= 0 else { throw ValidationError("--verify takes 0 or more, not \(verify).") }
        if pairs != nil, savePairs != nil { throw ValidationError("--save-pairs and --pairs exclude each other") }
    }

    func run() throws {
        let parts = try chosenParts()
        do {
            try measure(parts)
        } catch let error as BenchError {
            throw NodeError(.system, error.description)
        }
    }

    private func chosenParts() throws -> [Part] {
        guard let only else { return Part.allCases.filter { $0 != .build || map != nil } }
        return try only.split(separator: ",").map { word in
            guard let part = Part(rawValue: String(word)) else {
                let known = Part.allCases.map(\.rawValue).joined(separator: ", ")
                throw NodeError(.usage, "'\(word)' is not a part of the suite; available: \(known)")
            }
            if part == .build, map == nil { throw NodeError(.usage, "the build part needs --map FILE.osm.pbf") }
            return part
        }
    }

    private func measure(_ parts: [Part]) throws {
        let workers = try Workers()
        defer { workers.close() }
        let builds = try map.map { try MapBuildSuite(map: $0, folder: workers.folder) }
        let directory = try tiles ?? builds?.build()
        let isBuildOnly = parts == [.build] && savePairs == nil && export == nil
        var comparisons: [Comparison] = []
        var lines: [String] = []
        if let directory, !isBuildOnly {
            let size = options.quick ? min(count, 20) : count
            let suite = try RouteSuite(
                directory: directory, pairs: pairs, count: size, seed: seed,
                verify: options.quick ? min(verify, 5) : verify, processorTime: processorTime)
            if let savePairs { try suite.pairs.write(to: savePairs) }
            if let export { try suite.export(to: export) }
            lines = suite.lines
            comparisons = Part.allCases.filter(parts.contains).flatMap(suite.comparisons)
        }
        if let builds, parts.contains(.build) { comparisons.append(builds.comparison) }
        guard !comparisons.isEmpty else { return }
        try Report(options: options, peers: lines).run(comparisons)
    }
}
