import Foundation
import GRDB
import NavBag
import NavBagFormats
import NavGNSS
import NavMessages
import NavSimulation
import NavTestKit
import NavTestSystem
import Testing

/// Recordings of other tools, intact and damaged.
struct FileTests {
    /// Returns a ROS 1 bag with one chunk.
    private func ros1(_ count: Int, compression: String = "none", pack: ([UInt8]) -> [UInt8] = { $0 }) -> [UInt8] {
        func block(_ bytes: [UInt8]) -> [UInt8] { le(UInt32(bytes.count)) + bytes }
        func record(_ fields: [(String, [UInt8])], _ data: [UInt8]) -> [UInt8] {
            block(fields.flatMap { block(Array("\($0.0)=".utf8) + $0.1) }) + block(data)
        }
        let about = [("topic", "/fix"), ("type", "sensor_msgs/NavSatFix"), ("md5sum", "*")].flatMap {
            block(Array("\($0.0)=\($0.1)".utf8))
        }
        var chunk = record([("op", [7]), ("conn", le(UInt32(0))), ("topic", Array("/fix".utf8))], about)
        // The messages are out of time order, as with several publishers.
        for index in (0..<count).map({ UInt32($0 ^ 1) }) {
            chunk += record(
                [("op", [2]), ("conn", le(UInt32(0))), ("time", le(UInt32(1_000 + index)) + le(UInt32(5)))],
                ROSBytes.fix(index, 60, cdr: false))
        }
        let size = le(UInt32(chunk.count))
        return Array("#ROSBAG V2.0\n".utf8)
            + record([("op", [3]), ("conn_count", le(UInt32(1)))], [UInt8](repeating: 32, count: 64))
            + record([("op", [5]), ("compression", Array(compression.utf8)), ("size", size)], pack(chunk))
            + record([("op", [4]), ("conn", le(UInt32(0)))], [1, 2, 3])
    }

    private func le(_ value: UInt32) -> [UInt8] { withUnsafeBytes(of: value.littleEndian) { Array($0) } }

    @Test func aROS1BagYieldsItsFixesInTimeOrder() throws {
        let (records, failures) = drain(ROSImport(try ROS1Bag(MemorySource(ros1(20)))))
        #expect(failures == 0 && records.map(\.logTime) == (0..<20).map { (1_000 + $0) * 1_000_000_000 + 5 })
        #expect(records.allSatisfy { $0.channel.metadata == ["ros_topic": "/fix"] })
    }

    @Test(.enabled(if: Python.has("lz4.frame"), "needs Python with lz4: set NAVBUS_PYTHON"), arguments: ["lz4", "bz2"])
    func compressedROS1ChunksAreRead(compression: String) throws {
        let module = compression == "lz4" ? "lz4.frame" : "bz2"
        let script = "import sys, \(module) as m; print(m.compress(bytes.fromhex(sys.stdin.read())).hex())"
        let bytes = ros1(20, compression: compression) { chunk in
            let hex = chunk.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
            let packed = (try? Python.run(["-c", script], input: hex))?.trimmingCharacters(in: .whitespacesAndNewlines)
            let digits = Array((packed ?? "").utf8)
            return stride(from: 0, to: digits.count - 1, by: 2).compactMap {
                UInt8(String(decoding: digits[$0...$0 + 1], as: UTF8.self), radix: 16)
            }
        }
        let (records, failures) = drain(ROSImport(try ROS1Bag(MemorySource(bytes))))
        #expect(failures == 0 && records.count == 20)
        // Each damaged byte gives an error or the same messages.
        var random = SeededRandom(seed: 1)
        for _ in 0..<300 {
            var damaged = bytes
            damaged[13 + random.below(bytes.count - 13)] ^= UInt8(1 + random.below(255))
            guard let bag = try? ROS1Bag(MemorySource(damaged)) else { continue }
            #expect(drain(ROSImport(bag)).failures < 100)
        }
    }

    @Test func damagedROS1BagGivesAnErrorOrItsMessages() throws {
        let whole = ros1(4)
        for length in 13..<whole.count {
            let result = drain(try ROS1Bag(MemorySource(Array(whole.prefix(length)))))
            #expect(result.records.count <= 4 && result.failures <= 1, "cut at \(length)")
        }
        for place in 13..<whole.count {
            for value in [0, 1, 0x80, 0xff] as [UInt8] {
                var bytes = whole
                bytes[place] = value
                let result = drain(ROSImport(try ROS1Bag(MemorySource(bytes))))
                #expect(result.records.count <= 4 && result.failures <= 5, "byte \(place) is \(value)")
            }
        }
    }

    /// Writes a ROS 2 bag in SQLite.
    private func writeSQLite(
        _ path: String, messages: Int, packing: ([UInt8]) -> [UInt8] = { $0 }
    ) throws {
        let database = try DatabaseQueue(path: path)
        // In this mode SQLite itself would create files beside the database.
        try database.writeWithoutTransaction { _ = try String.fetchOne($0, sql: "PRAGMA journal_mode = WAL") }
        try database.write { database in
            try database.execute(
                sql: """
                    CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL,
                        serialization_format TEXT NOT NULL, offered_qos_profiles TEXT NOT NULL);
                    CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER NOT NULL, timestamp INTEGER NOT NULL,
                        data BLOB NOT NULL);
                    INSERT INTO topics VALUES (1, '/fix', 'sensor_msgs/msg/NavSatFix', 'cdr', '');
                    """)
            for index in 0..<messages {
                let data = Data(packing(ROSBytes.fix(UInt32(index), 60, cdr: true)))
                try database.execute(
                    sql: "INSERT INTO messages VALUES (?, 1, ?, ?)", arguments: [index * 2 + 1, index * 100, data])
            }
        }
        try database.close()
    }

    @Test func anSQLiteBagIsReadAndADamagedOneIsAnError() throws {
        try withTemporaryFolder { folder in
            let path = folder + "/drive_0.db3"
            try writeSQLite(path, messages: 50)
            let (records, failures) = drain(ROSImport(try RecordingFile.open(path)))
            #expect(failures == 0 && records.map(\.logTime) == (0..<50).map { $0 * 100 })
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["drive_0.db3"])
            let whole = try Data(contentsOf: URL(fileURLWithPath: path))
            var random = SeededRandom(seed: 5)
            for round in 0..<150 {
                var damaged = whole
                for _ in 0..<4 { damaged[16 + random.below(whole.count - 16)] = UInt8(random.below(256)) }
                if round % 3 == 0 { damaged = damaged.prefix(random.below(whole.count)) }
                try damaged.write(to: URL(fileURLWithPath: folder + "/damaged.db3"))
                guard let bag = try? RecordingFile.open(folder + "/damaged.db3") else { continue }
                #expect(drain(ROSImport(bag)).failures < 100)
            }
        }
    }

    /// Returns a zstd frame of one uncompressed block that declares its size in two bytes.
    private func frame(_ content: [UInt8]) -> [UInt8] {
        let (size, header) = (content.count - 256, content.count << 3 | 1)
        return [0x28, 0xb5, 0x2f, 0xfd, 0x60, UInt8(size & 0xff), UInt8(size >> 8)]
            + (0..<3).map { UInt8(header >> (8 * $0) & 0xff) } + content
    }

    @Test func messagesCompressedOneByOneAreRead() throws {
        try withTemporaryFolder { folder in
            let pad = { (message: [UInt8]) in message + Array(repeating: 0, count: max(256 - message.count, 0)) }
            try writeSQLite(folder + "/plain.db3", messages: 10, packing: pad)
            try writeSQLite(folder + "/packed.db3", messages: 10) { frame(pad($0)) }
            let plain = drain(try RecordingFile.open(folder + "/plain.db3"))
            let packed = drain(try RecordingFile.open(folder + "/packed.db3"))
            #expect(plain.records.count == 10 && packed.failures == 0)
            #expect(packed.records.map(\.data) == plain.records.map(\.data))
            var written = 0
            try writeSQLite(folder + "/damaged.db3", messages: 10) { message in
                written += 1
                return Array(frame(pad(message)).dropLast(written == 4 ? 3 : 0))
            }
            let damaged = drain(try RecordingFile.open(folder + "/damaged.db3"))
            let intact = plain.records[..<3] + plain.records[4...]
            #expect(damaged.failures == 1 && damaged.records.map(\.data) == intact.map(\.data))
        }
    }

    @Test func compressedFilesAreRejectedWithARemedy() throws {
        try withTemporaryFolder { folder in
            let path = folder + "/drive_0.db3.zstd"
            try Data(frame(Array(repeating: 7, count: 300))).write(to: URL(fileURLWithPath: path))
            for place in [path, folder] {
                let error = #expect(throws: BagError.self) { try RecordingFile.open(place) }
                #expect(error?.reason.contains("zstd -d") == true, "\(String(describing: error))")
            }
        }
    }

    @Test func folderIsReadAsOneBag() throws {
        try withTemporaryFolder { folder in
            try writeSQLite(folder + "/drive_0.db3", messages: 10)
            try writeSQLite(folder + "/drive_1.db3", messages: 10)
            try Data("rosbag2: 1".utf8).write(to: URL(fileURLWithPath: folder + "/metadata.yaml"))
            let (records, failures) = drain(ROSImport(try RecordingFile.open(folder)))
            #expect(failures == 0 && records.map(\.logTime) == (0..<20).map { UInt64($0 / 2) * 100 })
        }
        try withTemporaryFolder { folder in
            _ = #expect(throws: BagError.self) { try RecordingFile.open(folder) }
        }
    }

    @Test(arguments: [
        ("plain.gpx", "<gpx><trk><trkseg>ROWS</trkseg></trk></gpx>", "<trkpt lat=\"41.5\" lon=\"-8\"/>"),
        ("plain.csv", "latitude,longitude\nROWS", "41.5,-8\n"),
    ])
    func fixesWithoutTimesAreReported(name: String, document: String, row: String) throws {
        try withTemporaryFolder { folder in
            let path = "\(folder)/\(name)"
            let text = document.replacingOccurrences(of: "ROWS", with: String(repeating: row, count: 3))
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            var notes: [String] = []
            let (records, failures) = drain(try RecordingFile.open(path, note: { notes.append($0) }))
            #expect(failures == 0 && records.map(\.logTime) == [1_000_000_000, 2_000_000_000, 3_000_000_000])
            #expect(notes.count == 1 && notes[0].contains("3 of 3 fixes have no time"))
        }
    }

    @Test func fixesBeforeTheFirstTimeAreSkipped() throws {
        try withTemporaryFolder { folder in
            let path = folder + "/late.gpx"
            let times = ["", "", "<time>2026-01-01T09:00:00Z</time>", ""]
            let points = times.map { "<trkpt lat=\"41\" lon=\"-8\">\($0)</trkpt>" }.joined()
            try Data("<gpx><trk><trkseg>\(points)</trkseg></trk></gpx>".utf8).write(to: URL(fileURLWithPath: path))
            var notes: [String] = []
            let (records, failures) = drain(try RecordingFile.open(path, note: { notes.append($0) }))
            #expect(failures == 0 && records.map(\.logTime) == [1_767_258_000_000_000_000, 1_767_258_001_000_000_000])
            #expect(notes.count == 2 && notes[0].contains("2 fixes before the first one with a time are left out"))
            #expect(notes[1].contains("1 of 2 fixes have no time") && !notes[1].contains("1970"))
        }
    }

    @Test func endlessViewIsNotQueried() throws {
        try withTemporaryFolder { folder in
            let path = folder + "/trap.db3"
            let database = try DatabaseQueue(path: path)
            try database.write { database in
                try database.execute(
                    sql: """
                        CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT, type TEXT, serialization_format TEXT);
                        CREATE VIEW messages AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n)
                            SELECT id, id AS topic_id, id AS timestamp, x'00' AS data FROM n;
                        """)
            }
            try database.close()
            #expect(throws: BagError.self) { try SQLiteBag(path: path) }
        }
    }

    @Test(
        .needs("gnss/wire", "gnss/nagoya", "gnss/hof"),
        arguments: [
            ("nagoya", "nagoya"), ("hof_000", "hof/open/000"),
        ])
    func everyWireFileYieldsTheFixesOfItsTrace(name: String, folder: String) throws {
        let root = TestData.gnss("")
        let trace = try fixes("\(root)/\(folder)/trace.csv")
        #expect(!trace.isEmpty)
        let files = try FileManager.default.contentsOfDirectory(atPath: "\(root)/wire/\(name)").sorted()
        #expect(files.count == 10)
        for file in files {
            let found = try fixes("\(root)/wire/\(name)/\(file)")
            // A truncated file yields its beginning.
            let isCut = file.contains("truncated")
            #expect(isCut ? !found.isEmpty && found.count <= trace.count : found.count == trace.count, "\(file)")
            for (got, want) in zip(found, trace) {
                // NMEA has a resolution of 10 ms and 1e-6 minutes, UBX of 1e-7 degrees; ROS has floating-point times.
                #expect(abs((got.stampNs ?? 0) - (want.stampNs ?? -1)) <= 10_000_000, "\(file)")
                #expect(abs((got.latitude ?? 99) - (want.latitude ?? -99)) < 6e-8, "\(file)")
                #expect(abs((got.longitude ?? 999) - (want.longitude ?? -999)) < 6e-8, "\(file)")
                if file.hasSuffix("ubx"), let speed = want.speed {
                    #expect(abs((got.speed ?? -1) - speed) < 1.1e-3)
                    #expect(abs((got.horizontalAccuracyM ?? -1) - (want.horizontalAccuracyM ?? -1)) < 1e-3)
                }
            }
        }
    }

    @Test(.needs("gnss/ingest"))
    func everyBagOfOtherToolsIsRead() throws {
        let root = TestData.gnss("")
        var messages = 0
        for folder in ["ingest/mcap_ros2", "ingest/sqlite3_ros2"] {
            for file in try FileManager.default.contentsOfDirectory(atPath: "\(root)/\(folder)") {
                let (records, failures) = drain(try RecordingFile.open("\(root)/\(folder)/\(file)"))
                #expect(failures == 0, "\(file)")
                messages += records.count
                // No message has a position: all are skipped and counted.
                var importing = ROSImport(try RecordingFile.open("\(root)/\(folder)/\(file)"))
                #expect(try importing.next() == nil)
                #expect(importing.tally.leftOut.values.reduce(0, +) == records.count, "\(file)")
            }
        }
        #expect(messages > 9_000, "\(messages)")
    }
}
