import NavGeo
import NavMatching

/// Tells fixes that count from those that do not.
struct FixFilter {
    private let config: NavigatorConfig
    private var newest: Timestamp?
    private var isStarted = false

    init(_ config: NavigatorConfig) { self.config = config }

    /// The reason against a fix; nil when it counts.
    mutating func check(_ fix: Fix) -> FixRejection? {
        guard fix.coordinate.isValid else { return FixRejection(reason: .invalid) }
        guard fix.type.hasPosition else { return FixRejection(reason: .fixType) }
        if let newest {
            let step = fix.stamp.seconds(since: newest)
            if step == 0 { return FixRejection(reason: .duplicate) }
            // Further back than any receiver delivers late: the clock was set, or a recording starts over.
            if step < 0, step > -config.fixMaximumStep {
                return FixRejection(reason: .outOfOrder, value: -step, limit: 0)
            }
        }
        if let sigma = fix.horizontalSigma {
            let limit = isStarted ? config.fixMaximumAccuracy : config.fixStartMaximumAccuracy
            if !(sigma <= limit) {
                return FixRejection(reason: isStarted ? .accuracy : .startAccuracy, value: sigma, limit: limit)
            }
        }
        newest = fix.stamp
        isStarted = true
        return nil
    }
}
