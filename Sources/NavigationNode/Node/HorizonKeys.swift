package import NavConfig
package import NavGuidance
import NavKit
import NavMessages
import NavNavigator

/// The keys of the electronic horizon.
package struct HorizonKeys: Sendable, Hashable {
    /// Whether the horizon is published. On by default, since it is built only when the vehicle enters another edge, not at each fix.
    package var isEnabled = true
    package var extent = HorizonExtent()
    /// The distance on an edge after which the offset is published again, metres. 50: two seconds at 90 km/h.
    package var updateDistance = 50.0

    package init() {}

    /// The lengths that may be requested, metres.
    static let lengths = 50.0...20_000.0

    package static var keys: [ConfigKey<HorizonKeys>] {
        [
            .flag("horizon.enabled", \.isEnabled, "Whether the electronic horizon is published."),
            .number(
                "horizon.length_m", \.extent.length, in: lengths,
                "Length of the horizon along the main path from the end of the vehicle's road segment, metres."),
            .number(
                "horizon.stub_length_m", \.extent.stubLength, in: 0...2_000,
                "Length of the roads that leave the main path, metres; 0 for none."),
            .integer(
                "horizon.max_paths", \.extent.mostPaths, in: 1...200,
                "Greatest number of paths: the main one and the nearest stubs."),
            .number(
                "horizon.update_m", \.updateDistance, in: 5...2_000,
                "Distance on an edge after which the offset is published again, metres; a change of edge, route or map is published at once."
            ),
        ]
    }

    /// Returns the extent for a request.
    func extent(of request: GetHorizonRequest) throws(RouteFailure) -> HorizonExtent {
        var extent = extent
        if let length = request.lengthM {
            guard Self.lengths.contains(length) else {
                let (least, most) = (Int(Self.lengths.lowerBound), Int(Self.lengths.upperBound))
                throw RouteFailure(
                    code: .invalidRequest, message: "length_m: \(length) is not within \(least) ... \(most) m")
            }
            extent.length = length
        }
        switch request.includeStubs {
        case false?: extent.stubLength = 0
        case true? where extent.stubLength == 0: extent.stubLength = HorizonExtent().stubLength
        default: break
        }
        return extent
    }
}
