import NavMap

/// The scratch memory of ``ArcUnpacking``.
struct UnpackingScratch {
    /// A part of a path along one arc, and the number of the next part.
    fileprivate struct Piece: BitwiseCopyable {
        var tail: UInt32
        var head: UInt32
        var arc: UInt32
        var next: UInt32
    }

    /// A part that is being unpacked, with its middle vertex as far as it is determined.
    fileprivate struct Split: BitwiseCopyable {
        var piece: UInt32
        /// First the position of the middle among the lower neighbours, later the arc from the middle to the part's
        /// lower end.
        var place: UInt32
        var middle: UInt32 = 0
        var end: UInt32 = 0
    }

    fileprivate var pieces = FlatArray<Piece>(uninitialized: 1_024)
    fileprivate var splits = FlatArray<Split>(uninitialized: 1_024)

    /// Grows an array and preserves its first values.
    fileprivate static func reserve<Value>(_ count: Int, in array: inout FlatArray<Value>, keeping kept: Int) {
        guard array.count < count else { return }
        let larger = FlatArray<Value>(uninitialized: count * 2)
        larger.base.initialize(from: array.base, count: kept)
        array = larger
    }
}

/// The unpacking of arcs into the turns that they represent.
///
/// An arc leads over a lower vertex, by two arcs that may be shortcuts themselves. All arcs of a path are unpacked
/// together, level by level, and each level in short passes over independent positions. The scattered memory reads of a
/// pass overlap, whereas unpacking one arc after the other would wait for each.
struct ArcUnpacking {
    private typealias Piece = UnpackingScratch.Piece
    private typealias Split = UnpackingScratch.Split

    let costs: HierarchyMetric

    private static let last = UInt32.max

    /// Appends the states after the first vertex of a chain, up to and including the last vertex.
    ///
    /// - Parameter chain: Vertices, each joined to the next by a drivable arc.
    func append(
        _ chain: ContiguousArray<UInt32>, to result: inout ContiguousArray<TurnState>, _ scratch: inout UnpackingScratch
    ) {
        guard chain.count > 1 else { return }
        var count = chain.count - 1
        var open = count
        UnpackingScratch.reserve(count, in: &scratch.pieces, keeping: 0)
        UnpackingScratch.reserve(count, in: &scratch.splits, keeping: 0)
        for index in 0..<count {
            let (tail, head) = (chain[index], chain[index + 1])
            scratch.pieces[index] = Piece(
                tail: tail, head: head, arc: costs.hierarchy.arc(from: min(tail, head), to: max(tail, head)),
                next: index + 1 < count ? UInt32(index + 1) : Self.last)
            scratch.splits[index] = Split(piece: UInt32(index), place: 0)
        }
        while true {
            open = findMiddles(scratch.pieces.base, scratch.splits.base, open)
            guard open > 0 else { break }
            UnpackingScratch.reserve(count + open, in: &scratch.pieces, keeping: count)
            UnpackingScratch.reserve(open * 2, in: &scratch.splits, keeping: open)
            split(scratch.pieces.base, count, scratch.splits.base, open)
            count += open
            open *= 2
        }
        result.reserveCapacity(result.count + count)
        let (pieces, states) = (scratch.pieces.base, costs.hierarchy.states.base)
        var piece: UInt32 = 0
        while piece != Self.last {
            result.append(states[Int(pieces[Int(piece)].head)])
            piece = pieces[Int(piece)].next
        }
    }

    /// Finds the middles of parts and removes parts that are turns; returns how many remain.
    private func findMiddles(
        _ pieces: UnsafeMutablePointer<Piece>, _ splits: UnsafeMutablePointer<Split>, _ open: Int
    ) -> Int {
        let hierarchy = costs.hierarchy
        let (middles, downOffsets) = (costs.middles.base, hierarchy.downOffsets.base)
        var left = 0
        for index in 0..<open {
            let number = splits[index].piece
            let piece = pieces[Int(number)]
            let place = middles[Int(piece.arc)].place(isUp: piece.tail < piece.head)
            splits[left] = Split(
                piece: number, place: downOffsets[Int(min(piece.tail, piece.head))] &+ UInt32(place))
            left += place == ArcMiddles.noPlace ? 0 : 1
        }
        let (downTails, downArcs, upOffsets) =
            (hierarchy.downTails.base, hierarchy.downArcs.base, hierarchy.upOffsets.base)
        for index in 0..<left {
            let place = Int(splits[index].place)
            splits[index].middle = downTails[place]
            splits[index].place = downArcs[place]
        }
        for index in 0..<left { splits[index].end = upOffsets[Int(splits[index].middle) + 1] }
        return left
    }

    /// Replaces each part by the two parts it leads over; the new ones are numbered from `count`, and all remain open.
    private func split(
        _ pieces: UnsafeMutablePointer<Piece>, _ count: Int, _ splits: UnsafeMutablePointer<Split>, _ open: Int
    ) {
        let heads = costs.hierarchy.upHeads.base
        // Backwards, so that each part makes room for two.
        for index in stride(from: open - 1, through: 0, by: -1) {
            let split = splits[index]
            let piece = pieces[Int(split.piece)]
            let upper = max(piece.tail, piece.head)
            // Arcs are sorted by their upper ends, and the middle has an arc to this one.
            var (first, length) = (split.place, split.end &- split.place)
            while length > 1 {
                let half = length / 2
                first = heads[Int(first &+ half)] <= upper ? first &+ half : first
                length &-= half
            }
            let new = UInt32(count + index)
            let isUp = piece.tail < piece.head
            pieces[Int(split.piece)] = Piece(
                tail: piece.tail, head: split.middle, arc: isUp ? split.place : first, next: new)
            pieces[Int(new)] = Piece(
                tail: split.middle, head: piece.head, arc: isUp ? first : split.place, next: piece.next)
            splits[index * 2] = Split(piece: split.piece, place: 0)
            splits[index * 2 + 1] = Split(piece: new, place: 0)
        }
    }
}
