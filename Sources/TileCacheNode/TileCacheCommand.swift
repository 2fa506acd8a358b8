package import ArgumentParser
import Foundation
import NavConfig
package import NavKit
import NavStorage
import NavTileCache
import NavTileStore

/// The command line of `tile-cache-node`: the options of every node, and a check of the store.
package struct TileCacheCommand: ParsableCommand {
    /// The command's configuration, with the node's name and summary.
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: TileCacheNode.defaultName, abstract: TileCacheNode.summary, version: NavbusVersion.full)
    }

    /// The options for name, topics and configuration.
    @OptionGroup package var options: NodeCommandOptions

    /// Whether to check the store and exit.
    @Flag(
        help: ArgumentHelp(
            "Check the store and exit: status 0 if it is sound, 1 if not. Changes nothing; a node may run meanwhile."
        ))
    package var check = false

    /// Whether to check and repair the store and exit.
    @Flag(
        help: ArgumentHelp(
            "Check and repair the store and exit: status 0 if it is sound then. No node may run meanwhile."
        ))
    package var repair = false

    /// Whether to run without the network.
    @Flag(help: "Use no network, as with network.mode=offline: only stored tiles, and sources on this machine.")
    package var offline = false

    package init() {}

    /// Checks the store, or runs the node until it is requested to stop.
    package func run() throws {
        var options = options
        if offline { options.set.append("network.mode=offline") }
        guard check || repair else { return try options.run(TileCacheNode.self) }
        let configuration = try options.configuration(TileCacheNode.self)
        let folder = configuration.node.storeFolder(environment: ProcessInfo.processInfo.environment)
        let report: CheckReport
        do throws(StoreError) {
            report = try repair ? Self.repaired(folder) : TileStoreReader(folder: folder).check()
        } catch {
            throw NodeError(error)
        }
        Self.show(report, folder)
        if report.findingCount > report.repairedCount { throw ExitCode(1) }
    }

    private static func repaired(_ folder: String) throws(StoreError) -> CheckReport {
        guard FileManager.default.fileExists(atPath: StoreFolder(folder).objects) else {
            throw StoreError(.missing, "no tile store at '\(folder)'; start the tile cache once")
        }
        var options = TileStoreOptions()
        options.holder = "\(TileCacheNode.defaultName) --repair"
        let store = try TileStore(folder: folder, options: options)
        defer { store.close() }
        if let damaged = store.opening.damagedIndex {
            print("the index was damaged; it was moved to '\(damaged)' and rebuilt")
        }
        return try store.checkAndRepair()
    }

    private static func show(_ report: CheckReport, _ folder: String) {
        for finding in report.findings { print(finding.description) }
        if report.findingCount > report.findings.count {
            print("and \(report.findingCount - report.findings.count) more")
        }
        print(
            "\(folder): \(report.tileCount) tiles, \(report.objectCount) files, \(report.objectBytes) bytes, "
                + verdict(report))
    }

    private static func verdict(_ report: CheckReport) -> String {
        if report.isSound { return "sound" }
        let faults = "\(report.findingCount) faults"
        let left = report.findingCount - report.repairedCount
        if left == 0 { return "\(faults), all repaired" }
        if report.repairedCount > 0 { return "\(faults), \(left) of them cannot be repaired" }
        return "\(faults); a running node repairs its tiles, and --repair fixes the rest while no node runs"
    }
}
