/// A kind of sentence that is used, by its three letters.
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

    /// The number of the field with the UTC time, if the kind has one.
    var timeField: Int? {
        switch self {
        case .rmc, .gga, .gns, .gst, .gbs, .zda: 1
        case .gll: 5
        case .gsa, .gsv, .vtg, .hdt, .ths: nil
        }
    }

    /// Whether a second sentence of the same talker begins another epoch, even with the same time or none.
    var isOncePerEpoch: Bool {
        switch self {
        case .rmc, .gga, .gns, .gll: true
        case .gsa, .gsv, .vtg, .gst, .gbs, .zda, .hdt, .ths: false
        }
    }
}

/// An estimator of the last sentence of a receiver's cycle, identified by its kind and its occurrence in the cycle.
struct NMEACycle: Sendable {
    /// The number of consecutive epochs that must end with the same sentence before it is trusted.
    static let confirmations = 3

    private var kinds: [UInt32: Int] = [:]
    private var last: (kind: UInt32, number: Int)?
    private var learned: (kind: UInt32, number: Int)?
    private var confirmed = 0

    /// Records a sentence, and returns whether it ends the cycle.
    mutating func heard(_ kind: NMEAKind) -> Bool {
        let number = (kinds[kind.rawValue] ?? 0) &+ 1
        kinds[kind.rawValue] = number
        last = (kind.rawValue, number)
        guard confirmed >= Self.confirmations, let learned else { return false }
        return learned == (kind.rawValue, number)
    }

    /// Records that the next epoch began, so that the last sentence ended this one.
    mutating func endedByNext() {
        if let last, let learned, last == learned {
            confirmed = min(confirmed + 1, Self.confirmations)
        } else if last != nil {
            learned = last
            confirmed = 1
        }
        restart()
    }

    /// Discards the learned end, which was wrong.
    mutating func unlearn() {
        learned = nil
        confirmed = 0
    }

    /// Begins another epoch.
    mutating func restart() {
        kinds.removeAll(keepingCapacity: true)
        last = nil
    }
}

/// A calendar that keeps the date of a stream whose sentences mostly carry only the time of day.
struct NMEACalendar: Sendable {
    private static let rolloverDays: Int64 = 7 * 1024
    private static let halfDay = UTC.nanosecondsPerDay / 2

    private var last: (days: Int64, nanosecondOfDay: Int64)?

    /// Returns a date moved forward by as many GPS week rollovers as bring it nearest to the host's time.
    static func corrected(_ days: Int64, hostTimeNs: Int64?) -> Int64 {
        guard let hostTimeNs else { return days }
        let missed = (hostTimeNs / UTC.nanosecondsPerDay - days + rolloverDays / 2) / rolloverDays
        return days + max(missed, 0) * rolloverDays
    }

    /// Records the date and time of a sentence.
    mutating func set(days: Int64, nanosecondOfDay: Int64) { last = (days, nanosecondOfDay) }

    /// Returns the stamp of a time of day, ns since the Unix epoch, on the given day, otherwise on the day derived from the last date.
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
