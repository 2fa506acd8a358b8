import NavMap
import Synchronization

/// A sort of speeds by their segments, in time proportional to their count where nodes have few speeds.
enum TrafficOrder {
    /// Maps an id to an unsigned number in the same order.
    @inline(__always)
    static func value(_ id: Int64) -> UInt64 { UInt64(bitPattern: id) ^ 1 << 63 }

    /// The largest group that is sorted by insertion; larger ones use the standard library's sort.
    private static let smallGroup = 24

    /// Returns the speeds by nodes and way, one for each segment: the last one given.
    ///
    /// - Parameter forEach: The executor that sorts the halves; nil to sort as a whole.
    static func sorted(
        _ speeds: ContiguousArray<TrafficSpeed>, _ forEach: HierarchyMetric.ForEach?
    ) -> ContiguousArray<TrafficSpeed> {
        if isSorted(speeds) { return speeds }
        guard let forEach else { return sorted(speeds) }
        let halves = Mutex<[ContiguousArray<TrafficSpeed>]>([[], []])
        forEach(2) { part in
            let range = speeds.count * part / 2..<speeds.count * (part + 1) / 2
            let half = sorted(ContiguousArray(speeds[range]))
            halves.withLock { $0[part] = half }
        }
        let (first, second) = halves.withLock { ($0[0], $0[1]) }
        var refused = 0
        return merged(first, second, limit: .max, &refused)
    }

    private static func isSorted(_ speeds: ContiguousArray<TrafficSpeed>) -> Bool {
        speeds.withUnsafeBufferPointer { given in
            for index in given.indices.dropFirst() where !TrafficSpeed.isOrdered(given[index - 1], given[index]) {
                return false
            }
            return true
        }
    }

    /// Merges two sorted lists; among equal segments the one of `fresh` counts.
    ///
    /// Fresh speeds beyond `limit` are counted and dropped.
    static func merged(
        _ known: ContiguousArray<TrafficSpeed>, _ fresh: ContiguousArray<TrafficSpeed>, limit: Int,
        _ refused: inout Int
    ) -> ContiguousArray<TrafficSpeed> {
        var merged: ContiguousArray<TrafficSpeed> = []
        merged.reserveCapacity(known.count + fresh.count)
        var tooMany = 0
        known.withUnsafeBufferPointer { known in
            var old = 0
            for speed in fresh {
                while old < known.count, TrafficSpeed.isOrdered(known[old], speed) {
                    merged.append(known[old])
                    old += 1
                }
                if old < known.count, known[old].isSameSegment(as: speed) {
                    old += 1
                } else if merged.count + known.count - old >= limit {
                    tooMany += 1
                    continue
                }
                merged.append(speed)
            }
            merged.append(contentsOf: known[old...])
        }
        refused += tooMany
        return merged
    }

    private static func sorted(_ speeds: ContiguousArray<TrafficSpeed>) -> ContiguousArray<TrafficSpeed> {
        speeds.withUnsafeBufferPointer { given in
            let numbers = FlatArray<UInt64>(uninitialized: given.count)
            for index in given.indices { numbers[index] = value(given[index].fromNodeID) }
            let order = NumberOrder.places(of: numbers)
            var result = ContiguousArray<TrafficSpeed>()
            result.reserveCapacity(given.count)
            // The start of the last node's speeds.
            var first = 0
            for place in 0..<order.count {
                let speed = given[Int(order[place])]
                if let last = result.last, last.fromNodeID == speed.fromNodeID {
                    if result.count - first < smallGroup {
                        insert(speed, first, &result)
                        continue
                    }
                    // Sorted once all speeds of the node are present.
                    result.append(speed)
                } else {
                    sortLast(from: first, &result)
                    first = result.count
                    result.append(speed)
                }
            }
            sortLast(from: first, &result)
            return result
        }
    }

    /// Inserts a speed into the speeds of the last node, which are sorted.
    @inline(__always)
    private static func insert(_ speed: TrafficSpeed, _ first: Int, _ result: inout ContiguousArray<TrafficSpeed>) {
        var place = result.count
        while place > first, TrafficSpeed.isOrdered(speed, result[place - 1]) { place -= 1 }
        if place > first, result[place - 1].isSameSegment(as: speed) {
            result[place - 1] = speed
        } else if place == result.count {
            result.append(speed)
        } else {
            result.insert(speed, at: place)
        }
    }

    /// Sorts the speeds of the last node if sorting was deferred because there are many.
    @inline(__always)
    private static func sortLast(from first: Int, _ result: inout ContiguousArray<TrafficSpeed>) {
        guard result.count - first > smallGroup else { return }
        sortMany(from: first, &result)
    }

    private static func sortMany(from first: Int, _ result: inout ContiguousArray<TrafficSpeed>) {
        let group = ContiguousArray(result[first...])
        let order = group.indices.sorted {
            TrafficSpeed.isOrdered(group[$0], group[$1])
                || !TrafficSpeed.isOrdered(group[$1], group[$0]) && $0 < $1
        }
        result.removeLast(group.count)
        for index in order {
            if result.count > first, result[result.count - 1].isSameSegment(as: group[index]) {
                result[result.count - 1] = group[index]
            } else {
                result.append(group[index])
            }
        }
    }
}
