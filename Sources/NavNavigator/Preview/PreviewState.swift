import NavMap
import NavPositioning
import NavRouting

/// A request for routes that does not start guidance.
struct Calculation: Equatable {
    var order: RouteOrder
    /// Whether the routes are shown until one is chosen.
    var isPreview: Bool
    /// The call that waits for the routes; 0 for none.
    var call: UInt64
    /// The position of the vehicle; nil when the order contains the origin.
    var origin: VehiclePosition?
}

/// The previewed routes, kept until guidance starts or the preview is stopped.
struct PreviewState {
    struct Shown: Equatable {
        var preview: RoutePreview
        var order: RouteOrder
        var origin: VehiclePosition?
    }

    var shown: Shown?

    var isActive: Bool { shown?.preview.routes.isEmpty == false }

    /// Translates the routes to another map version and removes those with roads that no longer exist; returns whether any were shown.
    mutating func adopt(from old: RoadGraph, to new: RoadGraph) -> Bool {
        guard var shown, isActive else { return false }
        let active = shown.preview.routes[shown.preview.active].id
        shown.preview.routes = shown.preview.routes.compactMap { previewed in
            var previewed = previewed
            return previewed.plan.route.adopt(from: old, to: new).isEmpty ? previewed : nil
        }
        shown.preview.active = shown.preview.routes.firstIndex { $0.id == active } ?? 0
        self.shown = shown
        return true
    }
}
