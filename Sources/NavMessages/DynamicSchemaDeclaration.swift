internal import CNavProto

extension SchemaPool {
    /// Returns the fields of a message type as lines for display: number, type, name, and the names of an enum.
    ///
    /// `[]` for an unknown type.
    public func declaration(of fullName: String) -> [String] {
        guard let message = message(named: fullName) else { return [] }
        return message.fields.map { field in
            let type = typeName(of: field)
            let label =
                switch field.label {
                case .repeated where type.hasPrefix("map<"): ""
                case .repeated: "repeated "
                case .required: "required "
                case .optional: ""
                }
            var notes: [String] = []
            if let oneof = field.oneof, oneof < message.oneofs.count { notes.append("one of \(message.oneofs[oneof])") }
            if let text = field.defaultText { notes.append("default \(Self.printable(text))") }
            if case .enumeration(let index) = field.kind { notes.append(Self.names(of: enums[index])) }
            let note = notes.isEmpty ? "" : "  (\(notes.joined(separator: "; ")))"
            return "\(field.number): \(label)\(type) \(field.name)\(note)"
        }
    }

    /// Returns the first 24 names of an enum.
    private static func names(of type: EnumDeclaration) -> String {
        let names = type.values.prefix(24).map(\.name)
        return names.joined(separator: ", ") + (type.values.count > 24 ? ", …" : "")
    }

    private static func printable(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.prefix(80).filter { $0.value >= 0x20 && $0.value != 0x7f }))
    }
}

/// The protobuf library that the codec uses.
public enum ProtobufLibrary {
    /// Its version, for example `1.4.1`.
    public static var version: String { protobuf_c_version().map { String(cString: $0) } ?? "unknown" }
}
