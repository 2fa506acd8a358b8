/// Sorts by numbers of 64 bits, in time that grows with the count alone.
enum TrafficOrder {
    /// A number and where it stood.
    struct Key: BitwiseCopyable {
        var value: UInt64
        var index: UInt32
    }

    /// An id as a number in the same order.
    @inline(__always)
    static func value(_ id: Int64) -> UInt64 { UInt64(bitPattern: id) ^ 1 << 63 }

    private static let digitBits: UInt64 = 11
    /// Groups of more than this are left to the library's sort.
    private static let smallGroup = 24

    /// Sorts keys by value, equal ones as they stood: by digits of 11 bits from the last on, those alone in which the
    /// values differ.
    static func sort(_ keys: inout ContiguousArray<Key>) {
        guard keys.count > 1 else { return }
        var (least, greatest) = (UInt64.max, UInt64.min)
        for key in keys {
            least = min(least, key.value)
            greatest = max(greatest, key.value)
        }
        var other = keys
        let buckets = 1 << Int(digitBits)
        var shift: UInt64 = 0
        while shift < 64, (greatest - least) >> shift > 0 {
            var starts = ContiguousArray<UInt32>(repeating: 0, count: buckets + 1)
            keys.withUnsafeBufferPointer { from in
                other.withUnsafeMutableBufferPointer { to in
                    starts.withUnsafeMutableBufferPointer { starts in
                        let mask = UInt64(buckets - 1)
                        for key in from { starts[Int((key.value - least) >> shift & mask) + 1] += 1 }
                        for bucket in 0..<buckets { starts[bucket + 1] += starts[bucket] }
                        for key in from {
                            let bucket = Int((key.value - least) >> shift & mask)
                            to[Int(starts[bucket])] = key
                            starts[bucket] += 1
                        }
                    }
                }
            }
            swap(&keys, &other)
            shift += digitBits
        }
    }

    /// The speeds by nodes and way, one for each segment: the last that was given.
    static func sorted(_ speeds: ContiguousArray<TrafficSpeed>) -> ContiguousArray<TrafficSpeed> {
        speeds.withUnsafeBufferPointer { given in
            var isSorted = true
            for index in given.indices.dropFirst() where !TrafficSpeed.isOrdered(given[index - 1], given[index]) {
                isSorted = false
                break
            }
            if isSorted { return speeds }
            var keys = ContiguousArray<Key>()
            keys.reserveCapacity(given.count)
            for index in given.indices {
                keys.append(Key(value: value(given[index].fromNodeID), index: UInt32(index)))
            }
            sort(&keys)
            var result = ContiguousArray<TrafficSpeed>()
            result.reserveCapacity(given.count)
            var start = 0
            while start < keys.count {
                var end = start + 1
                while end < keys.count, keys[end].value == keys[start].value { end += 1 }
                put(keys[start..<end], given, &result)
                start = end
            }
            return result
        }
    }

    /// Appends the speeds of one node.
    @inline(__always)
    private static func put(
        _ keys: ContiguousArray<Key>.SubSequence, _ given: UnsafeBufferPointer<TrafficSpeed>,
        _ result: inout ContiguousArray<TrafficSpeed>
    ) {
        let first = result.count
        if keys.count > smallGroup {
            let order = keys.sorted { left, right in
                let (a, b) = (given[Int(left.index)], given[Int(right.index)])
                return TrafficSpeed.isOrdered(a, b) || !TrafficSpeed.isOrdered(b, a) && left.index < right.index
            }
            for key in order { putLast(given[Int(key.index)], first, &result) }
            return
        }
        for key in keys {
            let speed = given[Int(key.index)]
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
    }

    private static func putLast(
        _ speed: TrafficSpeed, _ first: Int, _ result: inout ContiguousArray<TrafficSpeed>
    ) {
        if result.count > first, result[result.count - 1].isSameSegment(as: speed) {
            result[result.count - 1] = speed
        } else {
            result.append(speed)
        }
    }
}
