import NavMessages

/// The maximum sizes of texts in requests and policy answers, bytes of UTF-8.
///
/// The texts are repeated on topics whose messages are bounded: `/nav/state` and `/nav/arrival` contain a waypoint in 16 KiB, and an
/// instruction of at most 64 KiB repeats a waypoint's name in several lines. A message that exceeds its topic's limit cannot be published.
package enum TextLimits {
    /// The longest name of a waypoint.
    package static let waypointName = 1_024
    /// The longest language tag.
    package static let language = 64
    /// The longest reason of a policy answer.
    package static let reason = 1_024
    /// The largest revised instruction, encoded.
    package static let instruction = 32_768

    /// Returns the error for a field whose text is too long; nil when the length is valid.
    package static func defect(_ text: String?, of field: String, limit: Int) -> String? {
        guard let size = text?.utf8.count, size > limit else { return nil }
        return "\(field) has \(size) bytes of UTF-8, more than \(limit)"
    }

    /// Returns a text of at most `limit` bytes, without splitting characters.
    package static func shortened(_ text: String, to limit: Int) -> String {
        guard text.utf8.count > limit else { return text }
        var short = text.prefix(limit)
        while short.utf8.count > limit { short.removeLast() }
        return String(short)
    }
}

extension NavMessages.Waypoint {
    /// Returns the error for a name that is too long; nil when the length is valid.
    func nameDefect(_ field: String) -> String? {
        TextLimits.defect(name, of: "\(field).name", limit: TextLimits.waypointName)
    }

    /// Shortens a name that is too long, without splitting characters.
    mutating func shortenName() { name = name.map { TextLimits.shortened($0, to: TextLimits.waypointName) } }
}

extension SavedTrip {
    /// Shortens the names of waypoints: a trip saved by an older build may have longer ones and should still resume.
    mutating func shortenNames() {
        order?.origin?.shortenName()
        for index in order?.waypoints.indices ?? 0..<0 { order?.waypoints[index].shortenName() }
        for index in route?.waypoints.indices ?? 0..<0 { route?.waypoints[index].shortenName() }
    }
}
