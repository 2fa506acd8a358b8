package import NavGeo

/// A search through the stored properties of a value.
package enum StoredValues {
    /// The objects owned by the navigator or the session; others are shared or injected.
    private static let owned: Set<String> = [
        "NavigationSession", "PublicationEncoder", "Navigator", "Trip", "RouteSearch", "AlternativesTracker",
        "FasterRouteMonitor", "DriveAlong",
    ]

    /// Returns every value of a type that is stored in a value, by its path.
    package static func all<Value>(_ type: Value.Type, in value: Any, at path: String = "") -> [(
        path: String, value: Value
    )] {
        if let found = value as? Value { return [(path, found)] }
        let mirror = Mirror(reflecting: value)
        let name = "\(mirror.subjectType)"
        guard mirror.displayStyle != .class || owned.contains(name) else { return [] }
        // Reflection does not reach the elements of an inline array.
        guard !name.hasPrefix("InlineArray<") else { return [] }
        return mirror.children.flatMap { child in
            all(type, in: child.value, at: child.label.map { path + "." + $0 } ?? path)
        }
    }

    /// Returns every time stored in a value, by its path, except placeholders: the epoch and the earliest time.
    package static func moments(in value: Any) -> [(path: String, value: Timestamp)] {
        all(Timestamp.self, in: value).filter { ![0, .min].contains($0.value.nanoseconds) }
    }
}
