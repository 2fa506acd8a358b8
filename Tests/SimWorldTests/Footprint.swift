import NavGuidance
import NavMap
import NavMatching
import NavNavigator
import NavRouting

/// The sizes of all collections in a navigator, by path, found by reflection over its stored properties.
struct Footprint {
    private(set) var counts: [String: Int] = [:]

    init(_ navigator: Navigator) { walk(Mirror(reflecting: navigator), "") }

    /// Whether a value is excluded: maps and routes have their own sizes.
    private static func isGiven(_ value: Any) -> Bool {
        value is MapSnapshot || value is RoutePlan || value is Route || value is RouteGuidance || value is RoutePreview
            || value is AlternativePlan || value is Metric || value is NavigatorConfig
    }

    private mutating func walk(_ mirror: Mirror, _ path: String) {
        for child in mirror.children {
            // The caller has already taken the effects of the last event.
            if Footprint.isGiven(child.value) || child.label == "effects" { continue }
            let inner = Mirror(reflecting: child.value)
            let isCase = child.label == "some" || child.label == nil
            let name = isCase ? path : path.isEmpty ? child.label ?? "" : "\(path).\(child.label ?? "")"
            switch inner.displayStyle {
            // The navigator owns the trip object; other objects are shared or injected.
            case .class where "\(inner.subjectType)" == "Trip": walk(inner, name)
            case .class: continue
            case .collection, .dictionary, .set:
                counts[name] = max(counts[name] ?? 0, inner.children.count)
                for element in inner.children.prefix(3) where !Footprint.isGiven(element.value) {
                    let content = Mirror(reflecting: element.value)
                    if content.displayStyle != .class { walk(content, name) }
                }
            default: walk(inner, name)
            }
        }
    }
}

/// The bounded state of the core: the maximum sizes of its collections, by path.
enum StateIsBounded {
    static let rule = "the state of the core is bounded"

    /// The limits by path; the first entry with which a path begins or ends applies.
    private static let limits: [(place: String, most: Int)] = [
        ("questions.all", 64), ("routes.all", 11), ("alternatives.kept", 2),
        // The length of a route: no route on these maps has so many edges.
        (".chosenRoute", 1_000), ("session.chosenRoute", 1_000), ("trip.", 1_000),
        // Cached for the roads that can be reached between two fixes, and for the odometry between them.
        ("positioning.matcher.", 4_096), ("simulation.positioning.matcher.", 4_096),
        ("positioning.tracker.reports.ring", 256),
    ]
    /// The limit of all other collections.
    private static let most = 64

    /// Returns the oversized collection; nil when there is none.
    static func violation(_ counts: [String: Int]) -> String? {
        for (path, count) in counts.sorted(by: { $0.key < $1.key }) {
            let limit = limits.first {
                path == $0.place || path.hasPrefix($0.place) && $0.place.hasSuffix(".") || path.hasSuffix($0.place)
            }
            if count > limit?.most ?? most { return "\(path) has \(count) elements" }
        }
        return nil
    }
}
