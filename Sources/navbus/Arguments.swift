import NavKit
import NavigationNode
public import ArgumentParser
import Foundation
import Glibc
import NavGeo
public import NavGuidance
import NavMap
public import NavRouting
package import NavSimulation

extension Coordinate {
    /// Parses `LAT,LON` in degrees, the value of an option.
    ///
    /// - Throws: an error that names the invalid part.
    static func option(_ text: String) throws -> Coordinate {
        if let place = Coordinate(text: text) { return place }
        let parts = text.split(separator: ",", omittingEmptySubsequences: false).map {
            Double($0.trimmingPrefix(while: { $0 == " " }))
        }
        guard parts.count == 2, let latitude = parts[0], parts[1] != nil else {
            throw ValidationError("give a latitude and a longitude in degrees, such as 60.17,24.94.")
        }
        throw ValidationError(
            (-90...90).contains(latitude)
                ? "the longitude must be -180 to 180 degrees."
                : "the latitude, which comes first, must be -90 to 90 degrees.")
    }
}

extension VehicleProfile.Kind: ExpressibleByArgument {}

extension DistanceUnits: ExpressibleByArgument {}

extension LocalTime {
    /// Parses a local time, the value of an option.
    static func option(_ text: String) throws -> LocalTime {
        guard let time = LocalTime(argument: text) else {
            throw ValidationError("give an existing day and a time of day, such as 2026-07-01T08:30.")
        }
        return time
    }

    /// Parses `2026-07-01T08:30`, a local time at the place.
    init?(argument: String) {
        let bytes = Array(argument.utf8)
        let form = Array("dddd-dd-ddTdd:dd".utf8)
        guard bytes.count == form.count else { return nil }
        var numbers = [0]
        for (byte, expected) in zip(bytes, form) {
            if expected == UInt8(ascii: "d") {
                guard (48...57).contains(byte) else { return nil }
                numbers[numbers.count - 1] = numbers[numbers.count - 1] * 10 + Int(byte - 48)
            } else {
                guard byte == expected else { return nil }
                numbers.append(0)
            }
        }
        guard numbers[3] < 24, numbers[4] < 60 else { return nil }
        self.init(year: numbers[0], month: numbers[1], day: numbers[2], hour: numbers[3], minute: numbers[4])
        // A nonexistent day would fall in the next month.
        guard monthAndDay == (numbers[1], numbers[2]) else { return nil }
    }
}

extension ReceiverModel.Environment: ExpressibleByArgument {}

/// Whether two paths refer to the same existing file.
func isSameFile(_ left: String, _ right: String) -> Bool {
    var (first, second) = (stat(), stat())
    guard stat(left, &first) == 0, stat(right, &second) == 0 else { return false }
    return first.st_dev == second.st_dev && first.st_ino == second.st_ino
}

/// Refuses a name for a new bag that ends like a file of another kind, as which it would be opened.
func checkBagName(_ path: String) throws(ValidationError) {
    let end = (path as NSString).pathExtension
    guard !end.isEmpty, end.lowercased() != "mcap" else { return }
    let kind = ["bag": "a bag of ROS 1", "db3": "a bag of ROS 2 in SQLite"][end.lowercased()] ?? "not a bag"
    let name = (path as NSString).deletingPathExtension + ".mcap"
    throw ValidationError("--out \(path): .\(end) is \(kind), and this is written as MCAP; give '\(name)'")
}

/// The options of the vehicle.
struct VehicleOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The kind of vehicle.", valueName: "KIND")) var profile = VehicleProfile.Kind.car
    @Option(
        help: ArgumentHelp(
            "Roads to avoid, comma-separated: tolls,motorways,ferries,unpaved,tunnels. A second there costs as much as 8 elsewhere.",
            valueName: "NAMES"))
    var avoid = ""
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Height, metres; a car's is 2, a truck's 4.", valueName: "METRES"))
    var height: Float?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Width, metres; a car's is 1.9, a truck's 2.55.", valueName: "METRES"))
    var width: Float?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Length, metres; a car's is 4.8, a truck's 16.5.", valueName: "METRES"))
    var length: Float?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Weight, tonnes; a car's is 2, a truck's 40.", valueName: "TONNES"))
    var weight: Float?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Maximum axle load, tonnes; a truck's is 11.5.", valueName: "TONNES"))
    var axleLoad: Float?
    @Flag(help: "The vehicle carries dangerous goods.") var dangerousGoods = false

    func validate() throws {
        for (name, value, bounds, unit) in [
            ("height", height, VehicleKeys.Bounds.height, "metres"),
            ("width", width, VehicleKeys.Bounds.width, "metres"),
            ("length", length, VehicleKeys.Bounds.length, "metres"),
            ("weight", weight, VehicleKeys.Bounds.weight, "tonnes"),
            ("axle-load", axleLoad, VehicleKeys.Bounds.axleLoad, "tonnes"),
        ] {
            if let value, !bounds.contains(value) {
                throw ValidationError("--\(name) must be \(bounds.lowerBound) to \(bounds.upperBound) \(unit)")
            }
        }
        if let axleLoad, let weight, axleLoad > weight {
            throw ValidationError("--axle-load must not exceed --weight")
        }
    }

    var vehicle: VehicleProfile {
        get throws {
            guard let avoidance = Avoidance(names: avoid) else {
                let names = Avoidance.names.map(\.name).joined(separator: ",")
                throw ValidationError("--avoid \(avoid): give one or more of \(names), separated by commas")
            }
            return VehicleProfile(
                kind: profile, avoid: avoidance, height: height, width: width, length: length, weight: weight,
                axleLoad: axleLoad, carriesDangerousGoods: dangerousGoods)
        }
    }
}
