internal import Glibc
internal import NavGeo

/// An index of border sides by latitude and by place.
struct SideIndex: Sendable {
    private var sides: ContiguousArray<CountryBorder.Side> = []
    /// The sides by the rows of latitude that they touch, and by the cells that their bounding boxes touch.
    private var rows: [Int32: ContiguousArray<UInt32>] = [:]
    private var cells: [Cell: ContiguousArray<UInt32>] = [:]
    /// The sides that touch more than ``most`` rows or cells: too long for a real border, so they are checked in every search.
    private var long: ContiguousArray<UInt32> = []

    private struct Cell: Hashable {
        var row: Int32
        var column: Int32
    }

    /// The height of a row, 1e-7 degrees: about 220 m.
    private static let rowHeight: Int32 = 20_000
    /// The size of a cell, 1e-7 degrees: about 2 km.
    private static let cellSize: Int32 = 200_000
    private static let most = 256

    init() {}

    init(_ sides: [CountryBorder.Side]) {
        self.sides.reserveCapacity(sides.count)
        for side in sides { append(side) }
    }

    /// Adds a side under the next number.
    mutating func append(_ side: CountryBorder.Side) {
        let number = UInt32(sides.count)
        sides.append(side)
        let south = min(side.from.latitudeE7, side.to.latitudeE7)
        let north = max(side.from.latitudeE7, side.to.latitudeE7)
        let west = min(side.from.longitudeE7, side.to.longitudeE7)
        let east = max(side.from.longitudeE7, side.to.longitudeE7)
        let lines = SideIndex.row(south)...SideIndex.row(north)
        let (low, high) = (SideIndex.cell(south, west), SideIndex.cell(north, east))
        guard lines.count <= SideIndex.most,
            (Int(high.row - low.row) + 1) * (Int(high.column - low.column) + 1) <= SideIndex.most
        else {
            long.append(number)
            return
        }
        for row in lines { rows[row, default: []].append(number) }
        for row in low.row...high.row {
            for column in low.column...high.column {
                cells[Cell(row: row, column: column), default: []].append(number)
            }
        }
    }

    /// Whether an eastward ray from a place crosses the sides an odd number of times.
    func surrounds(_ place: FixedCoordinate) -> Bool {
        var isInside = false
        func look(_ number: UInt32) {
            let side = sides[Int(number)]
            // Half-open in latitude, so that a ray through a node crosses only one of the two sides that meet there.
            guard (side.from.latitudeE7 > place.latitudeE7) != (side.to.latitudeE7 > place.latitudeE7) else { return }
            let up = Double(place.latitudeE7) - Double(side.from.latitudeE7)
            let height = Double(side.to.latitudeE7) - Double(side.from.latitudeE7)
            let width = Double(side.to.longitudeE7) - Double(side.from.longitudeE7)
            if Double(side.from.longitudeE7) + up / height * width > Double(place.longitudeE7) { isInside.toggle() }
        }
        for number in rows[SideIndex.row(place.latitudeE7)] ?? [] { look(number) }
        for number in long { look(number) }
        return isInside
    }

    /// Returns the side nearest to a place, of equally near ones the first; nil when none is within `reach` metres, which is at
    /// most about 6 km.
    func nearest(to place: FixedCoordinate, within reach: Double) -> (side: Int, distance: Double)? {
        var best: (side: Int, distance: Double)?
        func look(_ number: UInt32) {
            let distance = Planar.distance(place, sides[Int(number)])
            if distance <= reach, (distance, Int(number)) < (best?.distance ?? .infinity, best?.side ?? .max) {
                best = (Int(number), distance)
            }
        }
        let own = SideIndex.cell(place.latitudeE7, place.longitudeE7)
        // Cells are narrower towards the poles.
        let narrow = max(cos(Angle.radians(Double(place.latitudeE7) / 1e7)), 0.1)
        let cellHeight = Double(SideIndex.cellSize) / 1e7 * 111_195
        let (up, aside) = (Int32(reach / cellHeight) + 1, Int32(reach / (cellHeight * narrow)) + 1)
        if !cells.isEmpty {
            for row in (own.row - up)...(own.row + up) {
                for column in (own.column - aside)...(own.column + aside) {
                    for number in cells[Cell(row: row, column: column)] ?? [] { look(number) }
                }
            }
        }
        for number in long { look(number) }
        return best
    }

    /// Whether a line may meet one of the sides; false only if no side is near.
    func mayMeet(_ line: [FixedCoordinate]) -> Bool {
        guard let first = line.first, !sides.isEmpty else { return false }
        if !long.isEmpty { return true }
        var (south, north) = (first.latitudeE7, first.latitudeE7)
        var (west, east) = (first.longitudeE7, first.longitudeE7)
        for point in line {
            south = min(south, point.latitudeE7)
            north = max(north, point.latitudeE7)
            west = min(west, point.longitudeE7)
            east = max(east, point.longitudeE7)
        }
        let (low, high) = (SideIndex.cell(south, west), SideIndex.cell(north, east))
        guard (Int(high.row - low.row) + 1) * (Int(high.column - low.column) + 1) <= SideIndex.most else {
            return true
        }
        for row in low.row...high.row {
            for column in low.column...high.column where cells[Cell(row: row, column: column)] != nil { return true }
        }
        return false
    }

    private static func row(_ latitude: Int32) -> Int32 { floorDivide(latitude, rowHeight) }

    private static func cell(_ latitude: Int32, _ longitude: Int32) -> Cell {
        Cell(row: floorDivide(latitude, cellSize), column: floorDivide(longitude, cellSize))
    }

    private static func floorDivide(_ value: Int32, _ divisor: Int32) -> Int32 {
        let quotient = value / divisor
        return value % divisor < 0 ? quotient - 1 : quotient
    }
}
