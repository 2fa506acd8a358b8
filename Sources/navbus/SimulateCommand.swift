import ArgumentParser
import NavGeo
import NavKit
import NavReplay
import NavRouting
import NavSimulation
import NavigationNode

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
        commandName: "simulate", abstract: "Simulate a drive along a route with receiver errors, into a bag.",
        discussion: """
            The bag has the fixes as /gnss/fix and, with --odometry, the wheel speed and turn rate as /vehicle/odometry. The seed \
            chooses a scale error of the speed and an offset of the turn rate for the car; both are noisy as well. With receiver \
            errors (--noise open or urban) there are no fixes in mapped tunnels of 30 m and more.
            """)

    @Option(help: ArgumentHelp("Directory of road tiles.", valueName: "DIR")) var tiles: String
    @Option(
        parsing: .unconditional, help: ArgumentHelp("Start, degrees.", valueName: "LAT,LON"),
        transform: Coordinate.option) var from: Coordinate
    @Option(
        parsing: .unconditional, help: ArgumentHelp("Destination, degrees.", valueName: "LAT,LON"),
        transform: Coordinate.option) var to: Coordinate
    @Option(
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp("Stop on the way, degrees; may be given several times.", valueName: "LAT,LON"),
        transform: Coordinate.option)
    var via: [Coordinate] = []
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Take the first possible wrong turn after this many metres. Default: none.", valueName: "METRES"))
    var deviateAt: Double?
    @Option(help: ArgumentHelp("The receiver's surroundings; none is a receiver without errors.", valueName: "KIND"))
    var noise = ReceiverModel.Environment
        .open
    @Option(
        help: ArgumentHelp("No fixes between two times, seconds; may be given several times.", valueName: "START-END")
    ) var outage: [Span] = []
    @Flag(
        inversion: .prefixedNo,
        help: ArgumentHelp("Whether mapped tunnels are outages; by default they are unless --noise is none."))
    var tunnelOutages: Bool?
    @Option(parsing: .unconditional, help: ArgumentHelp("Fixes per second, at most 1000.", valueName: "HZ")) var rate =
        1.0
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Time from a fix's stamp to its arrival, at most 10; the bag has the fixes at their arrival.",
            valueName: "SECONDS"))
    var latency = 0.0
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Odometry reports per second, at most 1000. Default: none.", valueName: "HZ"))
    var odometry: Double?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Metres that the vehicle backs up before it sets out.", valueName: "METRES"))
    var backUp = 0.0
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Seed of the errors; equal seeds give equal drives.", valueName: "NUMBER"),
        transform: SimulateCommand.seed) var seed: UInt64 = 1
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Start of the drive, seconds since 1970. Default: 2026-01-01 09:00 UTC.", valueName: "SECONDS"))
    var start = 1_767_258_000.0
    @OptionGroup var vehicle: VehicleOptions
    @Option(help: ArgumentHelp("The bag to write (.mcap).", valueName: "FILE.mcap")) var out: String
    @Flag(help: "Replace any existing file; a bag written by this command is always replaced.") var overwrite = false
    @Flag(help: "Print the report as JSON.") var json = false

    private static func seed(_ text: String) throws -> UInt64 {
        guard let seed = UInt64(text) else {
            throw ValidationError("give a whole number from 0 to \(UInt64.max).")
        }
        return seed
    }

    func validate() throws {
        try checkBagName(out)
        guard rate >= 0.001, rate <= 1_000 else { throw ValidationError("--rate must be from 0.001 to 1000") }
        if let odometry, !(0.001...1_000).contains(odometry) {
            throw ValidationError("--odometry must be from 0.001 to 1000")
        }
        guard (0...10).contains(latency) else { throw ValidationError("--latency must be from 0 to 10") }
        guard (0...10_000).contains(backUp) else { throw ValidationError("--back-up must be from 0 to 10000") }
        if let deviateAt, !(0...100_000_000).contains(deviateAt) {
            throw ValidationError("--deviate-at must be metres from 0 to 100000000")
        }
        guard Timestamp(seconds: start) != nil else { throw ValidationError("--start must be seconds since 1970") }
    }

    func run() throws {
        let file = try OutputFile(out, replacing: .bags(marked: DriveSimulator.mark), overwrite: overwrite)
        let graph = try TilesetDirectory(path: tiles).loadGraph()
        let router = Router(graph: graph, model: CostModel(profile: try vehicle.vehicle))
        var plan = DriveSimulator.Plan(
            waypoints: ([from] + via + [to]).map { Waypoint($0) }, deviateAt: deviateAt,
            receiver: ReceiverModel(noise, outages: outage.map(\.range)), rate: rate, seed: seed,
            start: Timestamp(seconds: start) ?? Timestamp(nanoseconds: 0))
        plan.odometryRate = odometry
        plan.backUp = backUp
        plan.tunnelsAreDark = tunnelOutages ?? (noise != .none)
        plan.latency = latency
        let report = try DriveSimulator(router: router).run(plan, into: file.partial)
        try file.finish()
        for span in outage where span.range.lowerBound > report.duration {
            let range = "\(span.range.lowerBound)-\(span.range.upperBound)"
            StandardError.write(
                "warning: --outage \(range) begins after the drive, which takes \(Int(report.duration)) s\n")
        }
        if json {
            print(try navbus.json(report))
        } else {
            let wrong = report.deviation.map { ", wrong turn after \(Int($0)) m" } ?? ""
            let motion = report.odometry > 0 ? ", \(report.odometry) odometry reports" : ""
            let dark = report.outage > 0 ? ", \(Int(report.outage.rounded())) s of them without a fix" : ""
            print(
                "\(out): \(report.fixes) fixes\(motion), \(Int(report.distance)) m in \(Int(report.duration)) s\(dark)\(wrong)"
            )
        }
    }
}
