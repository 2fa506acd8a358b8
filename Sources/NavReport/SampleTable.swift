import Foundation

/// A table of numbers over time with a bounded number of rows.
///
/// When the table is full, each group of four rows is reduced to the two rows with the least and the greatest measure; later rows are
/// reduced in the same way. Extremes of the measure are kept regardless of the length of the drive.
package struct SampleTable {
    /// The value of an unknown number.
    static let absent = Int32.min

    private struct Row {
        var order: Int
        var time: Int64
        var values: [Int32]
    }

    private let names: [String]
    private let measure: Int
    /// The most rows, a multiple of four.
    var limit: Int
    private var times: [Int64] = []
    private var columns: [[Int32]]
    /// The number of added rows, kept or not.
    private(set) var messageCount = 0
    /// The number of messages per kept row.
    private var stride = 1
    private var groupCount = 0
    private var least: Row?
    private var greatest: Row?

    /// Creates a table.
    ///
    /// - Parameters:
    ///   - names: the columns other than the time.
    ///   - measure: the index of the column whose extremes are kept.
    ///   - limit: the most rows, a multiple of four.
    package init(_ names: [String], measure: Int, limit: Int) {
        self.names = names
        self.measure = measure
        self.limit = limit
        columns = names.map { _ in [] }
    }

    /// The times of the rows, ns, in the order of arrival.
    package var stamps: [Int64] { times }

    /// Adds a row at a time in ns.
    package mutating func append(_ time: Int64, _ values: [Int32]) {
        let row = Row(order: messageCount, time: time, values: values)
        messageCount += 1
        guard stride > 1 else {
            keep(row)
            if times.count >= limit { thin() }
            return
        }
        let value = interest(row)
        if least.map({ value < interest($0) }) ?? true { least = row }
        if greatest.map({ value >= interest($0) }) ?? true { greatest = row }
        groupCount += 1
        if groupCount == 2 * stride { closeGroup() }
    }

    private func interest(_ row: Row) -> Int32 { row.values[measure] == Self.absent ? 0 : row.values[measure] }

    private mutating func keep(_ row: Row) {
        times.append(row.time)
        for index in columns.indices { columns[index].append(row.values[index]) }
    }

    private mutating func closeGroup() {
        let rows = [least, greatest].compactMap { $0 }.sorted { $0.order < $1.order }
        for (index, row) in rows.enumerated() where index == 0 || row.order != rows[0].order { keep(row) }
        (least, greatest, groupCount) = (nil, nil, 0)
        if times.count >= limit { thin() }
    }

    private mutating func thin() {
        var kept: [Int] = []
        for start in Swift.stride(from: 0, to: times.count, by: 4) {
            let group = start..<min(start + 4, times.count)
            let values = group.map { columns[measure][$0] == Self.absent ? 0 : columns[measure][$0] }
            let low = group.lowerBound + (values.indices.min { values[$0] < values[$1] } ?? 0)
            let high = group.lowerBound + (values.indices.last { values[$0] == values.max() } ?? 0)
            // If all are equal, the first and the last are kept.
            kept += low == high ? [low] : [min(low, high), max(low, high)]
        }
        times = kept.map { times[$0] }
        columns = columns.map { column in kept.map { column[$0] } }
        stride *= 2
    }

    /// Returns a table with only the rows within a span of time, sorted by time.
    func sorted(within span: ClosedRange<Int64>) -> SampleTable {
        var table = self
        if groupCount > 0 { table.closeGroup() }
        let times = table.times
        var order = times.indices.filter { span.contains(times[$0]) }
        let isSorted = zip(order, order.dropFirst()).allSatisfy { times[$0] <= times[$1] }
        if !isSorted { order.sort { (times[$0], $0) < (times[$1], $1) } }
        guard !isSorted || order.count < times.count else { return table }
        table.times = order.map { times[$0] }
        table.columns = table.columns.map { column in order.map { column[$0] } }
        return table
    }

    /// Returns the rows within a span of time, sorted by time, as milliseconds since a start and packed columns.
    package func document(since start: Int64, within span: ClosedRange<Int64>) -> PackedTable {
        let table = sorted(within: span)
        var packed = ["t": Packing.text(table.times.map { ($0 - start) / 1_000_000 }, differences: 2)]
        for (name, column) in zip(names, table.columns) {
            packed[name] = Packing.text(column.map { $0 == Self.absent ? nil : Int64($0) })
        }
        return PackedTable(rows: table.times.count, messages: messageCount, columns: packed)
    }

    /// Returns the values of a column, in the order of arrival.
    func values(_ name: String) -> [Int32] { names.firstIndex(of: name).map { columns[$0] } ?? [] }

    /// Returns a number in the unit of a column; ``absent`` when it is unknown or does not fit.
    static func scaled(_ value: Double?, _ factor: Double = 1) -> Int32 {
        guard let value, (value * factor).isFinite else { return absent }
        return Int32((value * factor).rounded().clamped(to: -2e9...2e9))
    }
}

/// A table in the format of the page.
package struct PackedTable: Encodable, Sendable {
    /// The number of rows in the columns.
    package var rows: Int
    /// The number of messages that the rows represent.
    package var messages: Int
    package var columns: [String: String]
}

/// A text encoding of whole numbers: base64 of variable-length differences.
package enum Packing {
    /// Returns numbers as text: 0 for an unknown number, else the zigzag form of the difference from the last known number plus one,
    /// seven bits per byte, low bits first.
    ///
    /// - Parameter differences: 1 for differences, 2 for differences of differences, which suits regular steps.
    package static func text(_ values: [Int64?], differences: Int = 1) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(values.count * 2)
        var (last, step): (Int64, Int64) = (0, 0)
        for value in values {
            guard let value else {
                bytes.append(0)
                continue
            }
            let difference = value &- last
            let coded = differences == 2 ? difference &- step : difference
            (last, step) = (value, difference)
            var rest = UInt64(bitPattern: (coded << 1) ^ (coded >> 63)) &+ 1
            while rest >= 0x80 {
                bytes.append(UInt8(rest & 0x7f) | 0x80)
                rest >>= 7
            }
            bytes.append(UInt8(rest))
        }
        return Data(bytes).base64EncodedString()
    }

    package static func text(_ values: [Int64], differences: Int = 1) -> String {
        text(values.map { Optional($0) }, differences: differences)
    }
}

extension Comparable {
    func clamped(to range: ClosedRange<Self>) -> Self { min(max(self, range.lowerBound), range.upperBound) }
}
