/// Conversion of the compiled-in schema's messages to JSON for people and scripts; see ``SchemaPool`` for the form.
public enum MessageJSON {
    /// Returns the bytes of a message of the named type as JSON; `indent` puts each member on its own line.
    public static func text(
        decoding bytes: [UInt8], as fullName: String, indent: Bool = false, limit: Int = 64 << 20
    ) throws(MessageError) -> String {
        try SchemaPool.builtIn.json(decoding: bytes, as: fullName, indent: indent, limit: limit).json
    }

    /// Returns a message as JSON; `indent` puts each member on its own line.
    public static func text(of message: some Message, indent: Bool = false) throws(MessageError) -> String {
        try text(decoding: message.encoded(), as: type(of: message).fullName, indent: indent, limit: .max)
    }
}
