import Foundation
import NavGeo
import NavGuidance
import NavMap
import NavRouting

/// A step of a route in OSRM's form.
private struct OSRMStep {
    var maneuver: Maneuver
    var type: String
    var modifier: String?
    var exit: Int?
    var coordinate: Coordinate
    var routeOffset: Double
    var length: Double
    var duration: Double
    var name: String
    /// The instruction; nil for the second part of a maneuver.
    var instruction: String?
    var junctions: [RouteJunction]

    init(_ step: RouteStep, _ text: InstructionText) {
        maneuver = step.maneuver
        type = step.maneuver.type.rawValue
        modifier = step.maneuver.modifier?.rawValue
        exit = step.maneuver.roundaboutExit
        coordinate = step.maneuver.coordinate
        routeOffset = step.routeOffset
        length = step.length
        duration = step.duration
        name = step.name
        instruction = text.instruction(step.maneuver)
        junctions = step.junctions
    }
}

/// A document of routes for other programs.
struct RouteDocument {
    /// A route with its guidance and summary.
    private struct Entry {
        var route: Route
        var guidance: RouteGuidance
        var summary: RouteSummary
        /// The roads that distinguish it from the others.
        var via: [String]
        /// The description as an alternative; nil for the best route.
        var alternative: AlternativeRoute?
    }

    private let entries: [Entry]
    private let listsAlternatives: Bool

    /// A document of a route and its alternatives; with `listsAlternatives` it has a list of alternatives even if empty.
    ///
    /// Like OSRM, the OSRM format announces roads that change their names.
    init(
        _ routes: AlternativeRoutes, _ graph: RoadGraph, _ vehicle: VehicleProfile, listsAlternatives: Bool,
        format: RouteCommand.Format, wording: Wording = Wording()
    ) {
        let options = GuidanceOptions(wording, announcesNameChanges: format == .osrm)
        func entry(_ route: Route, _ via: [String], _ alternative: AlternativeRoute?) -> Entry {
            Entry(
                route: route, guidance: RouteGuidance(route: route, graph: graph, options: options),
                summary: RouteSummary(route, for: vehicle), via: via, alternative: alternative)
        }
        entries =
            [entry(routes.main, routes.via, nil)] + routes.alternatives.map { entry($0.route, $0.via, $0) }
        self.listsAlternatives = listsAlternatives
    }

    /// Returns the routes in a format.
    func text(_ format: RouteCommand.Format) throws -> String {
        let object: Any =
            switch format {
            case .json: native()
            case .geojson: geojson()
            case .osrm: osrm()
            }
        let data = try JSONSerialization.data(withJSONObject: object, options: [.sortedKeys, .withoutEscapingSlashes])
        return String(decoding: data, as: UTF8.self)
    }

    /// Returns the best route, with its alternatives in a separate list.
    private func native() -> [String: Any] {
        var object = Self.native(entries[0])
        if listsAlternatives { object["alternatives"] = entries.dropFirst().map(Self.native) }
        return object
    }

    /// Returns the lines of all routes, each followed by its maneuvers and its notices.
    private func geojson() -> [String: Any] {
        ["type": "FeatureCollection", "features": entries.indices.flatMap { Self.features(entries[$0], $0) }]
    }

    /// Returns the routes in the form of OSRM's `route` service, with geometries as GeoJSON.
    private func osrm() -> [String: Any] {
        [
            "code": "Ok", "routes": entries.map(Self.osrm),
            "waypoints": entries[0].route.waypoints.map { waypoint in
                [
                    "location": Self.position(waypoint.snapped), "distance": Self.number(waypoint.snapDistance),
                    "name": waypoint.waypoint.name,
                ] as [String: Any]
            },
        ]
    }

    private static func number(_ value: Double, _ digits: Int = 1) -> NSDecimalNumber {
        NSDecimalNumber(string: String(format: "%.\(digits)f", value))
    }

    private static func position(_ coordinate: Coordinate) -> [Any] {
        [number(coordinate.longitude, 7), number(coordinate.latitude, 7)]
    }

    private static func native(_ entry: Entry) -> [String: Any] {
        let (route, guidance, summary) = (entry.route, entry.guidance, entry.summary)
        var object: [String: Any] = [
            "distance_m": number(route.length), "duration_s": number(route.duration), "map_version": route.mapVersion,
            "geometry": route.coordinates.map(position),
            "waypoints": route.waypoints.map { waypoint in
                [
                    "location": position(waypoint.snapped), "snap_distance_m": number(waypoint.snapDistance),
                    "route_offset_m": number(waypoint.routeOffset),
                ] as [String: Any]
            },
            "edges": route.edges.map { edge($0, route.vehicle) },
            "nodes": nodes(route),
            "legs": route.legs.indices.map { leg in
                [
                    "distance_m": number(route.legs[leg].length), "duration_s": number(route.legs[leg].duration),
                    "duration_free_flow_s": number(route.legs[leg].freeFlowDuration),
                    "first_edge": route.legs[leg].edges.lowerBound, "edge_count": route.legs[leg].edges.count,
                    "steps": steps(guidance, leg).indices.map { index in
                        let step = guidance.steps[index]
                        return [
                            "distance_m": number(step.length), "duration_s": number(step.duration), "name": step.name,
                            "distance_text": guidance.displayedLength(ofStep: index),
                            "driving_side": step.maneuver.drivingSide.rawValue,
                            "type": step.maneuver.type.rawValue,
                            "modifier": step.maneuver.modifier?.rawValue ?? NSNull() as Any,
                            "location": position(step.maneuver.coordinate),
                            "instruction": guidance.options.text.instruction(step.maneuver),
                        ] as [String: Any]
                    },
                    "notices": guidance.notices.filter { $0.leg == leg }.map { notice in
                        [
                            "kind": notice.kind.rawValue, "location": position(notice.coordinate),
                            "route_offset_m": number(notice.routeOffset),
                            "length_m": notice.length.map { number($0) } ?? NSNull() as Any,
                            "country": notice.country.isEmpty ? NSNull() as Any : notice.country,
                            "instruction": guidance.instruction(notice),
                        ] as [String: Any]
                    },
                ] as [String: Any]
            },
            "summary": entry.via.joined(separator: ", "),
            "duration_free_flow_s": number(route.freeFlowDuration),
            "traffic_delay_s": route.trafficDelay.map { number($0) } ?? NSNull() as Any,
            "toll": [
                "total_length_m": number(summary.anyTollLength), "car_length_m": number(summary.tollLength),
                "truck_length_m": number(summary.truckTollLength),
                "booths": summary.tollBooths,
            ] as [String: Any],
            "driving_side": summary.startsOnLeft ? "left" : "right",
            "countries": summary.countries.map { passage in
                [
                    "country": passage.country.isEmpty ? NSNull() as Any : passage.country,
                    "route_offset_m": number(passage.routeOffset), "length_m": number(passage.length),
                    "driving_side": passage.drivesOnLeft ? "left" : "right",
                ] as [String: Any]
            },
            "ferries": summary.ferries.map { ferry in
                [
                    "name": ferry.name, "route_offset_m": number(ferry.routeOffset),
                    "length_m": number(ferry.length), "duration_s": number(ferry.duration),
                ] as [String: Any]
            },
            "restrictions": summary.restrictions.map { restriction in
                [
                    "kind": restriction.kind.rawValue, "limit": optional(restriction.limit),
                    "own": optional(restriction.own), "way_id": restriction.wayID,
                    "route_offset_m": number(restriction.routeOffset), "length_m": number(restriction.distance),
                ] as [String: Any]
            },
        ]
        if let alternative = entry.alternative {
            object["id"] = String(alternative.id, radix: 16)
            object["distance_delta_m"] = number(alternative.lengthDelta)
            object["duration_delta_s"] = number(alternative.durationDelta)
            object["sharing"] = number(alternative.sharing, 3)
            object["stretch"] = number(alternative.stretch, 3)
            object["fork"] = [
                "edge_id": String(alternative.fork.edge.rawValue), "edge_offset_m": number(alternative.fork.offset),
                "location": position(alternative.fork.coordinate),
                "route_offset_m": number(alternative.fork.routeOffset),
                "distance_from_m": number(alternative.lengthFromFork),
                "duration_from_s": number(alternative.durationFromFork),
            ]
        }
        return object
    }

    private static func edge(_ edge: RouteEdge, _ vehicle: VehicleProfile) -> [String: Any] {
        let limit = edge.attributes.limit(for: vehicle.access)
        return [
            "edge_id": String(edge.key.rawValue), "way_id": edge.wayID, "length_m": number(edge.length),
            "duration_s": number(edge.duration + edge.turnDuration, 2),
            "duration_free_flow_s": number(edge.freeFlowDuration + edge.turnDuration, 2),
            "name": edge.attributes.name, "ref": edge.attributes.reference, "class": "\(edge.attributes.roadClass)",
            "speed_mps": number(edge.speed, 2), "speed_limit_mps": optional(limit.speed),
            "limit_source": "\(limit.source)", "unlimited": limit.isUnlimited, "congestion": edge.congestion.rawValue,
            "country": edge.country.isEmpty ? NSNull() as Any : edge.country,
            "driving_side": edge.drivesOnLeft ? "left" : "right",
        ]
    }

    private static func optional(_ value: Float?) -> Any {
        value.map { number(Double($0), 2) } ?? NSNull() as Any
    }

    /// Returns the OSM node ids along the route.
    private static func nodes(_ route: Route) -> [Int64] {
        var nodes: [Int64] = []
        for segment in route.segments {
            if nodes.last != segment.fromNodeID { nodes.append(segment.fromNodeID) }
            nodes.append(segment.toNodeID)
        }
        return nodes
    }

    private static func features(_ entry: Entry, _ number: Int) -> [[String: Any]] {
        let (route, guidance) = (entry.route, entry.guidance)
        var properties: [String: Any] = [
            "distance_m": Self.number(route.length), "duration_s": Self.number(route.duration), "route": number,
            "summary": entry.via.joined(separator: ", "),
        ]
        if let alternative = entry.alternative { properties["id"] = String(alternative.id, radix: 16) }
        var features: [[String: Any]] = [
            [
                "type": "Feature",
                "geometry": ["type": "LineString", "coordinates": route.coordinates.map(position)] as [String: Any],
                "properties": properties,
            ]
        ]
        func point(_ place: Coordinate, _ type: ManeuverType, _ instruction: String) -> [String: Any] {
            [
                "type": "Feature",
                "geometry": ["type": "Point", "coordinates": position(place)] as [String: Any],
                "properties": ["instruction": instruction, "type": type.rawValue, "route": number] as [String: Any],
            ]
        }
        features += guidance.steps.map { step in
            point(step.maneuver.coordinate, step.maneuver.type, guidance.options.text.instruction(step.maneuver))
        }
        features += guidance.notices.map { point($0.coordinate, .notification, guidance.instruction($0)) }
        return features
    }

    private static func osrm(_ entry: Entry) -> [String: Any] {
        let (route, guidance) = (entry.route, entry.guidance)
        func line(_ coordinates: [Coordinate]) -> [String: Any] {
            ["type": "LineString", "coordinates": coordinates.map(position)]
        }
        /// Splits a roundabout like OSRM: one step through it and one from its exit on.
        func partedRoundabout(_ step: RouteStep) -> [OSRMStep] {
            let maneuver = step.maneuver
            let entry = OSRMStep(step, guidance.options.text)
            guard let modifier = maneuver.exitModifier, maneuver.type == .roundabout || maneuver.type == .rotary else {
                return [entry]
            }
            var (ring, exit) = (entry, entry)
            ring.length = min(maneuver.endOffset - maneuver.routeOffset, step.length)
            ring.duration = step.length > 0 ? step.duration * ring.length / step.length : 0
            exit.type = "exit " + maneuver.type.rawValue
            exit.modifier = modifier.rawValue
            exit.exit = nil
            exit.instruction = nil
            exit.routeOffset += ring.length
            exit.length -= ring.length
            exit.duration -= ring.duration
            exit.coordinate = route.line.coordinate(at: exit.routeOffset) ?? entry.coordinate
            let inRing = entry.junctions.count {
                route.line.cumulativeLengths[$0.point] < exit.routeOffset - 0.5
            }
            ring.junctions = Array(entry.junctions.prefix(inRing))
            exit.junctions = Array(entry.junctions.dropFirst(inRing))
            return ring.length > 0 ? [ring, exit] : [exit]
        }
        let legs = route.legs.indices.map { leg in
            [
                "distance": number(route.legs[leg].length), "duration": number(route.legs[leg].duration),
                "weight": number(route.legs[leg].duration), "summary": summary(route, leg, entry.via),
                "steps": steps(guidance, leg).flatMap(partedRoundabout).map { step in
                    var maneuver: [String: Any] = [
                        "type": step.type, "location": position(step.coordinate),
                        "bearing_before": Int(Angle.degrees(step.maneuver.bearingBefore)) % 360,
                        "bearing_after": Int(Angle.degrees(step.maneuver.bearingAfter)) % 360,
                    ]
                    maneuver["modifier"] = step.modifier
                    maneuver["exit"] = step.exit
                    maneuver["instruction"] = step.instruction
                    let piece = route.line.slice(from: step.routeOffset, to: step.routeOffset + step.length)
                    let points = piece.isEmpty ? [step.coordinate, step.coordinate] : piece
                    var object: [String: Any] = [
                        "distance": number(step.length), "duration": number(step.duration),
                        "weight": number(step.duration),
                        "name": step.name, "mode": mode(step, route),
                        "driving_side": step.maneuver.drivingSide.rawValue,
                        "geometry": line(points), "maneuver": maneuver,
                        "intersections": step.junctions.map { intersection($0, route) },
                    ]
                    object.merge(signs(step.maneuver)) { $1 }
                    return object
                },
            ] as [String: Any]
        }
        return [
            "distance": number(route.length), "duration": number(route.duration), "weight_name": "duration",
            "weight": number(route.duration), "geometry": line(route.coordinates), "legs": legs,
        ]
    }

    /// Returns OSRM's mode of travel on a step; a step never begins on a road and ends on a ferry or train.
    private static func mode(_ step: OSRMStep, _ route: Route) -> String {
        let middle = route.pieces(from: step.routeOffset + step.length / 2).first
        return middle?.attributes.roadClass == .ferry ? "ferry" : "driving"
    }

    /// Returns the fields of OSRM's step about a maneuver's road and signs; unknown ones are omitted.
    private static func signs(_ maneuver: Maneuver) -> [String: String] {
        let road = maneuver.road
        let places = road.destinations.joined(separator: ", ")
        let numbers = road.destinationReferences.joined(separator: ", ")
        let signs = [
            "ref": road.references.joined(separator: "; "),
            "destinations": places.isEmpty || numbers.isEmpty ? numbers + places : numbers + ": " + places,
            "exits": maneuver.exitNumbers.joined(separator: "; "), "rotary_name": maneuver.roundaboutName,
        ]
        return signs.filter { !$0.value.isEmpty }
    }

    /// Returns a junction as OSRM's intersection.
    private static func intersection(_ junction: RouteJunction, _ route: Route) -> [String: Any] {
        var result: [String: Any] = [
            "location": position(route.coordinates[junction.point]),
            "bearings": junction.bearings.map { Int(Angle.degrees($0)) % 360 }, "entry": junction.entries,
        ]
        result["in"] = junction.incoming
        result["out"] = junction.outgoing
        if !junction.lanes.isEmpty {
            result["lanes"] = junction.lanes.map { lane in
                [
                    "valid": lane.isValid,
                    "indications": lane.indications.isEmpty ? ["none"] : lane.indications.map(\.rawValue),
                ] as [String: Any]
            }
        }
        return result
    }

    /// Returns a summary that distinguishes a leg from another route's leg: the route's names, as far as the leg uses those roads.
    private static func summary(_ route: Route, _ leg: Int, _ via: [String]) -> String {
        if route.legs.count == 1 { return via.joined(separator: ", ") }
        let names = Set(route.edges[route.legs[leg].edges].map(\.roadName))
        return via.filter(names.contains).joined(separator: ", ")
    }

    private static func steps(_ guidance: RouteGuidance, _ leg: Int) -> ArraySlice<RouteStep> {
        guidance.legs.indices.contains(leg) ? guidance.steps[guidance.legs[leg]] : []
    }
}
