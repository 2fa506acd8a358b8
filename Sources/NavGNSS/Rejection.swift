/// A reason for rejecting a piece of input.
public enum Rejection: String, CaseIterable, Sendable {
    /// Bytes that belong to no sentence, counted per uninterrupted run.
    case garbage
    /// A line or sentence longer than its limit.
    case tooLong = "too_long"
    /// A sentence that ended before its checksum, because another one began or noise followed.
    case truncated
    /// The checksum does not match the content.
    case checksum
    /// A checksum that the configuration requires is missing.
    case missingChecksum = "missing_checksum"
    /// A proprietary NMEA sentence (`$P…`).
    case proprietary
    /// An encapsulated NMEA sentence (`!…`), as AIS uses it.
    case encapsulated
    /// A query between talkers (`$CCGPQ,…`).
    case query
    /// A sentence or report that contains nothing for a fix.
    case unusedKind = "unused_kind"
    /// A malformed field; the rest of the sentence is used.
    case malformedField = "malformed_field"
    /// A latitude, longitude or other value outside its range.
    case outOfRange = "out_of_range"
    /// A date or time that does not exist.
    case badTime = "bad_time"
    /// A fix without a stamp, because its date is unknown.
    case unknownDate = "unknown_date"
    /// A sentence of an epoch that was already returned.
    case late
    /// An epoch with only accuracy or time, without a solution.
    case noSolution = "no_solution"
    case notJSON = "not_json"
    /// A JSON line that is not a report of a known class.
    case unknownClass = "unknown_class"
    case serverError = "server_error"
    /// A row whose number of fields differs from the header's.
    case fieldCount = "field_count"
    /// The document ends in the middle of an element.
    case unfinishedDocument = "unfinished_document"
}

public struct RejectionCounts: Sendable, Equatable {
    private var numbers = [Int](repeating: 0, count: Rejection.allCases.count)

    public subscript(reason: Rejection) -> Int { numbers[Self.index(reason)] }

    /// The reasons that occurred, with their counts, in the order of `Rejection.allCases`.
    public var all: [(reason: Rejection, count: Int)] {
        zip(Rejection.allCases, numbers).filter { $0.1 > 0 }.map { (reason: $0.0, count: $0.1) }
    }

    /// The total of all counts.
    public var total: Int { numbers.reduce(0, &+) }

    mutating func count(_ reason: Rejection) { numbers[Self.index(reason)] &+= 1 }

    private static func index(_ reason: Rejection) -> Int {
        switch reason {
        case .garbage: 0
        case .tooLong: 1
        case .truncated: 2
        case .checksum: 3
        case .missingChecksum: 4
        case .proprietary: 5
        case .encapsulated: 6
        case .query: 7
        case .unusedKind: 8
        case .malformedField: 9
        case .outOfRange: 10
        case .badTime: 11
        case .unknownDate: 12
        case .late: 13
        case .noSolution: 14
        case .notJSON: 15
        case .unknownClass: 16
        case .serverError: 17
        case .fieldCount: 18
        case .unfinishedDocument: 19
        }
    }
}
