import NavMap

/// The costs of one ``Metric`` on the arcs of a ``ContractionHierarchy``.
///
/// An arc costs as much as the cheapest path between its ends over lower vertices, which is found triangle by triangle
/// from the lowest vertex up.
public final class HierarchyMetric: @unchecked Sendable {
    public let hierarchy: ContractionHierarchy
    /// The costs of edges and turns.
    public let metric: Metric

    /// The cost of an undriveable arc; the sum of two still fits 32 bits.
    ///
    /// Costs up to 24 days are distinguished.
    static let unreachable = UInt32(Int32.max)

    /// The costs up (x) and down (y) each arc, ms.
    let costs: FlatArray<SIMD2<UInt32>>
    /// The middle vertices of the arcs' cheapest paths.
    let middles: FlatArray<ArcMiddles>
    /// The costs to the open ends of the loaded tiles; nil when there are none.
    private(set) var openEnds: OpenEndCosts?

    /// A function that runs a body for each of the numbers 0 ..< n, in any order and on any threads, and returns when
    /// all are done, such as `DispatchQueue.concurrentPerform(iterations:execute:)`.
    public typealias ForEach = (_ n: Int, _ body: @Sendable (Int) -> Void) -> Void

    /// Runs the body on the calling thread, one number after the other.
    public static func inTurn(_ n: Int, _ body: @Sendable (Int) -> Void) { for number in 0..<n { body(number) } }

    /// Customises a hierarchy; equal metrics give equal costs, regardless of the threads.
    ///
    /// Subtrees of the elimination tree are customised in parallel. Above them, first all paths over the subtrees'
    /// vertices run in parallel, then those over the top's own vertices on the calling thread.
    ///
    /// - Parameters:
    ///   - hierarchy: The topology of the metric's turn graph.
    ///   - metric: The costs.
    ///   - forEach: The executor of the parts; the calling thread by default.
    public convenience init(
        _ hierarchy: ContractionHierarchy, _ metric: Metric,
        forEach: ForEach = HierarchyMetric.inTurn
    ) {
        precondition(hierarchy.turns === metric.turns, "the metric and the hierarchy have different turn graphs")
        self.init(metric, on: hierarchy)
        let parts = hierarchy.parts
        forEach(parts.subtrees.count) { part in
            self.withPlaces { places in
                for vertex in parts.subtrees[part] {
                    self.respect(vertex)
                    self.customise(vertex, places, over: .all)
                }
            }
        }
        let slices = min(parts.top.count, Self.topSlices)
        forEach(slices) { slice in
            self.withPlaces { places in
                // Interleaved, because higher vertices have more work.
                for index in stride(from: slice, to: parts.top.count, by: slices) {
                    self.respect(Int(parts.top[index]))
                    self.customise(Int(parts.top[index]), places, over: .subtrees)
                }
            }
        }
        withPlaces { places in for vertex in parts.top { customise(Int(vertex), places, over: .top) } }
        openEnds = OpenEndCosts(hierarchy, metric, costs)
    }

    /// The number of parts into which the work above the subtrees is divided.
    private static let topSlices = 16

    /// The lower vertices over which paths are considered.
    private enum Lower { case all, subtrees, top }

    private func withPlaces(_ body: (UnsafeMutablePointer<UInt32>) -> Void) {
        // Every value is written before it is read.
        let places = UnsafeMutablePointer<UInt32>.allocate(capacity: max(hierarchy.vertexCount, 1))
        defer { places.deallocate() }
        body(places)
    }

    /// Allocates the arrays without initialising the costs.
    private init(_ metric: Metric, on hierarchy: ContractionHierarchy) {
        self.hierarchy = hierarchy
        self.metric = metric
        costs = FlatArray(uninitialized: hierarchy.arcCount)
        middles = FlatArray(uninitialized: hierarchy.arcCount)
    }

    /// Sets the arcs of a vertex to the costs of single turns.
    @inline(__always)
    private func respect(_ vertex: Int) {
        let (costs, middles, slots) = (costs.base, middles.base, hierarchy.slots.base)
        for arc in Int(hierarchy.upOffsets[vertex])..<Int(hierarchy.upOffsets[vertex + 1]) {
            costs[arc] = SIMD2(repeating: Self.unreachable)
            middles[arc] = .none
        }
        let state = hierarchy.states[vertex]
        let turns = hierarchy.turns
        for arc in turns.arcs(from: state) where slots[arc] != ContractionHierarchy.noArc && slots[arc] & 1 == 0 {
            let index = Int(slots[arc] >> 1)
            costs[index].x = min(costs[index].x, cost(arc, to: turns.arcTargets[arc]))
        }
        for slot in Int(turns.reverseOffsets[Int(state)])..<Int(turns.reverseOffsets[Int(state) + 1]) {
            let arc = Int(turns.reverseArcs[slot])
            guard slots[arc] != ContractionHierarchy.noArc, slots[arc] & 1 == 1 else { continue }
            let index = Int(slots[arc] >> 1)
            costs[index].y = min(costs[index].y, cost(arc, to: state))
        }
    }

    /// Returns the cost of a turn including the second edge.
    @inline(__always)
    private func cost(_ arc: Int, to next: TurnState) -> UInt32 {
        guard metric.arcCosts[arc] != Metric.forbidden else { return Self.unreachable }
        let edge = metric.edgeCosts[hierarchy.turns.edge(of: next).index]
        let (sum, overflow) = metric.arcCosts[arc].addingReportingOverflow(edge)
        return overflow ? Self.unreachable : min(sum, Self.unreachable)
    }

    /// Lowers the arcs of a vertex to the cost of paths over lower vertices whose arcs are final.
    ///
    /// It writes to no other vertex's arcs.
    ///
    /// - Parameter places: Scratch of the calling thread, one number for each vertex.
    @inline(__always)
    private func customise(_ vertex: Int, _ places: UnsafeMutablePointer<UInt32>, over lower: Lower) {
        let (costs, middles) = (costs.base, middles.base)
        let (upOffsets, upHeads) = (hierarchy.upOffsets.base, hierarchy.upHeads.base)
        let (downOffsets, downTails, downArcs) =
            (hierarchy.downOffsets.base, hierarchy.downTails.base, hierarchy.downArcs.base)
        let isTop = hierarchy.parts.isTop.base
        for arc in upOffsets[vertex]..<upOffsets[vertex + 1] { places[Int(upHeads[Int(arc)])] = arc }
        let firstSlot = Int(downOffsets[vertex])
        for slot in firstSlot..<Int(downOffsets[vertex + 1]) {
            let tail = Int(downTails[slot])
            if lower != .all, isTop[tail] != (lower == .top) { continue }
            let arc = Int(downArcs[slot])
            let first = costs[arc]
            let toLower = SIMD2(first.y, first.x)
            let end = Int(upOffsets[tail + 1])
            let middle = ArcMiddles(place: slot - firstSlot)
            var other = arc + 1
            while other < end {
                let place = Int(places[Int(upHeads[other])])
                let cost = toLower &+ costs[other]
                let isLess = cost .< costs[place]
                costs[place].replace(with: cost, where: isLess)
                middles[place].replace(with: middle, where: isLess)
                other += 1
            }
        }
    }
}

/// The middle vertices of an arc's cheapest paths up and down, as positions among the lower neighbours of the arc's lower end.
struct ArcMiddles: BitwiseCopyable {
    /// The upward position in the lower half of the bits, the downward one in the upper half.
    private var places: UInt32

    /// The value for "no middle": the arc is a turn or undriveable.
    static let noPlace = UInt16.max
    /// No middle in either direction.
    static let none = ArcMiddles(places: .max)

    private init(places: UInt32) { self.places = places }

    /// Creates the same position, below ``noPlace``, in both directions.
    @inline(__always)
    init(place: Int) { places = UInt32(truncatingIfNeeded: place) &* 0x0001_0001 }

    /// Returns the middle's position in one direction.
    @inline(__always)
    func place(isUp: Bool) -> UInt16 { UInt16(truncatingIfNeeded: isUp ? places : places >> 16) }

    /// Replaces the positions of the masked directions, up first.
    ///
    /// Branchless, because the cheaper path is unpredictable.
    @inline(__always)
    mutating func replace(with other: ArcMiddles, where mask: SIMDMask<SIMD2<Int32>>) {
        let wide = unsafeBitCast(mask, to: UInt64.self)
        let chosen = UInt32(truncatingIfNeeded: wide & 0xFFFF) | UInt32(truncatingIfNeeded: wide >> 16) & 0xFFFF_0000
        places = places & ~chosen | other.places & chosen
    }
}
