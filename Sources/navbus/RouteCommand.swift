import ArgumentParser
import Foundation
import NavConfig
import NavGeo
import NavGuidance
import NavKit
import NavMap
import NavNavigator
import NavRouting
import NavigationNode

/// `navbus route`.
struct RouteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "route", abstract: "Find the fastest route.",
        discussion:
            "With --batch, reads from_lat,from_lon,to_lat,to_lon and prints distance_m,duration_s,status,compute_us for each line."
    )

    enum Format: String, ExpressibleByArgument, CaseIterable { case json, geojson, osrm }

    @Option(help: ArgumentHelp("Directory of road tiles.", valueName: "DIR")) var tiles: String
    @Option(
        parsing: .unconditional, help: ArgumentHelp("Start, degrees.", valueName: "LAT,LON"),
        transform: Coordinate.option) var from: Coordinate?
    @Option(
        parsing: .unconditional, help: ArgumentHelp("Destination, degrees.", valueName: "LAT,LON"),
        transform: Coordinate.option) var to: Coordinate?
    @Option(
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp("Stop on the way, degrees; may be given several times.", valueName: "LAT,LON"),
        transform: Coordinate.option)
    var via: [Coordinate] = []
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Direction of travel at the start, degrees clockwise from north.", valueName: "DEGREES"))
    var heading: Double?
    @OptionGroup var vehicle: VehicleOptions
    @Option(
        help: ArgumentHelp(
            "Departure in local time: time-dependent restrictions then apply.",
            valueName: "YYYY-MM-DDTHH:MM"), transform: LocalTime.option)
    var depart: LocalTime?
    @Option(
        help: ArgumentHelp(
            "Speeds of road segments: lines of from_node,to_node,speed_kmh, 0 for closed.", valueName: "FILE.csv"))
    var traffic: String?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Maximum distance from a place to a road, metres, 0 to 10000; beyond it the error gives the distance to the nearest road.",
            valueName: "METRES")) var snapMaxM = RouteRequest.defaultSnapRadius
    @Option(help: ArgumentHelp("Output format. Default: json.", valueName: "FORMAT")) var format: Format?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Number of alternatives, 0 to 2; there may be fewer.", valueName: "N"))
    var alternatives = 0
    @Option(
        help: ArgumentHelp("Language of instructions and names, such as de or en-US. Default: en.", valueName: "TAG"))
    var language: String?
    @Option(help: ArgumentHelp("Units of distances in instructions. Default: country.", valueName: "UNITS"))
    var units: DistanceUnits?
    @Option(help: ArgumentHelp("A CSV file of pairs to route, one per line.", valueName: "FILE.csv")) var batch: String?

    func validate() throws {
        if batch == nil, from == nil || to == nil { throw ValidationError("give --from and --to, or --batch FILE") }
        if batch != nil, from != nil || to != nil || !via.isEmpty || heading != nil || alternatives != 0 {
            throw ValidationError(
                "--batch takes its places from the file; omit --from, --to, --via, --heading and --alternatives")
        }
        if batch != nil, format != nil || language != nil || units != nil {
            throw ValidationError(
                "--batch always prints CSV without instructions; omit --format, --language and --units")
        }
        guard (0...2).contains(alternatives) else { throw ValidationError("--alternatives must be 0, 1 or 2") }
        guard (0...10_000).contains(snapMaxM) else { throw ValidationError("--snap-max-m must be 0 to 10000") }
        if let language, PhraseTable.named(language) == nil {
            throw ValidationError("--language: '\(language)' is not supported; available: \(PhraseTable.tags)")
        }
        if let heading, !(-360...360).contains(heading) {
            throw ValidationError("--heading must be -360 to 360 degrees, clockwise from north")
        }
    }

    func run() throws {
        let profile = try vehicle.vehicle
        let graph = try TilesetDirectory(path: tiles).loadGraph()
        var router = Router(graph: graph, model: CostModel(profile: profile), at: depart)
        if let traffic {
            router = router.live(try TrafficFile(path: traffic).overlay)
            if !(0..<graph.edgeCount).contains(where: { router.metric.liveDuration(of: EdgeIndex($0)) != nil }) {
                StandardError.write(
                    "warning: no speed in '\(traffic)' matches a road in '\(tiles)': traffic has no effect\n")
            }
        }
        if let batch {
            try RouteBatch(router: router, snapRadius: snapMaxM).run(batch)
            return
        }
        guard let from, let to else { return }
        var waypoints = ([from] + via + [to]).map { Waypoint($0) }
        waypoints[0].bearing = heading.map { Angle.normalised(Angle.radians($0)) }
        let routes = try routes(router, RouteRequest(waypoints: waypoints, snapRadius: snapMaxM))
        let format = format ?? .json
        let document = RouteDocument(
            routes, graph, profile, listsAlternatives: alternatives > 0, format: format,
            wording: Wording(language: language ?? "en", units: units ?? .ofCountry))
        print(try document.text(format))
    }

    private func routes(_ router: Router, _ request: RouteRequest) throws -> AlternativeRoutes {
        guard alternatives == 0 || router.isHierarchical else {
            throw NodeError(
                .invalid, "'\(tiles)' has no road order, which alternatives require; rebuild it")
        }
        let workspace = SearchWorkspace()
        do throws(RouteFailure) {
            if alternatives == 0 {
                return AlternativeRoutes(main: try router.route(request, workspace: workspace).route(of: request))
            }
            switch router.alternatives(request, limit: alternatives, workspace: workspace) {
            case .found(let routes): return routes
            case .notFound(let reason): return AlternativeRoutes(main: try reason.route(of: request))
            }
        } catch {
            throw NodeError(error)
        }
    }
}

/// A computation of routes between many pairs, one line each.
struct RouteBatch {
    let router: Router
    let snapRadius: Double

    func run(_ path: String) throws {
        do {
            try answer(path)
        } catch let error as ConfigError {
            throw NodeError(.invalid, error.description)
        }
    }

    private func answer(_ path: String) throws {
        var lines = try TextLines(path)
        guard let header = try lines.next() else { throw NodeError(.invalid, "'\(path)' is empty") }
        let names = header.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        let columns = ["from_lat", "from_lon", "to_lat", "to_lon"].map { names.firstIndex(of: $0) }
        guard let a = columns[0], let b = columns[1], let c = columns[2], let d = columns[3] else {
            throw NodeError(.invalid, "'\(path)': the first line must name from_lat,from_lon,to_lat,to_lon")
        }
        let workspace = SearchWorkspace()
        let bar = ProgressBar()
        var output = Output()
        output.line("distance_m,duration_s,status,compute_us")
        while let line = try lines.next() {
            if line.isEmpty { continue }
            let values = line.split(separator: ",", omittingEmptySubsequences: false).map {
                Double($0.trimmingCharacters(in: .whitespaces))
            }
            func place(_ latitude: Int, _ longitude: Int) -> Coordinate? {
                guard latitude < values.count, longitude < values.count, let x = values[latitude],
                    let y = values[longitude]
                else { return nil }
                let coordinate = Coordinate(latitude: x, longitude: y)
                return coordinate.isValid ? coordinate : nil
            }
            guard let from = place(a, b), let to = place(c, d) else {
                throw NodeError(
                    .invalid, "'\(path)' line \(lines.number): '\(line.prefix(80))' is not four numbers of degrees")
            }
            let clock = ContinuousClock()
            let start = clock.now
            let request = RouteRequest(waypoints: [Waypoint(from), Waypoint(to)], snapRadius: snapRadius)
            let outcome = router.route(request, workspace: workspace)
            let elapsed = (clock.now - start) / .microseconds(1)
            output.line(RouteBatch.row(outcome, microseconds: elapsed))
            bar.show(lines.share, "routes")
        }
        bar.finish()
        output.flush()
    }

    private static func row(_ outcome: RouteOutcome, microseconds: Double) -> String {
        let time = String(format: "%.0f", microseconds)
        switch outcome {
        case .found(let route): return String(format: "%.1f,%.1f,ok,%@", route.length, route.duration, time)
        case .unreachable: return ",,no_route,\(time)"
        case .offRoad: return ",,no_road_nearby,\(time)"
        case .tilesNeeded: return ",,tiles_needed,\(time)"
        case .invalid: return ",,invalid,\(time)"
        }
    }
}
