import ArgumentParser
import Foundation
import NavBus
import NavKit
import NavMap
import NavMessages
import NavigationNode

/// `navbus doctor`.
struct DoctorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Check the installation, the machine and the bus, and print remedies; exit 1 if a check fails."
    )

    @Option(help: ArgumentHelp("Check a directory of road tiles too.", valueName: "DIR")) var tiles: String?
    @Option(
        help: ArgumentHelp(
            "Check that another host can be reached; may be given several times.", valueName: "HOST:PORT"))
    var peer: [String] = []
    @Flag(help: "Print JSON.") var json = false

    func validate() throws {
        for peer in peer where HostReach.parse(peer) == nil {
            throw ValidationError("--peer \(peer): give HOST:PORT, such as 192.168.1.2:7000")
        }
    }

    func run() throws {
        var findings = SystemChecks.libraries() + SystemChecks.limits() + SystemChecks.clocks()
        var nodes: [String] = []
        do {
            let directory = try ToolBus.attempt { () throws(BusError) in try BusDirectory.fromEnvironment() }
            nodes = (try? directory.inspect().nodes.map(\.node)) ?? []
            findings += RegistryChecks.directory(directory)
            findings += try BusChecks.run(directory)
        } catch let error as NodeError {
            findings.append(Finding("bus", .fail, error.description))
        }
        findings += HostReach.hosts(among: nodes) + peer.map { HostReach.check($0) }
        if let tiles { findings.append(Self.check(tiles: tiles)) }
        if json {
            print(try navbus.json(findings))
        } else {
            show(findings)
        }
        if findings.contains(where: { $0.state == .fail }) { throw ExitCode(1) }
    }

    private func show(_ findings: [Finding]) {
        var table = Table()
        for finding in findings {
            let style: Console.Style =
                switch finding.state {
                case .ok: .green
                case .warn: .yellow
                case .fail: .red
                }
            table.row([
                Table.Cell(finding.state.rawValue, style), Table.Cell(finding.check, .bold), Table.Cell(finding.text),
            ])
        }
        table.show()
    }

    private static func check(tiles: String) -> Finding {
        do {
            let directory = try TilesetDirectory(path: tiles)
            let (present, all) = (directory.presentTiles, directory.tileset.tiles.count)
            _ = try directory.loadTiles(present)
            let count = present.count == all ? "\(all) tiles" : "\(present.count) of \(all) tiles are stored"
            let text = "\(tiles): \(count), map version \(directory.tileset.mapVersion)"
            return Finding("tiles", present.count == all ? .ok : .warn, text)
        } catch {
            return Finding("tiles", .fail, "\(error)")
        }
    }
}

/// The finding of one check.
struct Finding: Encodable {
    enum State: String, Encodable {
        case ok, warn, fail
    }

    let check: String
    let state: State
    let text: String

    init(_ check: String, _ state: State, _ text: String) {
        self.check = check
        self.state = state
        self.text = Console.printable(text)
    }
}
