/// The opcodes of MCAP records (MCAP format specification, "Records").
enum Opcode {
    static let header: UInt8 = 0x01
    static let footer: UInt8 = 0x02
    static let schema: UInt8 = 0x03
    static let channel: UInt8 = 0x04
    static let message: UInt8 = 0x05
    static let chunk: UInt8 = 0x06
    static let messageIndex: UInt8 = 0x07
    static let chunkIndex: UInt8 = 0x08
    static let attachment: UInt8 = 0x09
    static let attachmentIndex: UInt8 = 0x0A
    static let statistics: UInt8 = 0x0B
    static let metadata: UInt8 = 0x0C
    static let metadataIndex: UInt8 = 0x0D
    static let summaryOffset: UInt8 = 0x0E
    static let dataEnd: UInt8 = 0x0F

    static func name(_ opcode: UInt8) -> String {
        let names = [
            "Header", "Footer", "Schema", "Channel", "Message", "Chunk", "MessageIndex", "ChunkIndex", "Attachment",
            "AttachmentIndex", "Statistics", "Metadata", "MetadataIndex", "SummaryOffset", "DataEnd",
        ]
        return (1...15).contains(opcode) ? names[Int(opcode) - 1] : "unknown (opcode \(opcode))"
    }
}

/// Sizes fixed by the format.
enum Layout {
    static let magic: [UInt8] = [0x89, 0x4D, 0x43, 0x41, 0x50, 0x30, 0x0D, 0x0A]
    /// The opcode and content length at the start of every record.
    static let recordHeader = 9
    /// The channel, sequence, log time and publish time before a message's data.
    static let messageHeader = 22
    static let footerContent = 20
    /// The maximum number of bytes read at once where a record need not be read whole.
    static let piece = 1 << 20
    /// The fields of a chunk before the compression's name.
    static let chunkFixed = 28
}

/// The header of a bag: its writer and the conventions that it follows.
package struct BagHeader: Hashable, Sendable {
    /// The conventions that the bag follows, such as `ros2`; usually empty.
    package var profile: String
    /// The writing library, free text.
    package var library: String

    /// Creates a header with both fields.
    package init(profile: String, library: String) {
        self.profile = profile
        self.library = library
    }
}

/// The definition that decodes the messages of a channel.
package struct BagSchema: Hashable, Sendable {
    /// 1...65535, unique in the bag.
    package let id: UInt16
    /// The type's name, for protobuf the full name such as `navbus.v1.GnssFix`.
    package let name: String
    /// `protobuf`, `ros2msg`, `jsonschema`, …; empty without a schema.
    package let encoding: String
    /// For protobuf a serialised FileDescriptorSet.
    package let data: [UInt8]
}

/// A stream of messages of one type on one topic.
package struct BagChannel: Hashable, Sendable {
    /// 0...65535, unique in the bag.
    package let id: UInt16
    /// The id of the ``BagSchema``; 0 for none.
    package let schemaID: UInt16
    /// The topic, such as `/gnss/fix`; several channels may share one.
    package let topic: String
    /// `protobuf`, `cdr`, `json`, …
    package let messageEncoding: String
    /// Free key-value pairs.
    package let metadata: [String: String]
}

/// One message as it was recorded.
package struct BagMessage: Hashable, Sendable {
    /// The ``BagChannel/id`` of the channel.
    package let channelID: UInt16
    /// The publisher's counter, or 0.
    package let sequence: UInt32
    /// The time of recording, ns since an epoch of the recorder's choice, usually Unix.
    package let logTime: UInt64
    /// The time of publication, ns; equal to ``logTime`` if unknown.
    package let publishTime: UInt64
    /// The payload, a slice of its chunk, which it keeps in memory: copy it for long-term use.
    package let data: ArraySlice<UInt8>
}

/// Named key-value pairs about the whole bag.
package struct BagMetadata: Hashable, Sendable {
    /// The name; several records may share one.
    package let name: String
    package let entries: [String: String]
}

/// A file carried inside a bag.
package struct BagAttachment: Hashable, Sendable {
    /// A name such as `vehicle.yaml`.
    package let name: String
    /// A media type such as `text/plain`.
    package let mediaType: String
    /// The time of recording, ns.
    package let logTime: UInt64
    /// The time of creation, ns; 0 if unknown.
    package let createTime: UInt64
    package let data: [UInt8]
}

/// The location of a metadata or attachment record in the bag.
package struct BagRecordLocation: Hashable, Sendable {
    /// The record's name.
    package let name: String
    /// Byte offset of the record.
    package let offset: Int
    /// Size, bytes, including opcode and length.
    package let length: Int
}

/// The compression of a chunk's messages.
package enum BagCompression: String, CaseIterable, Hashable, Sendable {
    /// Not compressed.
    case none = ""
    /// An LZ4 frame: about half the compression ratio of zstd, but faster.
    case lz4
    /// A Zstandard frame.
    case zstd
}
