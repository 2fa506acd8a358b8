internal import NavMap

extension RoadNetwork {
    /// Assigns each part of a ferry line or movable bridge its share of the crossing time, and derives its speed.
    mutating func shareCrossingTimes(_ data: OSMData) {
        for road in roads.ways.indices {
            let number = roads.forward[road] != RoadTable.none ? roads.forward[road] : roads.backward[road]
            guard number != RoadTable.none else { continue }
            let time = roads.attributes[Int(number)].crossingTime
            let segments = segments(ofRoad: road)
            guard time > 0, !segments.isEmpty else { continue }
            let lengths = segments.map { length($0, data) }
            let total = Float(lengths.reduce(0, +))
            // The parts of a line with intermediate landings or a border get no crossing time of their own: the speed
            // alone determines each share.
            let speed = min(max(total / time, 0.05), 30)
            var known: [UInt32: UInt32] = [:]
            func shared(_ old: UInt32) -> UInt32 {
                if old == RoadTable.none { return old }
                if let number = known[old] { return number }
                var direction = roads.attributes[Int(old)]
                direction.freeFlowSpeed = speed
                direction.crossingTime = segments.count == 1 && direction.roadClass == .ferry ? time : 0
                let number = roads.addAttributes(direction)
                known[old] = number
                return number
            }
            for segment in segments {
                setAttributes(
                    segment, forward: shared(segmentForward[segment]), backward: shared(segmentBackward[segment]))
            }
        }
    }
}
