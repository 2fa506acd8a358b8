internal import CNavProto

/// The compiled-in schema, which bags embed and `navbus.v1.Node` serves.
public enum Schema {
    /// The FileDescriptorSet of the whole schema, dependencies first.
    public static var fileDescriptorSet: [UInt8] {
        Array(UnsafeBufferPointer(start: nav_schema_bytes(), count: nav_descriptor_set_size))
    }

    /// Returns a FileDescriptorSet with exactly the files that the type needs, dependencies first; `nil` for an unknown type.
    public static func fileDescriptorSet(for fullName: String) -> [UInt8]? {
        guard let index = indices[fullName], let entry = nav_schema_message(index), let files = entry.pointee.files
        else { return nil }
        var out: [UInt8] = []
        for position in 0..<entry.pointee.file_count {
            guard let file = nav_schema_file(Int(files[position])) else { continue }
            let start = nav_schema_bytes() + Int(file.pointee.offset)
            out.append(contentsOf: UnsafeBufferPointer(start: start, count: Int(file.pointee.size)))
        }
        return out
    }

    /// Returns the message type with a full name.
    public static func type(named fullName: String) -> (any Message.Type)? { types[fullName] }

    /// Reads bytes as a message of the type with a full name.
    public static func decode(
        _ bytes: [UInt8], as fullName: String, limit: Int = 64 << 20
    ) throws(MessageError) -> any Message {
        guard let type = types[fullName] else { throw .unknownType(fullName) }
        return try type.init(decoding: bytes, limit: limit)
    }

    private static let types: [String: any Message.Type] = Dictionary(
        MessageRegistry.all.map { ($0.fullName, $0) }, uniquingKeysWith: { first, _ in first })

    private static let indices: [String: Int] = {
        var out: [String: Int] = [:]
        for index in 0..<nav_message_count {
            guard let name = nav_schema_message(index)?.pointee.descriptor?.pointee.name else { continue }
            out[String(cString: name)] = index
        }
        return out
    }()
}
