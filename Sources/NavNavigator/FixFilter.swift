import NavGeo
import NavMatching

/// Tells fixes that count from those that do not.
struct FixFilter {
    /// What is to be done with a fix.
    enum Verdict: Equatable {
        case accepted
        /// It counts, and its clock runs again from an earlier moment: the clock was set, or a recording starts over.
        case acceptedAfterClockSet
        case rejected(FixRejection)
    }

    /// The thresholds in force.
    var config: NavigatorConfig
    private var newest: Timestamp?
    private var isStarted = false
    /// Fixes in a row that lie behind the newest one, but follow each other.
    private var late = 0
    private var newestLate: Timestamp?

    init(_ config: NavigatorConfig) { self.config = config }

    /// Judges a fix.
    mutating func judge(_ fix: Fix) -> Verdict {
        guard fix.coordinate.isValid else { return .rejected(FixRejection(reason: .invalid)) }
        guard fix.type.hasPosition else { return .rejected(FixRejection(reason: .fixType)) }
        if let sigma = fix.horizontalSigma, sigma > 0 {
            let limit = isStarted ? config.fixMaximumAccuracy : config.fixStartMaximumAccuracy
            if sigma > limit {
                return .rejected(
                    FixRejection(
                        reason: isStarted ? .accuracy : .startAccuracy, value: sigma.isFinite ? sigma : nil,
                        limit: limit))
            }
        }
        let isClockSet: Bool
        switch order(of: fix) {
        case .success(let set): isClockSet = set
        case .failure(let rejection): return .rejected(rejection)
        }
        newest = fix.stamp
        isStarted = true
        late = 0
        newestLate = nil
        return isClockSet ? .acceptedAfterClockSet : .accepted
    }

    /// Whether the clock was set, or why the fix comes at the wrong time.
    private mutating func order(of fix: Fix) -> Result<Bool, FixRejection> {
        guard let newest, fix.stamp <= newest else { return .success(false) }
        if fix.stamp == newest { return .failure(FixRejection(reason: .duplicate)) }
        // A fix that was held up comes alone; a receiver whose clock was set goes on from there.
        if let newestLate, fix.stamp > newestLate { late += 1 } else { late = 1 }
        newestLate = fix.stamp
        if late >= config.fixClockSetFixes { return .success(true) }
        return .failure(FixRejection(reason: .outOfOrder, value: newest.seconds(since: fix.stamp), limit: 0))
    }
}

extension FixRejection: Error {}
