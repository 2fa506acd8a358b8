import Foundation
import GRDB
package import NavBag

/// A reader of a ROS 2 bag in SQLite (`.db3`), message by message in the order of recording.
package struct SQLiteBag: RecordSource {
    private static let magic = Array("SQLite format 3\0".utf8)
    /// The largest message that is read, bytes.
    private static let largest = 64 << 20

    private let database: DatabaseQueue
    private let path: String
    private let frames = ZstdFrames()
    private var channels: [Int64: RecordChannel] = [:]
    /// The row of the message returned last.
    private var last = Int64.min
    private let count: Int
    private var done = 0

    /// Whether bytes are the beginning of an SQLite database.
    package static func begins(_ head: [UInt8]) -> Bool { head.starts(with: magic) }

    package init(path: String) throws(BagError) {
        var configuration = Configuration()
        configuration.readonly = true
        configuration.prepareDatabase { database in
            // The file is untrusted.
            try database.execute(sql: "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON")
        }
        // A write-ahead log next to the file was left by a killed recorder. Without a log, the file is opened as immutable: otherwise
        // SQLite would create files next to it.
        let log = try? FileManager.default.attributesOfItem(atPath: path + "-wal")
        let isWhole = (log?[.size] as? Int ?? 0) == 0
        let address = URL(fileURLWithPath: path).absoluteString + "?immutable=1"
        self.path = path
        do {
            database = try DatabaseQueue(path: isWhole ? address : path, configuration: configuration)
            (channels, count) = try database.read { database in
                // Tables only: a view of that name could compute without end.
                let tables = try String.fetchAll(
                    database,
                    sql: "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'")
                guard tables.contains("topics"), tables.contains("messages") else {
                    throw BagError(
                        .malformed, "the database has no tables 'topics' and 'messages': it is not a ROS 2 bag")
                }
                let rows = try Row.fetchCursor(database, sql: "SELECT id, name, type, serialization_format FROM topics")
                var channels: [Int64: RecordChannel] = [:]
                while let row = try rows.next(), channels.count < 65_535 {
                    guard let id = Int64.fromDatabaseValue(row[0] as DatabaseValue) else { continue }
                    let text = { (column: Int) in String.fromDatabaseValue(row[column] as DatabaseValue) ?? "" }
                    channels[id] = RecordChannel(
                        topic: text(1), messageEncoding: text(3), schemaName: text(2), schemaEncoding: "ros2msg",
                        schemaData: [])
                }
                return (channels, try Int.fetchOne(database, sql: "SELECT count(*) FROM messages") ?? 0)
            }
        } catch {
            throw Self.error(error, path)
        }
    }

    private static func error(_ cause: any Error, _ path: String) -> BagError {
        if let error = cause as? BagError { return BagError(error.code, "cannot read \(path): \(error.reason)") }
        return BagError(.malformed, "cannot read \(path): \(cause)")
    }

    /// The share of the messages that has been read.
    package var progress: Double { count > 0 ? Double(done) / Double(count) : 1 }

    /// Returns the next message; throws for each damaged message, and once if the database is damaged.
    package mutating func next() throws(BagError) -> NavBag.Record? {
        while done < count {
            done += 1
            var record: NavBag.Record?
            do {
                let place = last
                let channels = channels
                guard let found = try database.read({ try Self.message($0, after: place, channels) }) else {
                    done = count
                    return nil
                }
                (last, record) = found
            } catch {
                done = count
                throw Self.error(error, path)
            }
            guard var record else { continue }
            // Messages may be compressed individually; no serialised message begins like a frame.
            if ZstdFrames.begins(record.data) {
                do {
                    record.data = try frames.content(of: Array(record.data), limit: Self.largest)[...]
                } catch {
                    throw Self.error(error, path)
                }
            }
            return record
        }
        return nil
    }

    /// Returns the next row after a row, and its message, which is nil when its topic is unknown; returns nil after the last row.
    private static func message(
        _ database: Database, after last: Int64, _ channels: [Int64: RecordChannel]
    ) throws -> (row: Int64, NavBag.Record?)? {
        let place = try database.cachedStatement(
            sql: """
                SELECT rowid, timestamp, topic_id, length(data) FROM messages WHERE rowid > ? ORDER BY rowid LIMIT 1
                """)
        guard let fields = try Row.fetchOne(place, arguments: [last]) else { return nil }
        let numbers = (0..<4).map { (column: Int) in Int64.fromDatabaseValue(fields[column] as DatabaseValue) }
        guard let row = numbers[0], let time = numbers[1] else {
            throw BagError(.malformed, "a message has no time or no id")
        }
        guard let channel = numbers[2].flatMap({ channels[$0] }), let size = numbers[3], size <= largest else {
            return (row, nil)
        }
        let content = try database.cachedStatement(sql: "SELECT data FROM messages WHERE rowid = ?")
        let data = Array(try Data.fetchOne(content, arguments: [row]) ?? Data())
        let stamp = UInt64(clamping: time)
        return (row, NavBag.Record(channel: channel, logTime: stamp, publishTime: stamp, data: data[...]))
    }
}
