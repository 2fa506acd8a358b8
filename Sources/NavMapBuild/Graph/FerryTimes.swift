extension RoadNetwork {
    /// Gives each part of a ferry line its share of the crossing time, and the speed that follows from it.
    mutating func shareCrossingTimes(_ data: OSMData) {
        for road in roads.ways.indices {
            let number = roads.forward[road] != RoadTable.none ? roads.forward[road] : roads.backward[road]
            guard number != RoadTable.none else { continue }
            let time = roads.attributes[Int(number)].crossingTime
            let segments = segments(ofRoad: road)
            guard time > 0, !segments.isEmpty else { continue }
            let lengths = segments.map { length($0, data) }
            let total = Float(lengths.reduce(0, +))
            // A line that calls at a landing on the way, or crosses a border, keeps no time of its own per part: speed
            // alone gives each part its share.
            let speed = min(max(total / time, 0.05), 30)
            var known: [UInt32: UInt32] = [:]
            func shared(_ old: UInt32) -> UInt32 {
                if old == RoadTable.none { return old }
                if let number = known[old] { return number }
                var direction = roads.attributes[Int(old)]
                direction.freeFlowSpeed = speed
                direction.crossingTime = segments.count == 1 ? time : 0
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
