public import NavGeo

/// A route from another provider, perhaps on another map: lines with times, in travel order.
public struct ProvidedRoute: Sendable, Equatable {
    /// The route from one stop to the next.
    public struct Leg: Sendable, Equatable {
        /// The points of the line, at least two.
        public var line: [Coordinate]
        /// The OSM node of each point; empty when unknown.
        ///
        /// The first and last are the ends of the segments on which the leg begins and ends.
        public var nodeIDs: [Int64]
        /// Seconds for each segment of the line, without turns; empty when unknown.
        public var durations: [Double]
        /// Traffic on each segment of the line; empty when unknown.
        public var congestion: [Congestion]
        /// Seconds, including turns.
        public var duration: Double
        /// Length, metres.
        public var length: Double

        /// Creates a leg; omitted values are unknown.
        public init(
            line: [Coordinate], nodeIDs: [Int64] = [], durations: [Double] = [], congestion: [Congestion] = [],
            duration: Double, length: Double
        ) {
            self.line = line
            self.nodeIDs = nodeIDs
            self.durations = durations
            self.congestion = congestion
            self.duration = duration
            self.length = length
        }
    }

    /// One leg for each stop after the start.
    public var legs: [Leg]

    public init(legs: [Leg]) { self.legs = legs }

    /// The length of all legs' lines, metres.
    package var lineLength: Double { legs.reduce(0) { $0 + Polyline($1.line).length } }

    /// The reason why the numbers are invalid; nil when they are valid.
    package var fault: String? {
        if legs.isEmpty { return "the route has no legs" }
        for (index, leg) in legs.enumerated() {
            let segments = leg.line.count - 1
            guard segments > 0 else { return "leg \(index) has no line" }
            guard leg.line.allSatisfy(\.isValid) else { return "leg \(index) has an invalid coordinate" }
            guard leg.nodeIDs.isEmpty || leg.nodeIDs.count == segments + 1 else {
                return "leg \(index) has \(segments + 1) points and \(leg.nodeIDs.count) nodes"
            }
            guard leg.durations.isEmpty || leg.durations.count == segments else {
                return "leg \(index) has \(segments) segments and \(leg.durations.count) durations"
            }
            guard leg.congestion.isEmpty || leg.congestion.count == segments else {
                return "leg \(index) has \(segments) segments and \(leg.congestion.count) congestion levels"
            }
            guard ([leg.duration, leg.length] + leg.durations).allSatisfy({ $0 >= 0 && $0 <= Self.greatest }) else {
                return "leg \(index) has a duration or length that is negative or too large"
            }
        }
        // The stated lengths do not bound the lines: a few misplaced points go round the world many times.
        let lineLength = lineLength
        guard lineLength <= Self.greatest else {
            return
                "the route's line is \(Int(lineLength / 1_000)) km long; at most \(Int(Self.greatest / 1_000)) km are accepted: "
                + "check its coordinates"
        }
        return nil
    }

    /// The longest accepted time or length, seconds or metres: a year at walking pace, and once round the world.
    package static let greatest = 4e7
}
