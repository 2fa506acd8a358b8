package import NavMessages

/// A parser of NMEA 0183: bytes in, one fix per measurement time out.
///
/// RMC, GGA, GNS, GLL, GSA, GSV, VTG, GST, GBS, ZDA, HDT and THS of any talker are used; sentences with the same UTC time
/// form one fix. An epoch that any of them declares void is a fix of type NO_FIX without a position. Everything else in the
/// stream is skipped and counted. The result does not depend on how the bytes are split into chunks, and memory is
/// bounded.
///
/// **Dates.** RMC and ZDA carry the date; two-digit years 80 to 99 are 1980 to 1999, others 2000 to 2079, since GPS time
/// begins in 1980. An epoch without a date continues from the last one, across midnight in either direction (a jump of more
/// than twelve hours changes the day). Before the first date a fix has no stamp. Old receivers count 1024 weeks too few:
/// with `hostTimeNs` a date is moved forward by the multiple of 1024 weeks that brings it nearest to the host's time, so
/// that dates within 512 weeks of it do not change. A leap second, 23:59:60, has the stamp of the next midnight.
package struct NMEAParser: Sendable {
    /// The rule that decides when an epoch is complete.
    package enum EpochEnd: Sendable {
        /// When a sentence with another time begins the next epoch: no sentence is missed, but fixes are one epoch late.
        case nextEpoch
        /// When the sentence arrives that ended the last three epochs: no delay, for live receivers.
        ///
        /// Later sentences of the epoch are counted as `late`, and the order is learned again. A second RMC, GGA, GNS or GLL of a talker
        /// is not late, but begins another epoch.
        case learned
    }

    package private(set) var rejections = RejectionCounts()
    /// The number of sentences so far with a valid frame and of a used kind.
    package private(set) var sentencesUsed = 0

    /// The host's time, ns since the Unix epoch, for a live receiver; nil to move no date.
    package var hostTimeNs: Int64?
    /// The first date that was moved; nil when there was none.
    package private(set) var movedDate: MovedDate?

    private let epochEnd: EpochEnd
    private var framer = NMEAFramer()
    private var open: NMEAEpoch?
    private var cycle = NMEACycle()
    private var calendar = NMEACalendar()
    /// The time of the last closed epoch, and its sentences that occur only once in an epoch.
    private var closed: (nanosecondOfDay: Int64?, seen: [UInt64]) = (nil, [])

    package init(epochEnd: EpochEnd = .nextEpoch) { self.epochEnd = epochEnd }

    /// Takes the next chunk of the stream and returns the fixes that it completes, in order.
    package mutating func consume(_ bytes: [UInt8]) -> [GnssFix] {
        var fixes: [GnssFix] = []
        for byte in bytes { take(framer.push(byte), into: &fixes) }
        return fixes
    }

    /// Returns the fix of the open epoch: at the end of the stream, or when a live receiver has paused.
    ///
    /// The stream may continue afterwards.
    package mutating func finish() -> [GnssFix] {
        var fixes: [GnssFix] = []
        take(framer.finish(), into: &fixes)
        close(into: &fixes)
        return fixes
    }

    private mutating func take(_ outcome: NMEAFramer.Outcome, into fixes: inout [GnssFix]) {
        switch outcome {
        case .nothing: break
        case .rejected(let reason): rejections.count(reason)
        case .sentence:
            do {
                use(try NMEASentence(framer.sentence), into: &fixes)
            } catch {
                rejections.count(error.reason)
            }
        }
    }

    private mutating func use(_ sentence: NMEASentence, into fixes: inout [GnssFix]) {
        guard let kind = NMEAKind(rawValue: sentence.formatter) else { return rejections.count(.unusedKind) }
        sentencesUsed &+= 1
        var time: Int64?
        if let field = kind.timeField { time = self.time(sentence[field]) }
        if kind == .zda {
            if let days = date(of: sentence) {
                if let time { calendar.set(days: days, nanosecondOfDay: time) }
                if let time, open?.nanosecondOfDay == time, open?.days == nil { open?.days = days }
            }
            return
        }
        let code = UInt64(sentence.talker) << 32 | UInt64(sentence.formatter)
        // A sentence that the closed epoch already has begins another one with the same time: the receiver's clock has stopped, or
        // it sends several fixes for each whole second.
        if let time, time == closed.nanosecondOfDay, open?.nanosecondOfDay == nil, !closed.seen.contains(code) {
            cycle.unlearn()
            return rejections.count(.late)
        }
        if let epoch = open, !belongs(to: epoch, kind: kind, code: code, time: time) {
            cycle.endedByNext()
            close(into: &fixes)
        }
        var epoch = open ?? NMEAEpoch()
        if epoch.nanosecondOfDay == nil { epoch.nanosecondOfDay = time }
        if kind.isOncePerEpoch, epoch.seen.count < 32 { epoch.seen.append(code) }
        epoch.take(sentence, kind, &rejections)
        if kind == .rmc, let days = date(of: sentence) { epoch.days = days }
        open = epoch
        guard kind != .gsv else { return }
        let endsCycle = cycle.heard(kind)
        if epochEnd == .learned, endsCycle, epoch.hasSolution {
            cycle.restart()
            close(into: &fixes)
        }
    }

    private func belongs(to epoch: NMEAEpoch, kind: NMEAKind, code: UInt64, time: Int64?) -> Bool {
        guard kind.timeField != nil else { return true }
        if let time, let begun = epoch.nanosecondOfDay, time != begun { return false }
        return !kind.isOncePerEpoch || !epoch.seen.contains(code)
    }

    private mutating func close(into fixes: inout [GnssFix]) {
        guard let epoch = open else { return }
        open = nil
        closed = (epoch.nanosecondOfDay, epoch.seen)
        guard epoch.hasSolution else {
            rejections.count(.noSolution)
            return
        }
        var fix = epoch.fix()
        if let time = epoch.nanosecondOfDay {
            if let stamp = calendar.stamp(days: epoch.days, nanosecondOfDay: time) {
                fix.timestamp = .utc(nanoseconds: stamp)
            } else {
                rejections.count(.unknownDate)
            }
        }
        fixes.append(fix)
    }

    private mutating func time(_ field: Bytes) -> Int64? {
        guard !field.isEmpty else { return nil }
        guard field.count >= 6, let hour = Decimal.natural(field.prefix(2)),
            let minute = Decimal.natural(field.dropFirst(2).prefix(2)), field[field.startIndex + 4].decimalDigit != nil,
            let second = Decimal.nanoseconds(field.dropFirst(4)),
            let time = UTC.nanosecondOfDay(hour: hour, minute: minute, secondNs: second)
        else {
            rejections.count(.badTime)
            return nil
        }
        return time
    }

    /// Returns the date of RMC (ddmmyy) or ZDA (day, month and year) in days since 1970-01-01.
    private mutating func date(of sentence: NMEASentence) -> Int64? {
        let parts: (day: Bytes, month: Bytes, year: Bytes)
        if sentence.formatter == NMEAKind.zda.rawValue {
            parts = (sentence[2], sentence[3], sentence[4])
        } else {
            let field = sentence[9]
            parts = (field.prefix(2), field.dropFirst(2).prefix(2), field.dropFirst(4))
        }
        guard !(parts.day.isEmpty && parts.month.isEmpty && parts.year.isEmpty) else { return nil }
        guard let day = Decimal.natural(parts.day), let month = Decimal.natural(parts.month),
            parts.year.count == 2 || parts.year.count == 4, let year = Decimal.natural(parts.year),
            let days = UTC.days(year: year >= 100 ? year : year + (year >= 80 ? 1900 : 2000), month: month, day: day)
        else {
            rejections.count(.badTime)
            return nil
        }
        let used = NMEACalendar.corrected(days, hostTimeNs: hostTimeNs)
        // The date may have any year up to 9999.
        guard let sentNs = UTC.stamp(days: days, nanosecondOfDay: 0),
            let usedNs = UTC.stamp(days: used, nanosecondOfDay: 0)
        else {
            rejections.count(.badTime)
            return nil
        }
        if used != days, movedDate == nil { movedDate = MovedDate(sentNs: sentNs, usedNs: usedNs) }
        return used
    }
}

/// A date that was too early because the receiver missed rollovers of the GPS week.
package struct MovedDate: Sendable, Equatable {
    /// The beginning of the day that the receiver sent, ns since the Unix epoch.
    package var sentNs: Int64
    /// The beginning of the day that is used instead, ns since the Unix epoch.
    package var usedNs: Int64

    package init(sentNs: Int64, usedNs: Int64) {
        self.sentNs = sentNs
        self.usedNs = usedNs
    }
}
