import Foundation
import NavBag
import NavBagFormats
import NavGNSS
import NavMessages
import NavTestSystem

/// Returns all records of a source and the number of its failures; an endless source fails the test.
func drain(_ source: any RecordSource) -> (records: [Record], failures: Int) {
    var source = source
    var records: [Record] = []
    var failures = 0
    while records.count + failures < 1_000_000 {
        do throws(BagError) {
            guard let record = try source.next() else { return (records, failures) }
            records.append(record)
        } catch {
            failures += 1
        }
    }
    return (records, .max)
}

/// Returns the fixes of a recording in any format.
func fixes(_ path: String) throws -> [GnssFix] {
    let (records, _) = drain(ROSImport(try RecordingFile.open(path)))
    return try records.filter { $0.channel.topic == "/gnss/fix" }.map { try GnssFix(decoding: Array($0.data)) }
}

extension GnssFix {
    /// The time, nanoseconds since the Unix epoch.
    var stampNs: Int64? { timestamp.map { $0.seconds * 1_000_000_000 + Int64($0.nanos) } }
}

/// A hand-written encoder of ROS messages: CDR with its alignment, or packed as in ROS 1.
struct ROSBytes {
    let isCDR: Bool
    let isBigEndian: Bool
    var bytes: [UInt8] = []

    init(cdr: Bool, bigEndian: Bool = false) { (isCDR, isBigEndian) = (cdr, bigEndian) }

    mutating func add<T: FixedWidthInteger>(_ value: T) {
        while isCDR, bytes.count % MemoryLayout<T>.size != 0 { bytes.append(0xcc) }
        withUnsafeBytes(of: isBigEndian ? value.bigEndian : value.littleEndian) { bytes += Array($0) }
    }
    mutating func add(_ values: [Double]) { for value in values { add(value.bitPattern) } }
    mutating func add(_ text: String) {
        add(UInt32(text.utf8.count + (isCDR ? 1 : 0)))
        bytes += Array(text.utf8) + (isCDR ? [0] : [])
    }
    mutating func header(_ seconds: UInt32, _ nanoseconds: UInt32, _ frame: String) {
        if !isCDR { add(UInt32(7)) }
        add(seconds)
        add(nanoseconds)
        add(frame)
    }

    var message: [UInt8] { (isCDR ? [0, isBigEndian ? 0 : 1, 0, 0] : []) + bytes }

    static func fix(
        _ seconds: UInt32, _ latitude: Double, nanoseconds: UInt32 = 250_000_000, frame: String = "gps", cdr: Bool,
        bigEndian: Bool = false
    ) -> [UInt8] {
        var out = ROSBytes(cdr: cdr, bigEndian: bigEndian)
        out.header(seconds, nanoseconds, frame)
        out.add(Int8(0))
        out.add(UInt16(1))
        out.add([latitude, 24.5, 12.25] + [4, 0, 0, 0, 4, 0, 0, 0, 9])
        out.add(UInt8(2))
        return out.message
    }

    static func twist(_ seconds: UInt32, _ values: [Double], frame: String, cdr: Bool) -> [UInt8] {
        var out = ROSBytes(cdr: cdr)
        out.header(seconds, 250_000_000, frame)
        out.add(values)
        return out.message
    }
}

/// A source of listed records.
struct Listed: RecordSource {
    var records: [Record]
    var progress: Double { 0.5 }

    mutating func next() -> Record? { records.isEmpty ? nil : records.removeFirst() }

    init(_ messages: [(topic: String, type: String, data: [UInt8])], encoding: String = "cdr") {
        var channels: [String: RecordChannel] = [:]
        records = messages.enumerated().map { index, message in
            let channel =
                channels[message.topic]
                ?? RecordChannel(
                    topic: message.topic, messageEncoding: encoding, schemaName: message.type,
                    schemaEncoding: "ros2msg", schemaData: [])
            channels[message.topic] = channel
            return Record(
                channel: channel, logTime: UInt64(index), publishTime: UInt64(index), data: message.data[...])
        }
    }
}
