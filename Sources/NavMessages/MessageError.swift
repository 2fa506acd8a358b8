/// A reason why bytes could not be read as a message.
public enum MessageError: Error, Sendable, Equatable {
    /// The bytes exceed the limit of the topic or of the caller.
    case tooLarge(type: String, size: Int, limit: Int)
    /// The bytes are not protobuf of this type: truncated, a wrong wire type, a bad length.
    case malformed(type: String, size: Int)
    /// A string is not valid UTF-8, or contains a NUL; `field` is the full name of the field.
    case invalidString(field: String)
    /// Unpacking would take more memory than any valid message of this size needs.
    case expandsTooMuch(type: String, size: Int, limit: Int)
    /// Messages are nested deeper than any valid schema needs.
    case tooDeep(type: String, limit: Int)
    /// A required field is absent; the value is its full name.
    case missingField(String)
    /// The schema has no message type with this name.
    case unknownType(String)
}

extension MessageError: CustomStringConvertible {
    /// A description of what happened, where, and what to do.
    public var description: String {
        switch self {
        case .tooLarge(let type, let size, let limit):
            "\(type): \(size) bytes exceed the limit of \(limit); send less at once or raise the topic's limit"
        case .malformed(let type, let size):
            "\(type): \(size) bytes are not a valid message; check that the sender uses the same type"
        case .invalidString(let field):
            "\(field): the string is not UTF-8 or contains NUL; the sender must fix it"
        case .expandsTooMuch(let type, let size, let limit):
            "\(type): \(size) bytes would decode to more than \(limit) bytes of memory; the message is refused"
        case .tooDeep(let type, let limit):
            "\(type): messages are nested more than \(limit) deep; the message is refused"
        case .missingField(let field):
            "\(field): the message lacks this required field; the sender must set it"
        case .unknownType(let name):
            "\(name): no such message type; `navbus topic info` lists the types"
        }
    }
}
