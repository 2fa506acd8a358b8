public import NavGeo

/// A route that somebody else found, perhaps on another map: lines with times, in the order of travel.
public struct ProvidedRoute: Sendable, Equatable {
    /// The way from one stop to the next.
    public struct Leg: Sendable, Equatable {
        /// The points, at least two.
        public var line: [Coordinate]
        /// The OSM node of each point; the first and the last are the ends of the segments that the leg begins and ends on.
        /// Empty when unknown.
        public var nodeIDs: [Int64]
        /// Seconds for each segment of the line, turns left out; empty when unknown.
        public var durations: [Double]
        /// Traffic on each segment of the line; empty when unknown.
        public var congestion: [Congestion]
        /// Seconds, turns included.
        public var duration: Double
        /// Metres.
        public var length: Double

        /// A leg of its parts; what is not given is unknown.
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

    /// One per stop after the start.
    public var legs: [Leg]

    public init(legs: [Leg]) { self.legs = legs }

    /// Seconds, turns included.
    public var duration: Double { legs.reduce(0) { $0 + $1.duration } }
    /// Metres.
    public var length: Double { legs.reduce(0) { $0 + $1.length } }

    /// Why the numbers make no sense; nil when they do.
    package var fault: String? {
        if legs.isEmpty { return "the route has no legs" }
        for (index, leg) in legs.enumerated() {
            let segments = leg.line.count - 1
            guard segments > 0 else { return "leg \(index) has no line" }
            guard leg.line.allSatisfy(\.isValid) else { return "leg \(index) leads off the Earth" }
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
                return "leg \(index) has odd numbers"
            }
        }
        return nil
    }

    /// The longest time or length that is believed, seconds or metres: a year at walking pace.
    static let greatest = 4e7
}

/// A part of a provided route that the map has no road for, or none that the vehicle may drive.
public struct UnmappedStretch: Sendable, Hashable {
    /// The leg, from 0.
    public var leg: Int
    /// Metres from the leg's start where it begins.
    public var start: Double
    /// Metres from the leg's start where it ends.
    public var end: Double
    public var coordinate: Coordinate

    /// Metres.
    public var length: Double { end - start }
}
