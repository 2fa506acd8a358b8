import ArgumentParser
import NavNodes

/// `gnss-node`.
@main
struct GnssNodeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "gnss-node",
        abstract: "Publishes what a GNSS receiver says: gpsd, NMEA 0183 from a device, or a recorded file.",
        version: NavbusVersion.text)

    static func main() { runAndExit() }

    @OptionGroup var options: NodeCommandOptions

    func run() throws { try options.run(GNSSNode.self) }
}
