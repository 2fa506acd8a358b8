import Foundation
import NavGeo
import NavMap
package import NavRouting

/// A route request as an HTTP request.
package struct DirectionsRequest: Sendable, Equatable {
    /// The URL; the method is POST with a body, GET without.
    package var url: String
    /// The JSON body; nil for none.
    package var body: String?
    /// The token for `Authorization: Bearer`; nil for none.
    package var bearer: String?

    package init(
        _ request: RouteRequest, vehicle: VehicleProfile, _ configuration: DirectionsConfiguration, token: AccessToken?
    ) throws(DirectionsError) {
        if let fault = request.fault { throw DirectionsError(.invalidInput, fault) }
        var base = configuration.url
        while base.hasSuffix("/") { base.removeLast() }
        let builder = QuestionBuilder(request: request, vehicle: vehicle, configuration: configuration)
        switch configuration.dialect {
        case .osrm:
            url = "\(base)/route/v1/\(builder.profile)/\(builder.places)?\(query(builder.osrm))"
            bearer = token?.value
        case .mapbox:
            var items = builder.mapbox
            if let token { items.append(("access_token", token.value)) }
            url = "\(base)/directions/v5/\(builder.profile)/\(builder.places)?\(query(items))"
        case .valhalla:
            url = "\(base)/route"
            bearer = token?.value
            guard let data = try? JSONSerialization.data(withJSONObject: builder.valhalla, options: [.sortedKeys])
            else {
                throw DirectionsError(.invalidInput, "the request cannot be written as JSON")
            }
            body = String(decoding: data, as: UTF8.self)
        }
    }
}

/// Returns a query string; OSRM's separators `;` and `,` are not escaped.
private func query(_ items: [(String, String)]) -> String {
    let allowed = CharacterSet(charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~;,:/")
    return items.map { "\($0)=\($1.addingPercentEncoding(withAllowedCharacters: allowed) ?? "")" }
        .joined(separator: "&")
}

/// A builder of requests in each dialect.
private struct QuestionBuilder {
    let request: RouteRequest
    let vehicle: VehicleProfile
    let configuration: DirectionsConfiguration

    private var waypoints: [Waypoint] { request.waypoints }

    var profile: String {
        if !configuration.profile.isEmpty { return configuration.profile }
        return switch configuration.dialect {
        case .osrm: "driving"
        case .mapbox: "mapbox/driving-traffic"
        case .valhalla: vehicle.kind == .truck ? "truck" : "auto"
        }
    }

    /// `longitude,latitude` of each place, to a tenth of a metre.
    var places: String {
        waypoints.map { "\(degrees($0.coordinate.longitude)),\(degrees($0.coordinate.latitude))" }
            .joined(separator: ";")
    }

    private func degrees(_ value: Double) -> String { String(format: "%.6f", value) }

    /// Returns the bearing in whole degrees clockwise from north.
    private func bearing(_ waypoint: Waypoint) -> Int? {
        waypoint.bearing.map { Int(Angle.degrees(Angle.normalised($0)).rounded()) % 360 }
    }

    private func tolerance(_ waypoint: Waypoint) -> Int {
        Int(min(Angle.degrees(waypoint.bearingTolerance), 180).rounded())
    }

    // MARK: OSRM and Mapbox

    var osrm: [(String, String)] {
        var items = common
        items.append(("annotations", "distance,duration,speed,nodes"))
        items.append(("generate_hints", "false"))
        if configuration.alternatives > 0 { items.append(("alternatives", String(configuration.alternatives))) }
        switch request.options.waypointTurns {
        case .atStops: break
        case .everywhere: items.append(("continue_straight", "false"))
        case .never: items.append(("continue_straight", "true"))
        }
        return items
    }

    var mapbox: [(String, String)] {
        var items = common
        items.append(("annotations", "distance,duration,speed,congestion"))
        items.append(("voice_instructions", "false"))
        items.append(("banner_instructions", "false"))
        if configuration.alternatives > 0 { items.append(("alternatives", "true")) }
        if !configuration.language.isEmpty { items.append(("language", configuration.language)) }
        if request.options.waypointTurns == .never { items.append(("continue_straight", "true")) }
        if request.options.initialManeuverAvoidance > 0 {
            // The API accepts 1 ... 1,000 m.
            let radius = min(max(request.options.initialManeuverAvoidance, 1), 1_000)
            items.append(("avoid_maneuver_radius", String(Int(radius.rounded()))))
        }
        for (name, value) in [
            ("max_height", size(\.height)), ("max_width", size(\.width)), ("max_weight", size(\.weight)),
        ] {
            if let value, value.isFinite { items.append((name, "\(value)")) }
        }
        if let departure { items.append(("depart_at", departure)) }
        return items
    }

    private var common: [(String, String)] {
        var items = [("overview", "full"), ("geometries", "polyline6")]
        // Both APIs document silent waypoints only together with steps.
        let isSilent = waypoints.dropFirst().dropLast().contains { !$0.isStop }
        items.append(
            ("steps", configuration.includesSteps || isSilent && configuration.dialect == .mapbox ? "true" : "false"))
        if waypoints.contains(where: { $0.bearing != nil }) {
            let bearings = waypoints.map { waypoint in
                bearing(waypoint).map { "\($0),\(tolerance(waypoint))" } ?? ""
            }
            items.append(("bearings", bearings.joined(separator: ";")))
        }
        let radiuses = waypoints.indices.map { String(max(Int(request.snapRadius(of: $0).rounded()), 1)) }
        items.append(("radiuses", radiuses.joined(separator: ";")))
        if waypoints.contains(where: { $0.approach == .kerb }) {
            let approaches = waypoints.map { $0.approach == .kerb ? "curb" : "unrestricted" }
            items.append(("approaches", approaches.joined(separator: ";")))
        }
        if isSilent {
            let stops = waypoints.indices.filter { $0 == 0 || $0 == waypoints.count - 1 || waypoints[$0].isStop }
            items.append(("waypoints", stops.map(String.init).joined(separator: ";")))
        }
        if !excluded.isEmpty { items.append(("exclude", excluded.joined(separator: ","))) }
        return items
    }

    /// The road classes to avoid that the dialect can exclude; the others are not sent.
    private var excluded: [String] {
        var names: [(Avoidance, String)] = [(.tolls, "toll"), (.motorways, "motorway"), (.ferries, "ferry")]
        if configuration.dialect == .mapbox { names.append((.unpaved, "unpaved")) }
        return names.filter { vehicle.avoid.contains($0.0) }.map(\.1)
    }

    /// `YYYY-MM-DDThh:mm` in local time at the place.
    private var departure: String? {
        guard configuration.sendsDeparture, let minutes = request.options.departure?.minutes,
            (0...Self.latestMinute).contains(minutes)
        else { return nil }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let date = Date(timeIntervalSince1970: Double(minutes) * 60)
        let parts = calendar.dateComponents([.year, .month, .day, .hour, .minute], from: date)
        guard let year = parts.year, let month = parts.month, let day = parts.day, let hour = parts.hour,
            let minute = parts.minute
        else { return nil }
        return String(format: "%04d-%02d-%02dT%02d:%02d", year, month, day, hour, minute)
    }

    /// The end of the year 9999.
    private static let latestMinute: Int64 = 4_223_371_679

    // MARK: Valhalla

    var valhalla: [String: Any] {
        var document: [String: Any] = [
            "format": "osrm", "shape_format": "polyline6", "costing": profile, "annotations": true,
            "banner_instructions": false, "voice_instructions": false, "units": "kilometers",
            "directions_type": configuration.includesSteps ? "maneuvers" : "none",
            "locations": waypoints.indices.map(location),
            // Annotations are returned only when they are named.
            "filters": [
                "action": "include",
                "attributes": ["shape_attributes.length", "shape_attributes.time", "shape_attributes.speed"],
            ] as [String: Any],
            "costing_options": [profile: costing],
        ]
        if configuration.alternatives > 0 { document["alternates"] = configuration.alternatives }
        if !configuration.language.isEmpty { document["language"] = configuration.language }
        // Valhalla does not support holes. A route through an area that is not sent is rejected when it is matched to
        // the map.
        let areas = request.options.excludedAreas.filter(\.holes.isEmpty)
        if !areas.isEmpty {
            document["exclude_polygons"] = areas.map { area in
                area.corners.map { [rounded($0.longitude), rounded($0.latitude)] }
            }
        }
        if let departure { document["date_time"] = ["type": 1, "value": departure] as [String: Any] }
        return document
    }

    private func location(_ index: Int) -> [String: Any] {
        let waypoint = waypoints[index]
        var result: [String: Any] = [
            "lat": rounded(waypoint.coordinate.latitude), "lon": rounded(waypoint.coordinate.longitude),
            "search_cutoff": Int(request.snapRadius(of: index).rounded()),
        ]
        // A stop ends a leg; "through" and "break_through" allow no U-turn.
        let isStop = index == 0 || index == waypoints.count - 1 || waypoint.isStop
        switch request.options.waypointTurns {
        case .atStops: result["type"] = isStop ? "break" : "through"
        case .everywhere: result["type"] = isStop ? "break" : "via"
        case .never: result["type"] = isStop ? "break_through" : "through"
        }
        if index == 0 || index == waypoints.count - 1 { result["type"] = "break" }
        if let bearing = bearing(waypoint) {
            result["heading"] = bearing
            result["heading_tolerance"] = tolerance(waypoint)
        }
        if waypoint.approach == .kerb { result["preferred_side"] = "same" }
        return result
    }

    /// Returns a dimension of the vehicle; nil when it equals that of the default car, which the provider assumes.
    private func size(_ size: KeyPath<VehicleProfile, Float?>) -> Float? {
        let isUsual = vehicle.kind == .car && vehicle[keyPath: size] == VehicleProfile()[keyPath: size]
        return isUsual ? nil : vehicle[keyPath: size]
    }

    private var costing: [String: Any] {
        var options: [String: Any] = [:]
        if vehicle.avoid.contains(.tolls) { options["use_tolls"] = 0 }
        if vehicle.avoid.contains(.motorways) { options["use_highways"] = 0 }
        if vehicle.avoid.contains(.ferries) { options["use_ferry"] = 0 }
        if vehicle.avoid.contains(.unpaved) { options["exclude_unpaved"] = true }
        for (name, value) in [
            ("height", size(\.height)), ("width", size(\.width)), ("length", size(\.length)),
            ("weight", size(\.weight)), ("axle_load", size(\.axleLoad)),
        ] {
            if let value, value.isFinite { options[name] = (Double(value) * 100).rounded() / 100 }
        }
        if vehicle.carriesDangerousGoods { options["hazmat"] = true }
        let top = Double(vehicle.maximumSpeed) * 3.6
        // The API accepts 10 ... 252 km/h.
        if vehicle.kind == .truck, top.isFinite { options["top_speed"] = Int(min(max(top, 10), 252).rounded()) }
        return options
    }

    private func rounded(_ degrees: Double) -> Double { (degrees * 1e6).rounded() / 1e6 }
}
