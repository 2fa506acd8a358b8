import NavGuidance
import NavMatching
import NavNavigator
import NavRouting

/// How much a navigator holds: the size of each collection in it, by its path, as the language sees its stored properties.
struct Footprint {
    private(set) var counts: [String: Int] = [:]

    init(_ navigator: Navigator) { walk(Mirror(reflecting: navigator), "") }

    /// What the map is and what a route holds are as large as they are; they are not walked through.
    private static func isGiven(_ value: Any) -> Bool {
        value is MapSnapshot || value is RoutePlan || value is Route || value is RouteGuidance || value is RoutePreview
            || value is AlternativePlan || value is Metric || value is NavigatorConfig || value is [Effect]
    }

    private mutating func walk(_ mirror: Mirror, _ path: String) {
        for (index, child) in mirror.children.enumerated() {
            if Footprint.isGiven(child.value) { continue }
            let inner = Mirror(reflecting: child.value)
            let name = child.label.map { path.isEmpty ? $0 : "\(path).\($0)" } ?? path
            switch inner.displayStyle {
            case .class: continue
            case .collection, .dictionary, .set:
                let count = inner.children.count
                counts[name] = max(counts[name] ?? 0, count)
                if child.label != nil || index < 3 { walkFirst(inner, name) }
            default: walk(inner, name)
            }
        }
    }

    private mutating func walkFirst(_ mirror: Mirror, _ path: String) {
        for child in mirror.children.prefix(3) {
            if Footprint.isGiven(child.value) { continue }
            let inner = Mirror(reflecting: child.value)
            if inner.displayStyle != .class { walk(inner, path) }
        }
    }
}
