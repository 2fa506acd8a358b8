import ArgumentParser
import Foundation
import NavGeo
import NavGuidance
import NavKit
import NavMap
import NavRouting
import NavigationNode

/// `navbus map junction`.
struct MapJunction: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "junction",
        abstract: "Draw the junction nearest to a place as used by guidance: roads in order, turns, lanes, signals.",
        discussion: """
            The roads are named A, B, C … clockwise from north. Below each road that leads to the junction are its exits, from right to left: \
            the turn in degrees, the instruction to the driver, the lanes that lead there, and why an exit is closed to the vehicle.

            The turns are those at this node alone. Nodes that drivers may perceive as the same junction are listed below. Only a route decides \
            which of them are announced together and in which direction, where a slip lane leads, which exit of a roundabout is taken, and \
            which new names are announced.
            """)

    enum Format: String, ExpressibleByArgument, CaseIterable { case text, geojson }

    // A southern latitude begins with `-`, like an option.
    @Argument(parsing: .allUnrecognized, help: ArgumentHelp("The place, degrees.", valueName: "LAT,LON")) var places:
        [String]
    @Option(help: ArgumentHelp("Directory of road tiles.", valueName: "DIR")) var tiles: String
    @Option(help: ArgumentHelp("The kind of vehicle.", valueName: "KIND")) var profile = VehicleProfile.Kind.car
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Width, metres, to which narrower lanes are closed; a car's is 1.9, a truck's 2.55.", valueName: "METRES"))
    var width: Float?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Maximum distance of the junction, metres, 1 to 10000.", valueName: "METRES")) var radius =
        150.0
    @Option(help: ArgumentHelp("Output format.", valueName: "FORMAT")) var format = Format.text

    func validate() throws {
        guard places.count == 1, Coordinate(text: places[0])?.isValid == true else {
            throw ValidationError("'\(places.joined(separator: " "))' is not one place LAT,LON in degrees")
        }
        guard (1...10_000).contains(radius) else { throw ValidationError("--radius must be 1 to 10000") }
        let widths = VehicleKeys.Bounds.width
        if let width, !widths.contains(width) {
            throw ValidationError("--width must be \(widths.lowerBound) to \(widths.upperBound) metres")
        }
    }

    func run() throws {
        guard let place = Coordinate(text: places[0]) else { return }
        let graph = try TilesetDirectory(path: tiles).loadGraph()
        let vehicle = VehicleProfile(kind: profile, width: width)
        guard
            let view = JunctionView(
                near: place, radius: radius, in: graph, for: vehicle.access, width: vehicle.width)
        else {
            throw NodeError(
                .missing,
                "no three roads for a \(profile.rawValue) meet within \(Int(radius)) m of \(place.text): give a place nearer to a "
                    + "junction, or a larger --radius")
        }
        print(try format == .text ? JunctionDrawing(view).text : JunctionDrawing(view).geojson)
    }
}

/// A junction as text or as GeoJSON.
struct JunctionDrawing {
    private let view: JunctionView

    init(_ view: JunctionView) { self.view = view }

    private func letter(_ arm: Int) -> String {
        arm < 26 ? String(UnicodeScalar(UInt8(65 + arm))) : "A\(arm)"
    }

    private func degrees(_ value: Double) -> String { String(Int(value.rounded()) % 360) + "°" }

    private func turn(_ way: JunctionView.Way) -> String {
        let turn = Int(way.turn.rounded())
        return (turn > 0 ? "+" : "") + "\(turn)°"
    }

    /// Returns the signs at a node.
    private func signs(_ flags: NodeFlags) -> [String] {
        let names: [(NodeFlags, String)] = [
            (.trafficSignals, "traffic signals"), (.stop, "stop"), (.giveWay, "give way"), (.crossing, "crossing"),
            (.miniRoundabout, "mini-roundabout"), (.turningCircle, "turning circle"),
            (.motorwayJunction, "motorway junction"),
            (.tollBooth, "toll booth"), (.gate, "gate"), (.impassable, "barrier"),
            (.truckImpassable, "barrier for trucks"),
        ]
        return names.filter { flags.contains($0.0) }.map(\.1)
    }

    private var limits: [String] {
        let limits = view.limits
        let texts: [(String, Float?, String)] = [
            ("height", limits.height, "m"), ("width", limits.width, "m"), ("length", limits.length, "m"),
            ("weight", limits.weight, "t"), ("axle load", limits.axleLoad, "t"),
        ]
        return texts.compactMap { name, limit, unit in limit.map { "\(name) up to \($0) \(unit)" } }
    }

    private func traits(_ arm: JunctionView.Arm) -> [String] {
        var traits = ["\(arm.roadClass)" + (arm.isLink ? " link" : "")]
        if arm.isRoundabout { traits.append("roundabout") }
        if arm.isHalf { traits.append("half of a dual carriageway") }
        if !arm.canLeave { traits.append("arrives only") }
        if !arm.canArrive { traits.append("leaves only") }
        return traits
    }

    private func name(_ arm: JunctionView.Arm) -> String {
        [arm.name, arm.reference].filter { !$0.isEmpty }.joined(separator: ", ")
    }

    private func announcement(_ way: JunctionView.Way) -> String {
        way.maneuver.map { "\($0.rawValue), \(way.modifier.rawValue)" } ?? "nothing, \(way.modifier.rawValue)"
    }

    private func text(_ lane: Lane) -> String {
        let arrows = lane.indications.isEmpty ? "none" : lane.indications.map(\.rawValue).joined(separator: ";")
        return lane.isClosed ? "(\(arrows))" : arrows
    }

    var text: String {
        var lines = ["node \(view.nodeID) at \(view.coordinate.text), \(Int(view.distance.rounded())) m away"]
        let signs = self.signs(view.flags) + limits
        if !signs.isEmpty { lines.append("signs: " + signs.joined(separator: ", ")) }
        if !view.exitReference.isEmpty { lines.append("exit: \(view.exitReference)") }
        if !view.junctionName.isEmpty { lines.append("name: \(view.junctionName)") }
        for (index, arm) in view.arms.enumerated() {
            var line = "\(letter(index)) \(degrees(arm.bearing))"
            if abs(arm.bearing - arm.drawnBearing) >= 1 { line += " (drawn \(degrees(arm.drawnBearing)))" }
            let name = name(arm)
            line += " \(name.isEmpty ? "unnamed" : name): " + traits(arm).joined(separator: ", ")
            if !arm.destination.isEmpty { line += ", to \(arm.destination)" }
            lines.append(line + ", way \(arm.wayID), \(Int(arm.length.rounded())) m")
        }
        for approach in view.approaches {
            var line = "from \(letter(approach.arm))"
            let stopLine = self.stopLine(approach)
            if !stopLine.isEmpty { line += ", at the stop line: " + stopLine.joined(separator: ", ") }
            if !approach.lanes.isEmpty { line += ", lanes " + approach.lanes.map(text).joined(separator: " | ") }
            lines.append(line)
            for way in approach.ways {
                var line = "  to \(letter(way.arm)) \(turn(way)): "
                line += way.obstacle.map { "closed, \($0.rawValue)" } ?? announcement(way)
                if !way.lanes.isEmpty { line += ", lanes " + way.lanes.map { String($0 + 1) }.joined(separator: " ") }
                lines.append(line)
            }
        }
        for neighbour in view.neighbours {
            var line = "near: node \(neighbour.nodeID), \(Int(neighbour.distance.rounded())) m to "
            line += "\(degrees(neighbour.bearing)), \(neighbour.roads) roads"
            let signs = self.signs(neighbour.flags)
            lines.append(signs.isEmpty ? line : line + ": " + signs.joined(separator: ", "))
        }
        return lines.joined(separator: "\n")
    }

    private func stopLine(_ approach: JunctionView.Approach) -> [String] {
        [approach.hasSignal ? "traffic signals" : nil, approach.hasStop ? "stop" : nil].compactMap { $0 }
    }

    // MARK: GeoJSON

    var geojson: String {
        get throws {
            let features =
                [node] + view.neighbours.map(neighbour) + view.arms.indices.map(arm) + view.approaches.flatMap(ways)
            let data = try JSONSerialization.data(
                withJSONObject: ["type": "FeatureCollection", "features": features] as [String: Any],
                options: [.sortedKeys, .withoutEscapingSlashes])
            return String(decoding: data, as: UTF8.self)
        }
    }

    private func feature(_ type: String, _ coordinates: Any, _ properties: [String: Any]) -> [String: Any] {
        [
            "type": "Feature", "geometry": ["type": type, "coordinates": coordinates] as [String: Any],
            "properties": properties,
        ]
    }

    private func position(_ coordinate: Coordinate) -> [Any] {
        [number(coordinate.longitude, 7), number(coordinate.latitude, 7)]
    }

    private func number(_ value: Double, _ digits: Int = 1) -> NSDecimalNumber {
        NSDecimalNumber(string: String(format: "%.\(digits)f", value))
    }

    private var node: [String: Any] {
        var properties: [String: Any] = [
            "kind": "junction", "node_id": view.nodeID, "signs": signs(view.flags) + limits,
        ]
        if !view.exitReference.isEmpty { properties["exit"] = view.exitReference }
        if !view.junctionName.isEmpty { properties["name"] = view.junctionName }
        return feature("Point", position(view.coordinate), properties)
    }

    private func neighbour(_ neighbour: JunctionView.Neighbour) -> [String: Any] {
        feature(
            "Point", position(neighbour.coordinate),
            [
                "kind": "neighbour", "node_id": neighbour.nodeID, "distance_m": number(neighbour.distance),
                "roads": neighbour.roads, "signs": signs(neighbour.flags),
            ])
    }

    private func arm(_ index: Int) -> [String: Any] {
        let arm = view.arms[index]
        return feature(
            "LineString", arm.line.map(position),
            [
                "kind": "arm", "arm": letter(index), "name": arm.name, "ref": arm.reference,
                "destination": arm.destination,
                "class": "\(arm.roadClass)", "link": arm.isLink, "roundabout": arm.isRoundabout, "half": arm.isHalf,
                "can_leave": arm.canLeave, "can_arrive": arm.canArrive, "bearing": number(arm.bearing),
                "drawn_bearing": number(arm.drawnBearing), "way_id": arm.wayID, "length_m": number(arm.length),
            ])
    }

    /// Returns a line for each way out of the junction, from a few metres before the junction to as many after it.
    private func ways(_ approach: JunctionView.Approach) -> [[String: Any]] {
        func end(_ arm: Int) -> Coordinate {
            let line = Polyline(view.arms[arm].line)
            return line.coordinate(at: min(Self.reach, line.length)) ?? view.coordinate
        }
        return approach.ways.map { way in
            var properties: [String: Any] = [
                "kind": "way", "from": letter(approach.arm), "to": letter(way.arm), "legal": way.obstacle == nil,
                "turn": number(way.turn), "modifier": way.modifier.rawValue, "lanes": way.lanes,
                "approach_lanes": approach.lanes.map(text), "stop_line": stopLine(approach),
            ]
            properties["maneuver"] = way.maneuver?.rawValue
            properties["obstacle"] = way.obstacle?.rawValue
            return feature(
                "LineString", [end(approach.arm), view.coordinate, end(way.arm)].map(position), properties)
        }
    }

    /// The length of road shown on each side of the junction, metres.
    private static let reach = 20.0
}
