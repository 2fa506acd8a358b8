import NavVerdict
import Testing

/// The encoding of run records.
struct DriveRecordFileTests {
    /// A record with a value in every field.
    private static var full: DriveRecord {
        var record = DriveRecord()
        record.events = [
            EventDiff.Event(time: 0.1, topic: "/nav/trip", text: "state GUIDANCE"),
            EventDiff.Event(time: -3e300, topic: "", text: String(repeating: "Küstenstraße 海岸 ", count: 40)),
        ]
        record.metrics = ["right_road": 0.987654321, "cross_track_p95_m": .infinity]
        record.unexpected = ["line 3: never say\n  but it came", ""]
        record.unmeasured = []
        record.fixes = 300
        record.notes = ["a note"]
        record.keys = ["fix.max_age_s": "4", "guidance.language": "fi", "destination": ""]
        record.failure = "none"
        return record
    }

    private static func read(_ run: DriveRecordFile.Run) -> DriveRecord? {
        DriveRecordFile.Run.keys(run.keys).flatMap { run.record(keys: $0) }
    }

    @Test func everyFieldRoundTrips() {
        // A field that is added to the record must also be added to the file and to this test.
        let fields = Mirror(reflecting: Self.full).children.compactMap(\.label)
        #expect(
            fields == ["events", "metrics", "unexpected", "unmeasured", "fixes", "notes", "keys", "failure"])
        let file = DriveRecordFile(bytes: DriveRecordFile([.init(Self.full), .init(DriveRecord())]).bytes)
        #expect(file.runs.map(Self.read) == [Self.full, DriveRecord()])
    }

    @Test func runsWithEqualKeysHaveEqualBytes() {
        var (first, second, other) = (DriveRecord(), DriveRecord(), DriveRecord())
        for number in 0..<50 { first.keys["key.\(number)"] = "\(number)" }
        for number in (0..<50).reversed() { second.keys["key.\(number)"] = "\(number)" }
        other.keys = first.keys
        other.keys["key.7"] = "8"
        second.fixes = 9
        let runs = [first, second, other].map { DriveRecordFile.Run($0) }
        #expect(runs[0].keys == runs[1].keys && runs[0].keys != runs[2].keys)
    }

    @Test func damagedFileNeverTraps() {
        let bytes = DriveRecordFile([.init(Self.full), .init(Self.full)]).bytes
        for count in bytes.indices { #expect(DriveRecordFile(bytes: Array(bytes[..<count])).runs.isEmpty) }
        #expect(DriveRecordFile(bytes: bytes + [0]).runs.isEmpty)
        for index in bytes.indices {
            for flipped in [0x01, 0x80, 0xff] as [UInt8] {
                var damaged = bytes
                damaged[index] ^= flipped
                for run in DriveRecordFile(bytes: damaged).runs { _ = Self.read(run) }
            }
        }
        #expect(DriveRecordFile(bytes: [UInt8](repeating: 0xff, count: 64)).runs.isEmpty)
        #expect(DriveRecordFile(bytes: [UInt8](repeating: 0, count: 64)).runs.isEmpty)
    }
}
