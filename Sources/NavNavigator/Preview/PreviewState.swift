import NavPositioning
import NavRouting

/// A request for routes that does not start guidance.
struct Calculation: Equatable {
    var order: RouteOrder
    /// Whether the routes are shown until one is chosen.
    var isPreview: Bool
    /// The call that waits for the routes; 0 for none.
    var call: UInt64
    /// The position of the vehicle; nil when the order names the origin.
    var origin: VehiclePosition?
}

/// The routes shown until guidance starts or the preview is stopped; nothing else ends it.
struct PreviewState {
    struct Shown: Equatable {
        var preview: RoutePreview
        var order: RouteOrder
        var origin: VehiclePosition?
    }

    var shown: Shown?

    var isActive: Bool { shown?.preview.routes.isEmpty == false }
}
