import Glibc
public import NavGeo
public import NavMatching

/// A comparison of a filter's errors with its stated uncertainty and with the raw fixes' errors, against a reference.
public struct CalibrationTable: Sendable {
    /// The shares of errors in one direction within one, two and three standard deviations.
    ///
    /// A normal distribution has 0.683, 0.954, 0.997.
    public struct Shares: Sendable, Hashable {
        var within = [0, 0, 0]
        var count = 0

        mutating func add(_ error: Double, sigma: Double) {
            count += 1
            for deviations in 1...3 where abs(error) <= Double(deviations) * sigma { within[deviations - 1] += 1 }
        }

        /// Returns the share within 1, 2 or 3 standard deviations; 0 without errors.
        public func share(within deviations: Int) -> Double {
            guard (1...3).contains(deviations), count > 0 else { return 0 }
            return Double(within[deviations - 1]) / Double(count)
        }
    }

    /// Along the direction of travel.
    public private(set) var along = Shares()
    public private(set) var across = Shares()
    private var filtered: [Double] = []
    private var raw: [Double] = []

    public init() {}

    /// The number of errors recorded.
    public var count: Int { filtered.count }

    /// Records an estimate, the fix that led to it, and the true position with the direction of travel.
    public mutating func add(
        _ estimate: MotionEstimate, raw fix: Coordinate, truth: Coordinate, course: Double
    ) {
        let frame = LocalFrame(origin: truth)
        let error = frame.point(estimate.coordinate)
        let (sine, cosine) = (sin(course), cos(course))
        along.add(error.east * sine + error.north * cosine, sigma: estimate.covariance.sigma(along: course))
        across.add(error.east * cosine - error.north * sine, sigma: estimate.covariance.sigma(across: course))
        filtered.append(error.length)
        raw.append(frame.point(fix).length)
    }

    /// Records a position on a road against the true position, in the road's direction; a position off the roads is skipped.
    public mutating func add(_ match: MatchedPosition, truth: Coordinate) {
        guard let road = match.road else { return }
        let frame = LocalFrame(origin: truth)
        let error = frame.point(road.coordinate)
        let (sine, cosine) = (sin(road.bearing), cos(road.bearing))
        along.add(error.east * sine + error.north * cosine, sigma: road.alongSigma)
        across.add(error.east * cosine - error.north * sine, sigma: road.crossSigma)
        filtered.append(error.length)
        raw.append(frame.point(match.raw).length)
    }

    /// Returns a quantile of the filter's errors, metres; 0 without errors.
    public func error(quantile: Double) -> Double { NavGeo.quantile(filtered, quantile) }
    /// Returns a quantile of the raw fixes' errors, metres; 0 without errors.
    public func rawError(quantile: Double) -> Double { NavGeo.quantile(raw, quantile) }
}
