/// A reason for rejecting a piece of input.
package enum Rejection: String, CaseIterable, Sendable {
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

package struct RejectionCounts: Sendable, Equatable {
    private var numbers: [Rejection: Int] = [:]

    package subscript(reason: Rejection) -> Int { numbers[reason, default: 0] }

    /// The reasons that occurred, with their counts, in the order of `Rejection.allCases`.
    package var all: [(reason: Rejection, count: Int)] {
        Rejection.allCases.compactMap { reason in numbers[reason].map { (reason: reason, count: $0) } }
    }

    /// The total of all counts.
    package var total: Int { numbers.values.reduce(0, &+) }

    mutating func count(_ reason: Rejection) { numbers[reason, default: 0] &+= 1 }
}
