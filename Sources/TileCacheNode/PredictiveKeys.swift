package import NavConfig
package import NavTileCache

/// The keys for tiles that are kept ahead of the vehicle.
package struct PredictiveKeys: NodeConfiguration, Equatable {
    package var isEnabled = false
    package var navigation = CacheReach()
    package var maps = CacheReach()
    /// The lowest zoom level of map tiles.
    package var zoomMin = 5
    /// The highest zoom level of map tiles.
    package var zoomMax = 14

    package init() {}

    /// The planner's profile for road tiles.
    package var navigationProfile: CacheProfile { .navigation(navigation) }

    /// The planner's profile for map tiles.
    package var mapsProfile: CacheProfile {
        .maps(maps, zooms: UInt8(clamping: min(zoomMin, zoomMax))...UInt8(clamping: max(zoomMin, zoomMax)))
    }

    /// The reason why the values are inconsistent; nil when they are consistent.
    package var fault: String? {
        guard zoomMin <= zoomMax else {
            return "predictive.maps.zoom_min (\(zoomMin)) is above predictive.maps.zoom_max (\(zoomMax))"
        }
        if let fault = navigationProfile.fault { return "predictive.navigation: \(fault)" }
        return mapsProfile.fault.map { "predictive.maps: \($0)" }
    }

    package static var keys: [ConfigKey<PredictiveKeys>] {
        [
            .flag(
                "predictive.enabled", \.isEnabled,
                "Whether tiles are fetched ahead: around the position, along the route and around the destination."
            ).live
        ] + reach("predictive.navigation", \.navigation, "road tiles")
            + reach("predictive.maps", \.maps, "map tiles") + [
                .integer(
                    "predictive.maps.zoom_min", \.zoomMin, in: 0...22, "Lowest zoom level of map tiles that are kept."
                ).live,
                .integer(
                    "predictive.maps.zoom_max", \.zoomMax, in: 0...22, "Highest zoom level of map tiles that are kept."
                ).live,
            ]
    }

    private static func reach(
        _ name: String, _ path: any WritableKeyPath<PredictiveKeys, CacheReach> & Sendable, _ what: String
    ) -> [ConfigKey<PredictiveKeys>] {
        let keys: [ConfigKey<CacheReach>] = [
            .number(
                name + ".current_radius_m", \.position, in: 0...200_000,
                "Radius around the position within which \(what) are kept, metres."),
            .number(
                name + ".route_buffer_m", \.route, in: 0...200_000,
                "Distance to each side of the route within which \(what) are kept, metres."),
            .number(
                name + ".destination_radius_m", \.destination, in: 0...200_000,
                "Radius around the destination within which \(what) are kept, metres."),
        ]
        return keys.map { $0.within(path).live }
    }
}
