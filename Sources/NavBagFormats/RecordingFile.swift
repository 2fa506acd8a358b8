import Foundation
package import NavBag
import NavGNSS
import NavMessages

/// A recording in any supported format: a bag of navbus, ROS 1 or ROS 2, or a file of a receiver or logger.
package enum RecordingFile {
    /// The largest file that is not a bag, bytes; it is read as a whole.
    private static let largestTrace = 1 << 30

    /// Opens a recording as messages of navbus; a folder, as in ROS 2, yields its bags merged by log time.
    ///
    /// - Parameter note: called with a line about each part of the file that cannot be read or used.
    package static func open(
        _ path: String, topics: ((String) -> Bool)? = nil, note: (String) -> Void = { _ in }
    ) throws(BagError) -> any RecordSource {
        if let bags = bags(in: path) {
            guard !bags.isEmpty else {
                throw BagError(.malformed, "the folder '\(path)' has no bag (.mcap, .db3): give a recording")
            }
            guard bags.count > 1 else { return try open(bags[0], topics: topics, note: note) }
            var sources: [any RecordSource] = []
            for bag in bags { sources.append(try open(bag, topics: topics, note: note)) }
            return MergedRecords(sources)
        }
        let file = try BagFile(path: path)
        let head = try file.withBytes(at: 0, count: min(file.count, TraceFormat.sniffLength)) {
            (bytes) throws(BagError) in Array(bytes)
        }
        if ZstdFrames.begins(head) {
            throw BagError(
                .unsupportedCompression,
                "'\(path)' is compressed as a whole: unpack it with 'zstd -d' and give the result")
        }
        if ROS1Bag<BagFile>.begins(head) { return selected(try ROS1Bag(file), topics) }
        if SQLiteBag.begins(head) { return selected(try SQLiteBag(path: path), topics) }
        if TraceFormat.detect(head, name: path) == .mcap {
            let reader = try BagReader(path: path)
            if let warning = reader.index.origin.warning(about: path) { note(warning) }
            return selected(BagRecords(reader), topics)
        }
        guard file.count <= largestTrace else {
            throw BagError(.limitExceeded, "'\(path)' is larger than \(largestTrace) bytes; split it")
        }
        let bytes = try file.withBytes(at: 0, count: file.count) { (bytes) throws(BagError) in Array(bytes) }
        let trace: Trace
        do throws(TraceError) {
            trace = try TraceReader.read(bytes, name: path)
        } catch {
            throw BagError(.malformed, "'\(path)': \(error)")
        }
        for (reason, count) in trace.rejections.all { note("\(path): not used: \(count) \(reason.rawValue)") }
        // Fixes before the first one with a time, such as those of a receiver that starts without a date, cannot be
        // assigned a time.
        let start = trace.fixes.firstIndex(where: \.hasTime) ?? 0
        if start > 0 { note("\(path): \(start) fixes before the first one with a time are left out") }
        let fixes = Array(trace.fixes[start...])
        let timeless = fixes.count { !$0.hasTime }
        if timeless > 0 {
            note(
                "\(path): \(timeless) of \(fixes.count) fixes have no time; each is placed 1 s after the previous one"
                    + (timeless == fixes.count ? ", from 1970 on" : ""))
        }
        return TraceRecords(fixes)
    }

    /// Returns the MCAP files of a recording, whose metadata and attachments are not among its messages.
    package static func mcapFiles(_ path: String) -> [String] {
        (bags(in: path) ?? [path]).filter { file in
            guard let handle = FileHandle(forReadingAtPath: file) else { return false }
            defer { try? handle.close() }
            let head = (try? handle.read(upToCount: TraceFormat.sniffLength)) ?? Data()
            return TraceFormat.detect(Array(head), name: file) == .mcap
        }
    }

    /// Returns the bags of a folder, sorted by name; nil when the path is not a folder.
    private static func bags(in path: String) -> [String]? {
        var isFolder = ObjCBool(false)
        let files = FileManager.default
        guard files.fileExists(atPath: path, isDirectory: &isFolder), isFolder.boolValue else { return nil }
        let names = (try? files.contentsOfDirectory(atPath: path)) ?? []
        let bags = names.filter { $0.hasSuffix(".mcap") || $0.hasSuffix(".db3") }
        // Only the error about these files says what to do.
        let found = bags.isEmpty ? names.filter { $0.hasSuffix(".mcap.zstd") || $0.hasSuffix(".db3.zstd") } : bags
        return found.sorted().map { "\(path)/\($0)" }
    }

    private static func selected(_ source: any RecordSource, _ topics: ((String) -> Bool)?) -> any RecordSource {
        topics.map { ChosenRecords(base: source, isChosen: $0) } ?? source
    }
}

/// The records of selected topics.
private struct ChosenRecords: RecordSource {
    var base: any RecordSource
    let isChosen: (String) -> Bool

    mutating func next() throws(BagError) -> Record? {
        while let record = try base.next() {
            if isChosen(record.channel.topic) { return record }
        }
        return nil
    }

    var progress: Double { base.progress }
}

/// The fixes of a trace as records of `/gnss/fix`.
///
/// The log time of a fix is its time of reception, otherwise its stamp, otherwise one second after the previous fix.
struct TraceRecords: RecordSource {
    private let fixes: [GnssFix]
    private var position = 0
    private var last: UInt64 = 0
    private let channel = RecordChannel.protobuf(Topics.gnssFix.name, GnssFix.self)

    init(_ fixes: [GnssFix]) { self.fixes = fixes }

    var progress: Double { fixes.isEmpty ? 1 : Double(position) / Double(fixes.count) }

    mutating func next() -> Record? {
        guard position < fixes.count else { return nil }
        let fix = fixes[position]
        position += 1
        let stamp = fix.utcNanoseconds
        let (following, overflow) = last.addingReportingOverflow(1_000_000_000)
        last = UInt64(clamping: fix.receiveStampNs ?? stamp ?? Int64(clamping: overflow ? last : following))
        return Record(
            channel: channel, sequence: UInt32(truncatingIfNeeded: position), logTime: last,
            publishTime: stamp.map { UInt64(clamping: $0) } ?? last, data: fix.encoded()[...])
    }
}

extension GnssFix {
    fileprivate var hasTime: Bool { receiveStampNs != nil || utcNanoseconds != nil }

    /// The stamp, ns since the Unix epoch; nil when it is missing or out of range.
    var utcNanoseconds: Int64? {
        guard let timestamp else { return nil }
        let (whole, overflow) = timestamp.seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, carry) = whole.addingReportingOverflow(Int64(timestamp.nanos))
        return overflow || carry ? nil : sum
    }
}
