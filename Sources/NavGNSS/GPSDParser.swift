package import NavMessages

/// A parser of gpsd's JSON protocol (`gpsd_json`, protocol 3, checked against release 3.22): bytes in, one fix per TPV out.
///
/// SKY adds satellites and dilutions to later TPVs of the same device; GST adds the covariance and ATT the heading of the
/// body to the next TPV. A TPV of mode 1 is a fix of type NO_FIX without a position. Lines are limited to 64 KiB; unused
/// input is counted. The result does not depend on how the bytes are split into chunks.
package struct GPSDParser: Sendable {
    /// The bytes that a client sends after connecting to request JSON reports.
    package static let handshake: [UInt8] = Array("?WATCH={\"enable\":true,\"json\":true};\n".utf8)

    /// Largest line in bytes; gpsd's own limit is 10,240.
    package static let lineLimit = 64 << 10

    package private(set) var rejections = RejectionCounts()
    /// The number of reports of a known class so far, used or not.
    package private(set) var reports = 0
    /// Number of the first line that was not JSON of a known class, from 1.
    package private(set) var firstBadLine: Int?
    /// The message of the server's first error report.
    package private(set) var firstError: String?

    /// Whether the peer has sent data, but no gpsd report.
    package var isForeign: Bool { reports == 0 && (firstBadLine != nil || rejections[.tooLong] > 0) }

    private var framer = LineFramer(limit: Self.lineLimit)
    private var states: [GPSDDevice] = []

    package init() {}

    /// Takes the next chunk of the stream and returns the fixes of its complete lines.
    package mutating func consume(_ bytes: [UInt8]) -> [GnssFix] {
        var fixes: [GnssFix] = []
        var position = 0
        let skipped = framer.skipped
        while let line = framer.next(bytes, &position) { take(line, into: &fixes) }
        for _ in skipped..<framer.skipped { rejections.count(.tooLong) }
        return fixes
    }

    /// Ends the stream: the last line may lack its line end.
    package mutating func finish() -> [GnssFix] {
        var fixes: [GnssFix] = []
        if let line = framer.finish() { take(line, into: &fixes) }
        return fixes
    }

    private mutating func take(_ line: Bytes, into fixes: inout [GnssFix]) {
        let text = line.trimmed
        guard !text.isEmpty else { return }
        guard text.first == UInt8(ascii: "{"), let report = JSONValue(text) else { return reject(.notJSON) }
        switch report.string("class") {
        case "TPV":
            let index = device(report.string("device"))
            fixes.append(states[index].fix(report, &rejections))
        case "SKY": states[device(report.string("device"))].takeSky(report)
        case "GST": states[device(report.string("device"))].takeNoise(report)
        case "ATT": states[device(report.string("device"))].takeAttitude(report)
        case "VERSION", "DEVICES": break
        case "ERROR":
            rejections.count(.serverError)
            if firstError == nil { firstError = report.string("message") ?? "no message" }
        case "DEVICE", "WATCH", "POLL", "PPS", "TOFF", "OSC", "RAW", "SUBFRAME", "AIS", "RTCM2", "RTCM3", "IMU", "LOG":
            rejections.count(.unusedKind)
        default: return reject(.unknownClass)
        }
        reports &+= 1
    }

    private mutating func reject(_ reason: Rejection) {
        rejections.count(reason)
        if firstBadLine == nil { firstBadLine = framer.lineNumber }
    }

    /// Returns the index of a device's state; beyond 16 devices the oldest is dropped.
    private mutating func device(_ name: String?) -> Int {
        if let index = states.firstIndex(where: { $0.name == name }) { return index }
        if states.count == 16 { states.removeFirst() }
        states.append(GPSDDevice(name: name))
        return states.count - 1
    }
}
