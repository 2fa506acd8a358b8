import ArgumentParser
import Foundation
import NavKit
import NavMapBuild

/// One map build in a separate process, which isolates the memory of the build; prints time, memory and bytes.
struct RouteWorker: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "route-worker", abstract: "One process of a measurement.", shouldDisplay: false)

    @Option var map: String
    @Option var out: String
    @Option var jobs: Int?

    func run() throws {
        let start = ContinuousClock.now
        let report: BuildReport
        do throws(MapBuildError) {
            report = try MapBuilder(MapBuilder.Options(jobs: jobs)).build(input: map, output: out)
        } catch {
            throw NodeError(.invalid, error.description)
        }
        let milliseconds = (ContinuousClock.now - start) / .milliseconds(1)
        print("milliseconds \(Int(milliseconds))")
        print("rss_kb \(try Self.greatestResidentSize())")
        print("bytes \(report.bytes)")
    }

    /// Returns the peak memory of this process, KiB, excluding its parent's before the fork.
    private static func greatestResidentSize() throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        guard let size = line?.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else {
            throw NodeError(.system, "/proc/self/status has no memory figures")
        }
        return size
    }
}
