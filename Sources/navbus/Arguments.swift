public import ArgumentParser
import Glibc
public import NavGeo
public import NavRouting
public import NavSimulation
import NavNodes

extension Coordinate: ExpressibleByArgument {
    /// `LAT,LON` in degrees.
    public init?(argument: String) { self.init(text: argument) }
}

extension VehicleProfile.Kind: ExpressibleByArgument {}

extension ReceiverModel.Environment: ExpressibleByArgument {}

/// Whether two paths lead to one file that exists.
func isSameFile(_ left: String, _ right: String) -> Bool {
    var (first, second) = (stat(), stat())
    guard stat(left, &first) == 0, stat(right, &second) == 0 else { return false }
    return first.st_dev == second.st_dev && first.st_ino == second.st_ino
}

/// The vehicle, as options.
struct VehicleOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The kind of vehicle.", valueName: "KIND")) var profile = VehicleProfile.Kind.car
    @Option(
        help: ArgumentHelp(
            "Roads to use only when nothing else leads there, comma-separated: tolls,motorways,ferries,unpaved,tunnels.",
            valueName: "NAMES"))
    var avoid = ""

    var vehicle: VehicleProfile {
        get throws {
            guard let avoidance = Avoidance(names: avoid) else {
                let names = Avoidance.names.map(\.name).joined(separator: ",")
                throw ValidationError("--avoid \(avoid): give names out of \(names), separated by commas")
            }
            return VehicleProfile(kind: profile, avoid: avoidance)
        }
    }
}
