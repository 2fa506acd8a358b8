/// The mean and covariance of the position filter: eight states in the order of ``FilterState/Axis``.
struct FilterState: Sendable {
    /// The indices of the states.
    enum Axis {
        /// Metres east of the frame's origin.
        static let east = 0
        /// Metres north of the frame's origin.
        static let north = 1
        /// Speed in the direction of the course, m/s; negative backwards.
        static let speed = 2
        /// Direction of the vehicle's longitudinal axis, radians clockwise from north.
        static let course = 3
        /// The bias of the measured turn rate, rad/s.
        static let turnBias = 4
        /// The relative error of the odometer's speed, positive when it is too high.
        static let scale = 5
        /// The lasting part of the receiver's position error, metres to the east.
        static let biasEast = 6
        static let biasNorth = 7
        static let count = 8
    }

    typealias Vector = SIMD8<Double>

    var mean = Vector.zero
    /// Rows of the covariance, symmetric.
    var rows = InlineArray<8, Vector>(repeating: .zero)

    subscript(row: Int, column: Int) -> Double {
        @inline(__always) get { rows[row][column] }
        @inline(__always) set { rows[row][column] = newValue }
    }

    /// Resets a state's uncertainty: sets its variance and clears its correlations.
    mutating func isolate(_ axis: Int, variance: Double) {
        for other in 0..<Axis.count { self[other, axis] = 0 }
        rows[axis] = .zero
        self[axis, axis] = variance
    }

    /// Adds a linear combination of the states to one state's covariance: one row of a transition matrix, without the mean.
    @inline(__always)
    mutating func couple(_ target: Int, _ terms: Vector) {
        // (I + a) P (I + a)ᵀ with one row a of terms: first the row, then the column.
        var row = rows[target]
        for axis in 0..<Axis.count where terms[axis] != 0 { row += terms[axis] * rows[axis] }
        rows[target] = row
        for axis in 0..<Axis.count where axis != target { self[axis, target] = row[axis] }
        self[target, target] = row[target] + (terms * row).sum()
    }

    /// Returns the covariance times a measurement direction, P h.
    @inline(__always)
    func gain(_ direction: Vector) -> Vector {
        var product = Vector.zero
        for axis in 0..<Axis.count where direction[axis] != 0 { product += direction[axis] * rows[axis] }
        return product
    }

    /// Updates the state with a scalar measurement.
    ///
    /// `innovation` is measured minus expected; `variance` is the measurement's own.
    @inline(__always)
    mutating func update(_ direction: Vector, innovation: Double, variance: Double) {
        let product = gain(direction)
        let total = (direction * product).sum() + variance
        guard total > 0, total.isFinite else { return }
        let gain = product / total
        mean += gain * innovation
        for axis in 0..<Axis.count { rows[axis] -= gain[axis] * product }
        tidy()
    }

    /// Clamps the variances so that rounding cannot invalidate the covariance.
    @inline(__always)
    private mutating func tidy() {
        for axis in 0..<Axis.count where self[axis, axis] < 1e-12 { self[axis, axis] = 1e-12 }
    }

    var isFinite: Bool {
        var sum = mean.sum()
        for axis in 0..<Axis.count { sum += rows[axis].sum() }
        return sum.isFinite
    }
}
