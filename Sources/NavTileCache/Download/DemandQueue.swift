import HeapModule
import NavGeo

/// The demands of one owner for tiles of one tileset, in its order, with their progress.
///
/// A cursor passes over the demands once. A demand to be retried waits in a heap ordered by due time, then returns to
/// its place.
struct DemandQueue: Sendable {
    private struct Due: Comparable, Sendable {
        var moment: Duration
        var index: Int

        static func < (left: Due, right: Due) -> Bool { (left.moment, left.index) < (right.moment, right.index) }
    }

    private enum State: UInt8 {
        case pending
        case deferred
        case taken
        case done
    }

    let owner: DownloadOwner
    let tileset: String
    private(set) var demands: [TileDemand]
    private var states: [State]
    private var places: [TileID: Int]
    private var cursor = 0
    private var deferred = Heap<Due>()
    private var ready = Heap<Int>()
    /// The number of demands that are not done.
    private(set) var remaining: Int

    /// - Parameter demands: All demands are for `tileset`; among several for one tile, the first counts.
    init(_ owner: DownloadOwner, _ tileset: String, _ demands: [TileDemand]) {
        self.owner = owner
        self.tileset = tileset
        let sorted = demands.sorted { left, right in
            if left.isSooner(than: right) { return true }
            return !right.isSooner(than: left) && left.address.tile < right.address.tile
        }
        self.demands = []
        self.demands.reserveCapacity(sorted.count)
        places = [:]
        places.reserveCapacity(sorted.count)
        for demand in sorted where places[demand.address.tile] == nil {
            places[demand.address.tile] = self.demands.count
            self.demands.append(demand)
        }
        states = [State](repeating: .pending, count: self.demands.count)
        remaining = self.demands.count
    }

    /// Returns the place of a demand that is not done; nil when there is none.
    func place(of key: DownloadKey) -> Int? {
        guard let place = places[key.address.tile], states[place] != .done, demands[place].edition == key.edition else {
            return nil
        }
        return place
    }

    /// Appends a demand, or replaces the one for the same tile.
    mutating func append(_ demand: TileDemand) {
        if let place = places[demand.address.tile] {
            // A demand that is done, or that is for another edition, starts over.
            if states[place] == .done { remaining += 1 }
            demands[place] = demand
            states[place] = .pending
            if place < cursor { ready.insert(place) }
            return
        }
        places[demand.address.tile] = demands.count
        demands.append(demand)
        states.append(.pending)
        remaining += 1
    }

    /// The maximum number of demands of a queue that keeps its completed demands.
    private static let greatestUncompacted = 1_024

    /// Drops the completed demands when they are the majority of many; the others keep their order but not their
    /// places.
    ///
    /// Under continuous demand the queue is never empty, so a queue that is reset only when empty would grow without
    /// bound.
    mutating func compact() {
        guard demands.count > Self.greatestUncompacted, remaining < demands.count / 2 else { return }
        let kept = demands.indices.filter { states[$0] != .done }
        var moved = [Int?](repeating: nil, count: demands.count)
        for (place, old) in kept.enumerated() { moved[old] = place }
        cursor = moved[..<cursor].count { $0 != nil }
        demands = kept.map { demands[$0] }
        states = kept.map { states[$0] }
        places = [:]
        for (place, demand) in demands.enumerated() { places[demand.address.tile] = place }
        deferred = Heap(
            deferred.unordered.compactMap { due in moved[due.index].map { Due(moment: due.moment, index: $0) } })
        ready = Heap(ready.unordered.compactMap { moved[$0] })
    }

    /// Returns the place of the next demand; it stays the next until it is taken, deferred or done.
    mutating func next(at now: Duration) -> Int? {
        while let due = deferred.min, due.moment <= now {
            deferred.removeMin()
            guard states[due.index] == .deferred else { continue }
            states[due.index] = .pending
            ready.insert(due.index)
        }
        while let first = ready.min, states[first] != .pending { ready.removeMin() }
        while cursor < demands.count, states[cursor] != .pending { cursor += 1 }
        guard let first = ready.min else { return cursor < demands.count ? cursor : nil }
        return min(first, cursor)
    }

    /// The moment when the next deferred demand is due.
    var wake: Duration? { deferred.min?.moment }

    mutating func take(_ place: Int) { states[place] = .taken }

    mutating func `defer`(_ place: Int, until moment: Duration) {
        guard states[place] != .done else { return }
        states[place] = .deferred
        deferred.insert(Due(moment: moment, index: place))
    }

    mutating func finish(_ place: Int) {
        guard states[place] != .done else { return }
        states[place] = .done
        remaining -= 1
    }
}

package struct DownloadKey: Sendable, Hashable {
    package var address: TileAddress
    package var edition: String?

    package init(_ demand: TileDemand) {
        address = demand.address
        edition = demand.edition
    }

    /// Hashes only the tile, since running downloads are rarely of several tilesets or editions.
    package func hash(into hasher: inout Hasher) { hasher.combine(address.tile) }
}
