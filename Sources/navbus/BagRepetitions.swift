import NavBag
import NavDigest
import NavRecording

/// The metadata and attachments of bags that are copied into one.
struct BagSupplements {
    private struct Part: Hashable {
        var name: String
        var content: ContentHash
    }

    /// The names of metadata that are not copied.
    private let excluded: Set<String>
    /// The parts of the bags read so far, which further files of a split recording repeat.
    private var known: Set<Part> = []
    /// A line about each part that cannot be read and is dropped.
    private var losses: [String] = []

    /// Supplements that exclude metadata of the given names.
    init(except names: Set<String>) { excluded = names }

    /// Copies the metadata and attachments of a bag, except those that occurred in an earlier bag with the same name and content.
    ///
    /// - Parameter path: the path of the bag.
    mutating func copy(_ reader: BagReader, _ path: String, to writer: inout BagWriter) throws(BagError) {
        var own: Set<Part> = []
        for place in reader.index.metadata where !excluded.contains(place.name) {
            let found = readable("metadata '\(place.name)' of '\(path)'") { () throws(BagError) in
                try reader.metadata(place)
            }
            guard let metadata = found else { continue }
            let words = metadata.entries.sorted { $0.key < $1.key }.flatMap { [$0.key, $0.value] }
            guard isNew(metadata.name, Array("\(words)".utf8), &own) else { continue }
            try writer.addMetadata(name: metadata.name, metadata.entries)
        }
        for place in reader.index.attachments {
            let found = readable("attachment '\(place.name)' of '\(path)'") { () throws(BagError) in
                try reader.attachment(place)
            }
            guard let file = found, isNew(file.name + "\n" + file.mediaType, file.data, &own) else { continue }
            try writer.addAttachment(
                name: file.name, mediaType: file.mediaType, logTime: file.logTime, createTime: file.createTime,
                data: file.data)
        }
        known.formUnion(own)
    }

    /// Reports the dropped parts on standard error.
    func reportLosses() {
        for text in losses { Console.note(text) }
    }

    private mutating func readable<Value>(_ what: String, _ read: () throws(BagError) -> Value) -> Value? {
        do throws(BagError) {
            return try read()
        } catch {
            losses.append("left out: the \(what): \(error)")
            return nil
        }
    }

    /// Returns whether no earlier bag contains a part, and adds the part to those of the current bag.
    private func isNew(_ name: String, _ bytes: [UInt8], _ own: inout Set<Part>) -> Bool {
        guard let content = ContentHash(of: bytes) else { return true }
        let part = Part(name: name, content: content)
        own.insert(part)
        return !known.contains(part)
    }
}

/// The last value of each latched topic and publisher in a merged recording.
struct LatchedValues {
    /// A latched topic of a publisher, which has a channel in each file of a recording.
    private struct Source: Hashable {
        var topic: String
        var publisher: String?
    }

    private struct Value: Equatable {
        var sequence: UInt32
        var publishTime: UInt64
        var content: ContentHash
    }

    /// The latched source of each channel; nil for other channels.
    private var sources: [ObjectIdentifier: Source?] = [:]
    private var values: [Source: Value] = [:]

    /// Returns whether a message repeats the last value, as at the beginning of a further file of a recording, and stores its value.
    mutating func isRepeated(_ record: Record) -> Bool {
        let key = ObjectIdentifier(record.channel)
        if sources[key] == nil {
            let channel = record.channel
            sources[key] = .some(
                channel.isLatched ? Source(topic: channel.topic, publisher: channel.metadata["boot_id"]) : nil)
        }
        guard case .some(.some(let source)) = sources[key],
            let content = record.data.withUnsafeBytes({ ContentHash(of: $0) })
        else { return false }
        let value = Value(sequence: record.sequence, publishTime: record.publishTime, content: content)
        return values.updateValue(value, forKey: source) == value
    }
}
