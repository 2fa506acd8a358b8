import NavGeo
import NavPositioning
import NavRouting

/// Routes that were asked for without setting out: those under way, and those that are shown until one is chosen.
///
/// A preview lasts until guidance starts or it is stopped; nothing else ends it.
struct PreviewDesk {
    /// Routes that are being found.
    struct Calculation: Equatable {
        var id: UInt64
        var order: RouteOrder
        var isPreview: Bool
        /// The call that waits for them; 0 for none.
        var call: UInt64
        var stamp: Timestamp
        /// The vehicle's position; nil where the order names the origin.
        var origin: Sighting?

        /// Until when they are waited for.
        var deadline: Timestamp { stamp.advanced(bySeconds: PreviewDesk.patience) }
    }

    /// Routes that are shown.
    struct Shown: Equatable {
        var preview: RoutePreview
        var order: RouteOrder
        /// The vehicle's position when they were asked for.
        var origin: Sighting?
    }

    /// The most orders at a time: more are refused, so that no caller can fill the memory.
    static let greatestCount = 8
    /// The longest wait for routes, seconds.
    static let patience = 30.0

    private var calculations: [Calculation] = []
    /// The routes that are shown.
    var shown: Shown?

    /// Whether there are routes to choose from.
    var isActive: Bool { shown?.preview.routes.isEmpty == false }

    /// Whether another order can be taken.
    var isFull: Bool { calculations.count >= PreviewDesk.greatestCount }

    /// Notes an order; the earlier preview that it takes the place of, if that is still being found.
    mutating func begin(_ calculation: Calculation) -> Calculation? {
        defer { calculations.append(calculation) }
        guard calculation.isPreview else { return nil }
        return takePreview()
    }

    /// Takes away the preview that is being found.
    mutating func takePreview() -> Calculation? {
        guard let index = calculations.firstIndex(where: \.isPreview) else { return nil }
        return calculations.remove(at: index)
    }

    /// Takes an order away whose answer is there.
    mutating func take(_ id: UInt64) -> Calculation? {
        guard let index = calculations.firstIndex(where: { $0.id == id }) else { return nil }
        return calculations.remove(at: index)
    }

    /// Until when the first of the answers is waited for.
    var due: Timestamp? { calculations.map(\.deadline).min() }

    /// Takes those away whose answers have not come in time.
    mutating func takeOverdue(at stamp: Timestamp) -> [Calculation] { take { $0.deadline <= stamp } }

    /// Takes those away that a call waited for which has ended.
    mutating func callEnded(_ call: UInt64) -> [Calculation] { take { $0.call == call } }

    private mutating func take(where isTaken: (Calculation) -> Bool) -> [Calculation] {
        guard calculations.contains(where: isTaken) else { return [] }
        defer { calculations.removeAll(where: isTaken) }
        return calculations.filter(isTaken)
    }

    /// Notes that the clock was set back.
    mutating func noteClockSet(to stamp: Timestamp) {
        for index in calculations.indices { calculations[index].stamp = stamp }
    }
}
