extension RoadNetwork {
    /// Gives each part of a ferry line its share of the crossing time, and the speed that follows from it.
    mutating func shareCrossingTimes(_ data: OSMData) {
        for road in roads.ways.indices {
            let number = roads.forward[road] != RoadTable.none ? roads.forward[road] : roads.backward[road]
            let time = roads.attributes[Int(number)].crossingTime
            let segments = segments(ofRoad: road)
            guard time > 0, !segments.isEmpty else { continue }
            let lengths = segments.map { length($0, data) }
            let total = Float(lengths.reduce(0, +))
            // One number of attributes serves the whole way, so a line that calls at a landing on the way keeps no
            // time of its own per part: speed alone gives each part its share.
            let speed = min(max(total / time, 0.05), 30)
            for isBackward in [false, true] {
                let old = isBackward ? roads.backward[road] : roads.forward[road]
                guard old != RoadTable.none else { continue }
                var direction = roads.attributes[Int(old)]
                direction.freeFlowSpeed = speed
                direction.crossingTime = segments.count == 1 ? time : 0
                let new = roads.addAttributes(direction)
                if isBackward { roads.backward[road] = new } else { roads.forward[road] = new }
            }
        }
    }
}
