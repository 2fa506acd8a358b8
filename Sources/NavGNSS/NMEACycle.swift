/// The kinds of sentences that are used, by their three letters.
enum NMEAKind: UInt32 {
    case rmc = 0x52_4d_43
    case gga = 0x47_47_41
    case gns = 0x47_4e_53
    case gll = 0x47_4c_4c
    case gsa = 0x47_53_41
    case gsv = 0x47_53_56
    case vtg = 0x56_54_47
    case gst = 0x47_53_54
    case gbs = 0x47_42_53
    case zda = 0x5a_44_41
    case hdt = 0x48_44_54
    case ths = 0x54_48_53

    /// Number of the field with the UTC time, if the kind has one.
    var timeField: Int? {
        switch self {
        case .rmc, .gga, .gns, .gst, .gbs, .zda: 1
        case .gll: 5
        case .gsa, .gsv, .vtg, .hdt, .ths: nil
        }
    }

    /// Whether a second one of the same talker begins another epoch, even at the same or no time.
    var isOncePerEpoch: Bool {
        switch self {
        case .rmc, .gga, .gns, .gll: true
        case .gsa, .gsv, .vtg, .gst, .gbs, .zda, .hdt, .ths: false
        }
    }
}

/// Learns which sentence ends a receiver's cycle, as a kind and how often the kind came in the cycle.
struct NMEACycle: Sendable {
    /// Epochs that must end alike before the end is trusted.
    static let confirmations = 3

    private var kinds: [UInt32: Int] = [:]
    private var last: (kind: UInt32, number: Int)?
    private var learned: (kind: UInt32, number: Int)?
    private var confirmed = 0

    /// Notes a sentence; whether it is the one that ends the cycle.
    mutating func heard(_ kind: NMEAKind) -> Bool {
        let number = (kinds[kind.rawValue] ?? 0) &+ 1
        kinds[kind.rawValue] = number
        last = (kind.rawValue, number)
        guard confirmed >= Self.confirmations, let learned else { return false }
        return learned == (kind.rawValue, number)
    }

    /// The next epoch began: what was heard last ended this one.
    mutating func endedByNext() {
        if let last, let learned, last == learned {
            confirmed = min(confirmed + 1, Self.confirmations)
        } else if last != nil {
            learned = last
            confirmed = 1
        }
        restart()
    }

    /// The epoch was handed out at its learned end.
    mutating func endedEarly() { restart() }

    /// The learned end was wrong.
    mutating func unlearn() {
        learned = nil
        confirmed = 0
    }

    private mutating func restart() {
        kinds.removeAll(keepingCapacity: true)
        last = nil
    }
}

/// Keeps the date of a stream whose sentences mostly carry the time of the day alone.
struct NMEACalendar: Sendable {
    private static let rolloverDays: Int64 = 7 * 1024
    private static let halfDay = UTC.nanosecondsPerDay / 2

    private var last: (days: Int64, nanosecondOfDay: Int64)?
    private let pivotDays: Int64?

    init(rolloverPivotNs: Int64?) { pivotDays = rolloverPivotNs.map { $0 / UTC.nanosecondsPerDay } }

    /// A date moved by as many GPS week rollovers as bring it past the pivot.
    func corrected(_ days: Int64) -> Int64 {
        guard let pivotDays, days < pivotDays else { return days }
        let missing = pivotDays - days
        return days + (missing + Self.rolloverDays - 1) / Self.rolloverDays * Self.rolloverDays
    }

    /// Notes a date and time that a sentence told.
    mutating func tell(days: Int64, nanosecondOfDay: Int64) { last = (days, nanosecondOfDay) }

    /// Stamp of a time of the day in ns since the Unix epoch, on the day given or on the one that follows from the
    /// last.
    mutating func stamp(days: Int64?, nanosecondOfDay: Int64) -> Int64? {
        var day = days
        if day == nil, let last {
            let step = nanosecondOfDay - last.nanosecondOfDay
            day = last.days + (step < -Self.halfDay ? 1 : step > Self.halfDay ? -1 : 0)
        }
        guard let day else { return nil }
        last = (day, nanosecondOfDay)
        return UTC.stamp(days: day, nanosecondOfDay: nanosecondOfDay)
    }
}
