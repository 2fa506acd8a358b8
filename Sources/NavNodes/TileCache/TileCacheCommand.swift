public import ArgumentParser
import Foundation
import NavConfig
import NavTileStore

/// The command line of `tile-cache-node`: that of all nodes, and the check of its store.
public struct TileCacheCommand: ParsableCommand {
    /// Named and described by the node.
    public static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: TileCacheNode.defaultName, abstract: TileCacheNode.summary, version: NavbusVersion.text)
    }

    /// Name, topics and configuration.
    @OptionGroup public var options: NodeCommandOptions

    /// Check and end.
    @Flag(
        help: ArgumentHelp(
            "Check the store and end: 0 when all is sound, 1 when it is not. Nothing is changed; a node may run beside it."
        ))
    public var check = false

    /// Use no network.
    @Flag(help: "Use no network, as network.mode=offline: only what is on board, and sources on this machine.")
    public var offline = false

    /// Nothing given.
    public init() {}

    /// Checks the store, or runs the node until it is told to stop.
    public func run() throws {
        var options = options
        if offline { options.set.append("network.mode=offline") }
        guard check else { return try options.run(TileCacheNode.self) }
        let configuration = try options.configuration(TileCacheNode.self)
        let folder = configuration.node.storeFolder(environment: ProcessInfo.processInfo.environment)
        let report: CheckReport
        do throws(StoreError) {
            report = try TileStoreReader(folder: folder).check()
        } catch {
            throw NodeError(error)
        }
        for finding in report.findings { print(finding.description) }
        if report.findingCount > report.findings.count {
            print("and \(report.findingCount - report.findings.count) more")
        }
        print(
            "\(folder): \(report.tileCount) tiles, \(report.objectCount) files, \(report.objectBytes) bytes, "
                + (report.isSound ? "sound" : "\(report.findingCount) faults: the node puts right what it can"))
        if !report.isSound { throw ExitCode(1) }
    }
}
