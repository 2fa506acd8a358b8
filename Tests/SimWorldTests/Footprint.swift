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
            || value is AlternativePlan || value is Metric || value is NavigatorConfig || value is [Effect]
    }

    private mutating func walk(_ mirror: Mirror, _ path: String) {
        for child in mirror.children {
            if Footprint.isGiven(child.value) { continue }
            let inner = Mirror(reflecting: child.value)
            let isCase = child.label == "some" || child.label == nil
            let name = isCase ? path : path.isEmpty ? child.label ?? "" : "\(path).\(child.label ?? "")"
            switch inner.displayStyle {
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

/// That what the core holds does not grow with time.
struct StateIsBounded {
    static let rule = "what the core holds is bounded, however long it drives"
    /// How often it is looked at, seconds.
    private static let interval = 60.0
    /// Elements of one collection that is not a route's.
    static let greatest = 300
    private var next = 0.0
    private(set) var largest: [String: Int] = [:]

    mutating func check(_ step: SimStep, _ navigator: Navigator) throws(Breach) {
        guard step.time >= next else { return }
        next = step.time + StateIsBounded.interval
        for (path, count) in Footprint(navigator).counts { largest[path] = max(largest[path] ?? 0, count) }
    }
}
