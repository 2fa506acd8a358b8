import ArgumentParser
import NavGeo
import NavNodes
import NavRouting
import NavSimulation

/// A span of seconds, `START-END`.
struct Span: ExpressibleByArgument {
    let range: ClosedRange<Double>

    init?(argument: String) {
        let parts = argument.split(separator: "-").map { Double($0) }
        guard parts.count == 2, let start = parts[0], let end = parts[1], start >= 0, end >= start, end.isFinite
        else { return nil }
        range = start...end
    }
}

/// `navbus simulate`.
struct SimulateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate", abstract: "Drive a route with the errors of a receiver, into a bag.")

    @Option(help: ArgumentHelp("Directory of road tiles.", valueName: "DIR")) var tiles: String
    @Option(parsing: .unconditional, help: ArgumentHelp("Start, degrees.", valueName: "LAT,LON")) var from: Coordinate
    @Option(parsing: .unconditional, help: ArgumentHelp("Destination, degrees.", valueName: "LAT,LON")) var to:
        Coordinate
    @Option(
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp("Stop on the way, degrees; may be given several times.", valueName: "LAT,LON"))
    var via: [Coordinate] = []
    @Option(
        help: ArgumentHelp(
            "Metres after which the first possible wrong turn is taken; none unless given.", valueName: "METRES"))
    var deviateAt: Double?
    @Option(help: ArgumentHelp("The receiver's surroundings; none is a receiver without errors.", valueName: "KIND"))
    var noise = ReceiverModel.Environment
        .open
    @Option(
        help: ArgumentHelp("No fixes between two moments, seconds; may be given several times.", valueName: "START-END")
    ) var outage: [Span] = []
    @Option(help: ArgumentHelp("Fixes a second, at most 1000.", valueName: "HZ")) var rate = 1.0
    @Option(help: ArgumentHelp("Chooses the errors; equal seeds give equal drives.", valueName: "NUMBER")) var seed:
        UInt64 = 1
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "When the drive starts, seconds since 1970; 2026-01-01 09:00 UTC unless given.", valueName: "SECONDS"))
    var start = 1_767_258_000.0
    @OptionGroup var vehicle: VehicleOptions
    @Option(help: ArgumentHelp("The bag to write (.mcap).", valueName: "FILE.mcap")) var out: String
    @Flag(help: "Print the report as JSON.") var json = false

    func validate() throws {
        guard rate >= 0.001, rate <= 1_000 else { throw ValidationError("--rate must be from 0.001 to 1000") }
        if let deviateAt, !(deviateAt >= 0) { throw ValidationError("--deviate-at must be metres, at least 0") }
        guard Timestamp(seconds: start) != nil else { throw ValidationError("--start must be seconds since 1970") }
    }

    func run() throws {
        let graph = try TilesetDirectory(path: tiles).loadGraph()
        let router = Router(graph: graph, model: CostModel(profile: try vehicle.vehicle))
        let plan = DriveSimulator.Plan(
            waypoints: ([from] + via + [to]).map { Waypoint($0) }, deviateAt: deviateAt,
            receiver: ReceiverModel(noise, outages: outage.map(\.range)), rate: rate, seed: seed,
            start: Timestamp(seconds: start) ?? Timestamp(nanoseconds: 0))
        let report = try DriveSimulator(router: router).run(plan, into: out)
        if json {
            print(try navbus.json(report))
        } else {
            let wrong = report.deviation.map { ", wrong turn after \(Int($0)) m" } ?? ""
            print("\(out): \(report.fixes) fixes, \(Int(report.distance)) m in \(Int(report.duration)) s\(wrong)")
        }
    }
}
