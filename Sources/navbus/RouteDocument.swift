import Foundation
import NavGeo
import NavGuidance
import NavMap
import NavRouting

/// A route as text for other programs.
enum RouteDocument {
    /// The route in a format.
    static func text(_ route: Route, _ guidance: RouteGuidance, format: RouteCommand.Format) throws -> String {
        let object: Any =
            switch format {
            case .json: native(route, guidance)
            case .geojson: geojson(route, guidance)
            case .osrm: osrm(route, guidance)
            }
        let data = try JSONSerialization.data(withJSONObject: object, options: [.sortedKeys, .withoutEscapingSlashes])
        return String(decoding: data, as: UTF8.self)
    }

    private static func number(_ value: Double, _ digits: Int = 1) -> NSDecimalNumber {
        NSDecimalNumber(string: String(format: "%.\(digits)f", value))
    }

    private static func position(_ coordinate: Coordinate) -> [Any] {
        [number(coordinate.longitude, 7), number(coordinate.latitude, 7)]
    }

    private static func native(_ route: Route, _ guidance: RouteGuidance) -> [String: Any] {
        [
            "distance_m": number(route.length), "duration_s": number(route.duration), "map_version": route.mapVersion,
            "geometry": route.coordinates.map(position),
            "waypoints": route.waypoints.map { waypoint in
                [
                    "location": position(waypoint.snapped), "snap_distance_m": number(waypoint.snapDistance),
                    "route_offset_m": number(waypoint.routeOffset),
                ] as [String: Any]
            },
            "edges": route.edges.map { edge in
                [
                    "edge_id": String(edge.key.rawValue), "way_id": edge.wayID, "length_m": number(edge.length),
                    "duration_s": number(edge.duration + edge.turnDuration, 2), "name": edge.attributes.name,
                    "ref": edge.attributes.reference, "class": "\(edge.attributes.roadClass)",
                ] as [String: Any]
            },
            "nodes": nodes(route),
            "legs": route.legs.indices.map { leg in
                [
                    "distance_m": number(route.legs[leg].length), "duration_s": number(route.legs[leg].duration),
                    "steps": steps(guidance, leg).map { step in
                        [
                            "distance_m": number(step.length), "duration_s": number(step.duration), "name": step.name,
                            "type": step.maneuver.type.rawValue,
                            "modifier": step.maneuver.modifier?.rawValue ?? NSNull() as Any,
                            "location": position(step.maneuver.coordinate),
                            "instruction": guidance.options.text.instruction(step.maneuver),
                        ] as [String: Any]
                    },
                ] as [String: Any]
            },
        ]
    }

    /// OSM node ids along the route.
    private static func nodes(_ route: Route) -> [Int64] {
        var nodes: [Int64] = []
        for segment in route.segments {
            if nodes.last != segment.fromNodeID { nodes.append(segment.fromNodeID) }
            nodes.append(segment.toNodeID)
        }
        return nodes
    }

    private static func geojson(_ route: Route, _ guidance: RouteGuidance) -> [String: Any] {
        var features: [[String: Any]] = [
            [
                "type": "Feature",
                "geometry": ["type": "LineString", "coordinates": route.coordinates.map(position)] as [String: Any],
                "properties": ["distance_m": number(route.length), "duration_s": number(route.duration)],
            ]
        ]
        features += guidance.steps.map { step in
            [
                "type": "Feature",
                "geometry": ["type": "Point", "coordinates": position(step.maneuver.coordinate)] as [String: Any],
                "properties": [
                    "instruction": guidance.options.text.instruction(step.maneuver),
                    "type": step.maneuver.type.rawValue,
                ],
            ]
        }
        return ["type": "FeatureCollection", "features": features]
    }

    /// The shape of OSRM's `route` service, geometries as GeoJSON.
    private static func osrm(_ route: Route, _ guidance: RouteGuidance) -> [String: Any] {
        func line(_ coordinates: [Coordinate]) -> [String: Any] {
            ["type": "LineString", "coordinates": coordinates.map(position)]
        }
        let legs = route.legs.indices.map { leg in
            [
                "distance": number(route.legs[leg].length), "duration": number(route.legs[leg].duration),
                "weight": number(route.legs[leg].duration), "summary": "",
                "steps": steps(guidance, leg).map { step in
                    var maneuver: [String: Any] = [
                        "type": step.maneuver.type.rawValue, "location": position(step.maneuver.coordinate),
                        "bearing_before": Int(Angle.degrees(step.maneuver.bearingBefore)) % 360,
                        "bearing_after": Int(Angle.degrees(step.maneuver.bearingAfter)) % 360,
                    ]
                    maneuver["modifier"] = step.maneuver.modifier?.rawValue
                    maneuver["exit"] = step.maneuver.roundaboutExit
                    let piece = route.line.slice(from: step.routeOffset, to: step.routeOffset + step.length)
                    let points = piece.isEmpty ? [step.maneuver.coordinate, step.maneuver.coordinate] : piece
                    return [
                        "distance": number(step.length), "duration": number(step.duration),
                        "weight": number(step.duration),
                        "name": step.name, "mode": "driving", "driving_side": step.maneuver.drivingSide.rawValue,
                        "geometry": line(points), "maneuver": maneuver, "intersections": [] as [Any],
                    ] as [String: Any]
                },
            ] as [String: Any]
        }
        return [
            "code": "Ok",
            "routes": [
                [
                    "distance": number(route.length), "duration": number(route.duration), "weight_name": "duration",
                    "weight": number(route.duration), "geometry": line(route.coordinates), "legs": legs,
                ] as [String: Any]
            ],
            "waypoints": route.waypoints.map { waypoint in
                [
                    "location": position(waypoint.snapped), "distance": number(waypoint.snapDistance),
                    "name": waypoint.waypoint.name,
                ] as [String: Any]
            },
        ]
    }

    private static func steps(_ guidance: RouteGuidance, _ leg: Int) -> ArraySlice<RouteStep> {
        guidance.legs.indices.contains(leg) ? guidance.steps[guidance.legs[leg]] : []
    }
}
