import Foundation
package import NavGeo
package import NavKit
import NavMap
package import NavigationNode

/// The roads around a drive: all roads near it, and major ones farther away.
package struct MapExtract {
    /// A road, or a part of one, as a single line.
    struct Road {
        var roadClass: RoadClass
        /// The sum of 1 for a tunnel, 2 for a bridge, 4 for a ramp, 8 for one-way.
        var flags: Int
        var name: Int
        var line: [Coordinate]
    }

    /// A level of detail: for each road class, the greatest distance from the drive at which its roads are shown, in cells; and
    /// the tolerance of lines, metres.
    private struct Level {
        var reach: [RoadClass: Int]
        var tolerance: Double
    }

    /// The side of a cell in degrees of latitude, about 280 m.
    private static let cell = 0.0025
    /// The most points of all roads: about 1.2 MB on the page.
    private static let mostPoints = 200_000
    /// The most cells that are examined.
    private static let mostCells = 400_000

    /// The levels from the most to the least detailed; the first without too many points is used.
    private static let levels = [
        level(local: 5, service: 2, arterial: 12, highway: 24, tolerance: 0.6),
        level(local: 2, service: 0, arterial: 6, highway: 16, tolerance: 1.5),
        level(local: 1, service: -1, arterial: 4, highway: 12, tolerance: 4),
        level(local: 0, service: -1, arterial: 2, highway: 8, tolerance: 10),
        level(local: -1, service: -1, arterial: 1, highway: 4, tolerance: 25),
    ]

    private static func level(
        local: Int, service: Int, arterial: Int, highway: Int, tolerance: Double
    ) -> Level {
        var reach: [RoadClass: Int] = [:]
        for road in RoadClass.allCases {
            reach[road] =
                switch road {
                case .motorway, .trunk: highway
                case .primary, .secondary, .ferry: arterial
                case .tertiary: max(local, arterial / 2)
                case .unclassified, .residential, .livingStreet: local
                case .service, .track: service
                }
        }
        return Level(reach: reach, tolerance: tolerance)
    }

    let attribution: String
    let source: String
    private(set) var roads: [Road] = []
    private(set) var names: [String] = []
    /// The number of road tiles around the places that the directory does not contain, for example because it is a tile cache.
    package private(set) var absentTiles = 0
    /// The greatest deviation of the lines from those of the map, metres.
    private(set) var tolerance = 0.0

    /// Extracts the roads around places from the tiles that are in the directory.
    ///
    /// - Throws: ``NodeError`` when a tile cannot be read.
    package init(_ directory: TilesetDirectory, around places: [Coordinate]) throws(NodeError) {
        attribution = directory.tileset.attribution
        source = directory.tileset.source
        let rings = Rings(places, cell: Self.cell, reach: 24, most: Self.mostCells)
        guard !rings.isEmpty else { return }
        let wanted = rings.tiles
        let entries = directory.tileset.tiles.filter { $0.tile.map(wanted.contains) ?? false }
        let tiles = try directory.loadPresentTiles(entries)
        absentTiles = entries.count - tiles.count
        let graph = directory.graph(of: tiles)
        for level in Self.levels {
            collect(graph, rings, level)
            if roads.reduce(0, { $0 + $1.line.count }) <= Self.mostPoints { break }
        }
        // If there are still too many points, only the first roads are kept, which are the major ones.
        var points = 0
        roads = roads.filter { road in
            points += road.line.count
            return points <= Self.mostPoints
        }
    }

    /// The properties that roads drawn as one line share.
    private struct Kind: Hashable {
        var wayID: Int64
        var attributes: UInt64
    }

    private mutating func collect(_ graph: RoadGraph, _ rings: Rings, _ level: Level) {
        (roads, names, tolerance) = ([], [], level.tolerance)
        var numbers: [String: Int] = [:]
        var properties: [UInt64: (roadClass: RoadClass, flags: RoadFlags, name: String)] = [:]
        var kinds: [Kind: Int] = [:]
        var order: [(kind: Kind, lines: [[Coordinate]])] = []
        for index in 0..<graph.edgeCount {
            let reading = graph.reading(of: EdgeIndex(index))
            let known = properties[reading.attributesID]
            let road =
                known
                ?? {
                    let attributes = reading.attributes
                    let reference = attributes.reference.split(separator: ";").first.map(String.init) ?? ""
                    return (
                        attributes.roadClass, attributes.flags, attributes.name.isEmpty ? reference : attributes.name
                    )
                }()
            if known == nil { properties[reading.attributesID] = road }
            // For a two-way road only one direction is drawn.
            if let opposite = graph.opposite(EdgeIndex(index)), opposite.index < index { continue }
            let shape = reading.shape
            guard let reach = level.reach[road.roadClass], reach >= 0,
                [0, shape.count / 2, shape.count - 1].contains(where: { rings.ring(of: shape[$0].coordinate) <= reach })
            else { continue }
            let kind = Kind(wayID: reading.wayID, attributes: reading.attributesID)
            let place = kinds[kind] ?? order.count
            if place == order.count {
                kinds[kind] = place
                order.append((kind, []))
            }
            Self.join(shape.coordinates, to: &order[place].lines)
        }
        for (kind, lines) in order {
            guard let road = properties[kind.attributes] else { continue }
            var name = -1
            if !road.name.isEmpty {
                name = numbers[road.name] ?? names.count
                if name == names.count {
                    numbers[road.name] = name
                    names.append(String(road.name.prefix(120)))
                }
            }
            let flags = [(RoadFlags.tunnel, 1), (.bridge, 2), (.link, 4), (.oneway, 8)].reduce(0) {
                $0 | (road.flags.contains($1.0) ? $1.1 : 0)
            }
            for line in lines {
                roads.append(
                    Road(
                        roadClass: road.roadClass, flags: flags, name: name,
                        line: Line.simplified(line, tolerance: level.tolerance)))
            }
        }
        roads = roads.enumerated().sorted {
            ($0.element.roadClass.rawValue, $0.offset) < ($1.element.roadClass.rawValue, $1.offset)
        }
        .map(\.element)
    }

    /// Adds a line to the lines of a way, joined to a line with a common end if there is one.
    private static func join(_ line: [Coordinate], to lines: inout [[Coordinate]]) {
        // In a way with very many parts only the last ones are checked.
        for index in lines.indices.suffix(16).reversed() {
            if lines[index].last == line.first {
                lines[index] += line.dropFirst()
                return
            }
            if lines[index].first == line.last {
                lines[index] = line + lines[index].dropFirst()
                return
            }
            if lines[index].last == line.last {
                lines[index] += line.reversed().dropFirst()
                return
            }
            if lines[index].first == line.first {
                lines[index] = line.reversed() + lines[index].dropFirst()
                return
            }
        }
        lines.append(line)
    }
}

/// The cells of a grid around places, by their distance from the places in cells.
private struct Rings {
    private struct Cell: Hashable {
        var row: Int32
        var column: Int32
    }

    private let side: Double
    private let stretch: Double
    private var distances: [Cell: Int] = [:]

    init(_ places: [Coordinate], cell: Double, reach: Int, most: Int) {
        side = cell
        let middle = places.isEmpty ? 0 : places.reduce(0.0) { $0 + $1.latitude } / Double(places.count)
        stretch = cell / max(cos(middle * .pi / 180), 0.05)
        var front: [Cell] = []
        for place in places where distances.count < most {
            let here = self.cell(of: place)
            if distances.updateValue(0, forKey: here) == nil { front.append(here) }
        }
        for distance in 1...max(reach, 1) {
            var next: [Cell] = []
            for here in front {
                for row in -1...1 as ClosedRange<Int32> {
                    for column in -1...1 as ClosedRange<Int32> {
                        let neighbour = Cell(row: here.row + row, column: here.column + column)
                        guard distances[neighbour] == nil, distances.count < most else { continue }
                        distances[neighbour] = distance
                        next.append(neighbour)
                    }
                }
            }
            front = next
        }
    }

    var isEmpty: Bool { distances.isEmpty }

    private func cell(of place: Coordinate) -> Cell {
        Cell(
            row: Int32((place.latitude / side).rounded(.down)),
            column: Int32((place.longitude / stretch).rounded(.down)))
    }

    /// Returns the distance of a place in cells; `Int.max` when it is far away.
    func ring(of place: Coordinate) -> Int { distances[cell(of: place)] ?? .max }

    /// The road tiles that hold the cells.
    var tiles: Set<RoadTileID> {
        var tiles: Set<RoadTileID> = []
        for cell in distances.keys {
            // A tile is larger than a cell, so the tiles at a cell's corners are all tiles that it touches.
            for (row, column) in [(0.0, 0.0), (0, 1), (1, 0), (1, 1)] {
                let place = Coordinate(
                    latitude: ((Double(cell.row) + row) * side).clamped(to: -85...85),
                    longitude: ((Double(cell.column) + column) * stretch).clamped(to: -180...180))
                for layer in RoadLayer.allCases { tiles.insert(RoadTileID(layer: layer, containing: place)) }
            }
        }
        return tiles
    }
}
