package import NavGeo
package import NavGuidance
import NavMap
package import NavMessages
package import NavNavigator
package import NavRouting

extension RoutePreferences {
    /// Creates the core's form of options; omitted values are those of the node's vehicle.
    ///
    /// - Parameter isAsked: whether a caller requests the options, so that an unsupported language is an error. Otherwise they describe how
    ///   an existing route was found, perhaps by another planner: an unsupported language and the number of alternatives are dropped, and
    ///   the route is published with the options in force. Other invalid options are an error, since reroutes use them.
    /// - Throws: a failure that names the invalid option.
    package init(
        _ options: NavMessages.RouteOptions, node vehicle: NavRouting.VehicleProfile, minutesAheadOfUTC offset: Int?,
        isAsked: Bool = true
    ) throws(RouteFailure) {
        self.init()
        if let defect = options.defect(isAsked: isAsked) {
            throw RouteFailure(code: .invalidRequest, message: "options.\(defect)")
        }
        language = options.language.flatMap { PhraseTable.named($0)?.language }
        var wanted = options.vehicle.map { VehicleProfile($0, like: vehicle) } ?? vehicle
        if !options.avoid.isEmpty { wanted.avoid = Avoidance(options.avoid) }
        if wanted != vehicle { self.vehicle = wanted }
        allowsOnline = options.allowOnline ?? true
        usesTraffic = options.useTraffic ?? true
        units = options.units.flatMap { DistanceUnits($0) }
        // A given route has no alternatives.
        if isAsked { alternatives = options.alternatives.map { Int($0) } }
        self.options.initialManeuverAvoidance = options.initialManeuverAvoidanceM ?? 0
        for (number, polygon) in options.excludeAreas.enumerated() {
            let rings = polygon.rings.compactMap(\.corners)
            guard let outline = rings.first, rings.count == polygon.rings.count else {
                throw RouteFailure(
                    code: .invalidRequest,
                    message: "options.exclude_areas[\(number)] has no ring, or one without valid coordinates")
            }
            self.options.excludedAreas.append(ExcludedArea(corners: outline, holes: Array(rings.dropFirst())))
        }
        departure = options.departureNs.map { Timestamp(nanoseconds: $0) }
        if let departure, let offset { self.options.departure = LocalTime(departure, minutesAheadOfUTC: offset) }
    }
}

extension NavMessages.RouteOptions {
    /// The first invalid departure, 2200-01-01, ns since 1970: the arrival must fit into 64 bits too.
    private static let latestDeparture: Int64 = 7_258_118_400_000_000_000

    /// Returns the name of the first unsupported or invalid field and its allowed values; nil when there is none.
    ///
    /// - Parameter isAsked: false to ignore options of a foreign route that this node does not use.
    fileprivate func defect(isAsked: Bool) -> String? {
        // A longer text is not repeated in the error.
        if let defect = TextLimits.defect(language, of: "language", limit: TextLimits.language) { return defect }
        if isAsked, let tag = language, PhraseTable.named(tag) == nil {
            return "language: '\(tag)' is not supported; supported are \(PhraseTable.tags)"
        }
        if isAsked, let alternatives, alternatives > 2 { return "alternatives is not within 0 ... 2" }
        if let defect = vehicle?.defect { return "vehicle.\(defect)" }
        if let departureNs, !(0..<Self.latestDeparture).contains(departureNs) {
            return "departure_ns is not within the years 1970 ... 2199"
        }
        if let initialManeuverAvoidanceM, initialManeuverAvoidanceM < 0 {
            return "initial_maneuver_avoidance_m is below 0"
        }
        if let index = avoid.firstIndex(where: { Avoidance([$0]).isEmpty }) {
            return "avoid[\(index)]: \(avoid[index]) is not a feature to avoid"
        }
        return nil
    }

    /// Throws a failure that names the alternatives, which have no meaning when guidance continues or begins at once.
    ///
    /// - Parameter field: the name of the request's options.
    fileprivate func checkAlternatives(_ field: String) throws(RouteFailure) {
        guard let alternatives, alternatives > 0 else { return }
        throw RouteFailure(
            code: .invalidRequest,
            message: "\(field).alternatives: during guidance the node offers alternatives itself; omit the field")
    }

    /// Throws a failure that names an option that has no meaning for a reroute.
    ///
    /// - Parameter route: the preferences of the route in force; its options are published, and may be sent back.
    func checkReroute(of route: RoutePreferences?) throws(RouteFailure) {
        if alternatives.map({ Int($0) }) != route?.alternatives { try checkAlternatives("options") }
        if let departureNs, departureNs != route?.departure?.nanoseconds {
            throw RouteFailure(
                code: .invalidRequest,
                message: "options.departure_ns: a trip in progress departs now; omit the field")
        }
    }

    /// Creates the message of preferences.
    ///
    /// - Parameter guidance: the guidance of a route, whose language and units are in force; nil for the preferences alone.
    package init(_ preferences: RoutePreferences, of guidance: RouteGuidance? = nil) {
        self.init(
            vehicle: preferences.vehicle.map { NavMessages.VehicleProfile($0) },
            avoid: preferences.vehicle.map { $0.avoid.features } ?? [],
            excludeAreas: preferences.options.excludedAreas.map { area in
                NavMessages.Polygon(rings: ([area.corners] + area.holes).map { Polyline($0) })
            },
            alternatives: preferences.alternatives.map { UInt32(clamping: $0) },
            useTraffic: preferences.usesTraffic, departureNs: preferences.departure?.nanoseconds,
            initialManeuverAvoidanceM: preferences.options.initialManeuverAvoidance > 0
                ? preferences.options.initialManeuverAvoidance : nil,
            language: guidance?.options.text.phrases.language ?? preferences.language,
            units: (guidance.map(\.units) ?? preferences.units).flatMap { UnitSystem(known: $0) },
            allowOnline: preferences.allowsOnline)
    }
}

extension NavMessages.Polyline {
    /// The positions; nil when the numbers of latitudes and longitudes differ, or a position is outside the world.
    package var corners: [NavGeo.Coordinate]? { try? positions("") }

    /// Returns the positions; throws a failure that describes the fault, with the given field name.
    func positions(_ name: String) throws(RouteFailure) -> [NavGeo.Coordinate] {
        guard latDeltasE7.count == lonDeltasE7.count else {
            throw RouteFailure(
                code: .invalidRequest,
                message: "\(name) has \(latDeltasE7.count) latitudes and \(lonDeltasE7.count) longitudes")
        }
        var (latitude, longitude) = (Int32(0), Int32(0))
        var corners: [NavGeo.Coordinate] = []
        for (north, east) in zip(latDeltasE7, lonDeltasE7) {
            latitude &+= north
            longitude &+= east
            let corner = FixedCoordinate(latitudeE7: latitude, longitudeE7: longitude).coordinate
            guard corner.isValid else {
                throw RouteFailure(
                    code: .invalidRequest,
                    message:
                        "\(name): point \(corners.count) is outside the world; each point but the first is given as the "
                        + "difference from the previous one")
            }
            corners.append(corner)
        }
        return corners
    }
}

extension NavRouting.VehicleProfile {
    /// Creates the core's form of a vehicle; missing values are those of `own` if it is of the same kind, otherwise the kind's defaults.
    package init(_ message: NavMessages.VehicleProfile, like own: NavRouting.VehicleProfile) {
        let kind = message.vehicleClass.flatMap { Kind($0) } ?? own.kind
        let base = kind == own.kind ? own : VehicleProfile(kind: kind, avoid: own.avoid)
        self.init(
            kind: kind, avoid: base.avoid, height: message.heightM.map(Float.init) ?? base.height,
            width: message.widthM.map(Float.init) ?? base.width,
            length: message.lengthM.map(Float.init) ?? base.length,
            weight: message.weightKg.map { Float($0 / 1_000) } ?? base.weight,
            axleLoad: message.axleLoadKg.map { Float($0 / 1_000) } ?? base.axleLoad,
            carriesDangerousGoods: message.hazardousGoods ?? base.carriesDangerousGoods,
            maximumSpeed: message.maxSpeedMps.flatMap { $0 > 0 && $0.isFinite ? Float($0) : nil } ?? base.maximumSpeed)
    }
}

extension NavMessages.VehicleProfile {
    /// The name and the range of the first measure out of range; nil when there is none.
    fileprivate var defect: String? {
        // These are the ranges of the configuration's keys; they also reveal weights given in tonnes.
        let measures = [
            ("height_m", heightM, 0.5...10.0), ("width_m", widthM, 0.5...10), ("length_m", lengthM, 1...60),
            ("weight_kg", weightKg, 100...200_000), ("axle_load_kg", axleLoadKg, 100...50_000),
            ("max_speed_mps", maxSpeedMps, 0.1...150),
        ]
        return measures.first { _, value, range in value.map { !range.contains($0) } ?? false }.map {
            "\($0.0) is not within \($0.2.lowerBound) ... \($0.2.upperBound)"
        }
    }

    package init(_ vehicle: NavRouting.VehicleProfile) {
        self.init(
            vehicleClass: VehicleClass(vehicle.kind), heightM: vehicle.height.map(Double.init),
            widthM: vehicle.width.map(Double.init), lengthM: vehicle.length.map(Double.init),
            weightKg: vehicle.weight.map { Double($0) * 1_000 },
            axleLoadKg: vehicle.axleLoad.map { Double($0) * 1_000 },
            hazardousGoods: vehicle.carriesDangerousGoods, maxSpeedMps: Double(vehicle.maximumSpeed))
    }
}

extension Avoidance {
    private static let pairs: [(AvoidFeature, Avoidance)] = [
        (.tolls, .tolls), (.motorways, .motorways), (.ferries, .ferries), (.unpaved, .unpaved), (.tunnels, .tunnels),
    ]

    package init(_ features: [AvoidFeature]) {
        self = []
        for (feature, value) in Avoidance.pairs where features.contains(feature) { insert(value) }
    }

    package var features: [AvoidFeature] { Avoidance.pairs.filter { contains($0.1) }.map(\.0) }
}

extension RouteOrder {
    /// Creates the core's form of a request for routes.
    ///
    /// - Throws: a failure that names the invalid part.
    package init(
        _ request: CalculateRouteRequest, node vehicle: NavRouting.VehicleProfile, minutesAheadOfUTC offset: Int?
    )
        throws(RouteFailure)
    {
        let waypoints = try [NavRouting.Waypoint](request.waypoints)
        guard !waypoints.isEmpty else {
            throw RouteFailure(code: .invalidRequest, message: "no waypoints given")
        }
        let origin = try request.origin.map { message throws(RouteFailure) in
            try NavRouting.Waypoint(message, field: "origin")
        }
        let options = request.options ?? NavMessages.RouteOptions()
        self.init(
            origin: origin, waypoints: waypoints,
            preferences: try RoutePreferences(options, node: vehicle, minutesAheadOfUTC: offset),
            alternatives: Int(min(options.alternatives ?? 0, 2)))
    }
}

extension PreviewChoice {
    /// Creates the reference to the route that a request names; its id takes precedence over its index; nil when it names none.
    package init?(index: UInt32?, route: UInt64?) {
        if let route {
            self = .route(route)
        } else if let index {
            self = .index(Int(index))
        } else {
            return nil
        }
    }
}

extension NavigationCommand.Request {
    /// Throws a failure that names an option that has no meaning during guidance.
    ///
    /// Only for calls: recorded commands may have such options, which earlier versions ignored.
    ///
    /// - Parameter route: the preferences of the route in force.
    package func checkOptions(of route: @autoclosure () -> RoutePreferences?) throws(RouteFailure) {
        switch self {
        case .setRoute(let request):
            if case .calculate(let calculation)? = request.target {
                try calculation.options?.checkAlternatives("calculate.options")
            }
        case .reroute(let request): try request.options?.checkReroute(of: route())
        default: break
        }
    }
}

extension NavigatorCommand {
    /// Creates the core's form of a command.
    ///
    /// - Throws: a failure that names the invalid part.
    package init(
        _ request: NavigationCommand.Request, node vehicle: NavRouting.VehicleProfile, minutesAheadOfUTC offset: Int?,
        on map: MapSnapshot, route: (NavMessages.Route, RoutePreferences) throws(RouteFailure) -> RoutePlan
    ) throws(RouteFailure) {
        let bytes = NavigationCommand(request: request).encoded()
        let unusable = bytes.withUnsafeBytes {
            SchemaPool.builtIn.unusableValue(in: $0, as: NavigationCommand.fullName)
        }
        if let unusable { throw RouteFailure(code: .invalidRequest, message: unusable) }
        func drive(_ simulate: Bool?, _ factor: Double?) throws(RouteFailure) -> SimulatedDrive? {
            if let factor {
                guard simulate == true else {
                    throw RouteFailure(
                        code: .invalidRequest, message: "simulate_speed_factor requires simulate: true")
                }
                guard SimulatedDrive.speedRange.contains(factor) else {
                    let range = SimulatedDrive.speedRange
                    throw RouteFailure(
                        code: .invalidRequest,
                        message: "simulate_speed_factor is not within \(range.lowerBound) ... \(range.upperBound)")
                }
            }
            return simulate == true ? SimulatedDrive(speedFactor: factor ?? 1) : nil
        }
        switch request {
        case .calculateRoute(let request):
            self = .calculate(
                try RouteOrder(request, node: vehicle, minutesAheadOfUTC: offset), isPreview: request.preview ?? true)
        case .selectPreview(let request):
            guard let choice = PreviewChoice(index: request.index, route: request.routeId) else {
                throw RouteFailure(
                    code: .invalidRequest, message: "no route selected: set its route_id, or an index from 0")
            }
            self = .selectPreview(choice)
        case .startNavigation(let request):
            self = .start(
                preview: PreviewChoice(index: request.index, route: request.routeId),
                try drive(request.simulate, request.simulateSpeedFactor))
        case .setRoute(let request):
            let drive = try drive(request.simulate, request.simulateSpeedFactor)
            switch request.target {
            case .calculate(let calculation):
                guard calculation.preview != true else {
                    throw RouteFailure(
                        code: .invalidRequest,
                        message: "calculate.preview: SetRoute guides at once and opens no preview")
                }
                self = .navigate(try RouteOrder(calculation, node: vehicle, minutesAheadOfUTC: offset), drive)
            case .route(let message):
                let preferences = try message.options.map { options throws(RouteFailure) in
                    try RoutePreferences(options, node: vehicle, minutesAheadOfUTC: offset, isAsked: false)
                }
                var plan = try route(message, preferences ?? RoutePreferences())
                plan.provider = .external
                if let preferences { plan.ask(for: preferences) }
                self = .setRoute(plan, drive)
            case nil:
                throw RouteFailure(
                    code: .invalidRequest, message: "no target: set a route, or waypoints to calculate one")
            }
        case .stopNavigation: self = .stop
        case .reroute(let request):
            self = .reroute(
                try request.options.map { options throws(RouteFailure) in
                    try RoutePreferences(options, node: vehicle, minutesAheadOfUTC: offset)
                })
        case .selectAlternative(let request):
            guard let id = request.routeId else {
                throw RouteFailure(code: .invalidRequest, message: "no alternative selected: set its route_id")
            }
            self = .selectAlternative(id)
        case .acceptFasterRoute(let request): self = .acceptFasterRoute(request.accept ?? true, route: request.routeId)
        case .advanceLeg(let request): self = .advanceLeg(request.legIndex.map { Int($0) })
        case .skipWaypoint(let request): self = .skipWaypoint(request.waypointIndex.map { Int($0) })
        case .refreshRoute: self = .refreshRoute
        case .repeatInstruction: self = .repeatInstruction
        case .resumeTrip(let trip):
            self = .resume(
                try TripSnapshot(trip, node: vehicle, minutesAheadOfUTC: offset, on: map, route: route))
        case .getHorizon:
            throw RouteFailure(
                code: .internal, message: "the electronic horizon is not a command: read it with GetHorizon")
        }
    }
}

extension [NavRouting.Waypoint] {
    /// The maximum number of waypoints of a request.
    static let greatestCount = 100

    /// Creates the core's form of a field `waypoints`.
    ///
    /// - Throws: a failure that names the waypoint and its field.
    package init(_ messages: [NavMessages.Waypoint]) throws(RouteFailure) {
        self.init()
        guard messages.count <= Self.greatestCount else {
            throw RouteFailure(
                code: .invalidRequest,
                message: "waypoints: \(messages.count) are more than \(Self.greatestCount): split the request")
        }
        for (index, message) in messages.enumerated() {
            append(try NavRouting.Waypoint(message, field: "waypoints[\(index)]"))
        }
        if let last, !last.isStop {
            throw RouteFailure(
                code: .invalidRequest,
                message: "waypoints[\(count - 1)].kind: the last waypoint is the destination and cannot be a VIA")
        }
    }
}

extension NavRouting.Waypoint {
    fileprivate init(_ message: NavMessages.Waypoint, field: String) throws(RouteFailure) {
        let fault: String? =
            if let course = message.course, !(0..<2 * .pi).contains(course) {
                "\(field).course is not within 0 ..< 2π rad"
            } else if let tolerance = message.courseToleranceRad, !(0...Double.pi).contains(tolerance) {
                "\(field).course_tolerance_rad is not within 0 ... π"
            } else if message.courseToleranceRad != nil, message.course == nil {
                "\(field).course_tolerance_rad needs a course"
            } else if let radius = message.radiusM, !(0...RouteRequest.greatestSnapRadius).contains(radius) {
                "\(field).radius_m is not within 0 ... \(Int(RouteRequest.greatestSnapRadius)) m"
            } else {
                message.nameDefect(field)
            }
        if let fault { throw RouteFailure(code: .invalidRequest, message: fault) }
        guard let place = Self(message) else {
            throw RouteFailure(code: .invalidRequest, message: "\(field) has no valid latitude and longitude")
        }
        self = place
    }
}
