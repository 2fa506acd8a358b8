import NavGuidance
import NavMap
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
            || value is AlternativePlan || value is Metric || value is NavigatorConfig
    }

    private mutating func walk(_ mirror: Mirror, _ path: String) {
        for child in mirror.children {
            // What came of the last event is handed out.
            if Footprint.isGiven(child.value) || child.label == "effects" { continue }
            let inner = Mirror(reflecting: child.value)
            let isCase = child.label == "some" || child.label == nil
            let name = isCase ? path : path.isEmpty ? child.label ?? "" : "\(path).\(child.label ?? "")"
            switch inner.displayStyle {
            // The trip is an object of the navigator's own; other objects are shared or given.
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

/// That what the core holds does not grow with time: the greatest sizes of its collections, by where they are.
enum StateIsBounded {
    static let rule = "the state of the core is bounded"

    /// The first one that a path begins or ends with counts.
    private static let limits: [(place: String, most: Int)] = [
        ("questions.all", 64), ("routes.all", 11), ("alternatives.kept", 2),
        // As long as a route is: on these maps none has as many edges.
        (".chosenRoute", 1_000), ("session.chosenRoute", 1_000), ("trip.", 1_000),
        // Made once for the roads that can be reached between two fixes, and for the wheels' reports between them.
        ("positioning.matcher.", 4_096), ("simulation.positioning.matcher.", 4_096),
        ("positioning.tracker.reports.ring", 256),
    ]
    /// Of all others.
    private static let most = 64

    /// What holds too much; nil when nothing does.
    static func breach(_ counts: [String: Int]) -> String? {
        for (path, count) in counts.sorted(by: { $0.key < $1.key }) {
            let limit = limits.first {
                path == $0.place || path.hasPrefix($0.place) && $0.place.hasSuffix(".") || path.hasSuffix($0.place)
            }
            if count > limit?.most ?? most { return "\(path) has \(count) elements" }
        }
        return nil
    }
}
