/// A pool of message types, enums and services read from a `google.protobuf.FileDescriptorSet` at run time.
///
/// It converts messages of types that are not compiled into this program to and from JSON: see
/// ``json(decoding:as:indent:limit:)`` and ``encode(json:as:limit:)``. The set may be untrusted: its size is limited, and it
/// is checked as a whole before it is used.
public struct SchemaPool: Sendable {
    /// The largest FileDescriptorSet that is read, in bytes.
    public static let maximumSize = 16 << 20
    /// The most messages, fields, enum values and methods in total.
    public static let maximumDeclarations = 1 << 18
    /// The longest full name, in bytes.
    public static let maximumNameLength = 512
    /// The deepest nesting of declarations, and of messages; protobuf's own default is 100.
    public static let maximumDepth = 100

    /// All message types, including map entries, in the order of the files.
    public internal(set) var messages: [MessageDeclaration] = []
    /// All enums, in the order of the files.
    public internal(set) var enums: [EnumDeclaration] = []
    /// All services, in the order of the files.
    public internal(set) var services: [ServiceDeclaration] = []

    var messageIndices: [String: Int] = [:]
    var enumIndices: [String: Int] = [:]

    init() {}

    /// The compiled-in schema.
    public static let builtIn: SchemaPool = {
        do throws(SchemaError) {
            return try SchemaPool(fileDescriptorSet: Schema.fileDescriptorSet)
        } catch {
            preconditionFailure("the compiled-in schema cannot be read: \(error)")
        }
    }()

    /// Returns the message type with a full name, without a leading dot.
    public func message(named fullName: String) -> MessageDeclaration? { messageIndices[fullName].map { messages[$0] } }

    /// Returns the service with a full name.
    public func service(named fullName: String) -> ServiceDeclaration? { services.first { $0.fullName == fullName } }

    /// A name in a field path that the message type does not have.
    public struct UnknownField: Sendable {
        /// The full name of the message type that lacks it.
        public let type: String
        /// The part of the path that it does not have.
        public let name: String
        /// The names of the type's fields; empty when the name follows a scalar, which has no fields.
        public let known: [String]
    }

    /// Returns the first name of a path that is missing in the type or the types inside it.
    ///
    /// Nil when a message of the type can have a value there, and for an unknown type.
    public func unknownField(in path: FieldPath, of fullName: String) -> UnknownField? {
        if case .unknown(let field) = resolve(path, of: fullName) { field } else { nil }
    }

    /// The kind of values of a field.
    package enum FieldValues {
        case numbers, booleans
        case names(EnumDeclaration)
        /// Text, bytes, messages and lists.
        case others
        /// Values of unknown type.
        case unknown
    }

    /// Returns the kind of values at a path.
    package func values(at path: FieldPath, of fullName: String) -> FieldValues {
        guard case .field(let field) = resolve(path, of: fullName) else { return .unknown }
        if field.label == .repeated, case .member = path.steps.last { return .others }
        switch field.kind {
        case .enumeration(let index): return .names(enums[index])
        case .bool: return .booleans
        case .string, .bytes, .message, .group: return .others
        default: return .numbers
        }
    }

    /// Returns the enums of a type's fields and, `depth` levels deep, of the messages in it.
    package func enums(of fullName: String, depth: Int = 1) -> [EnumDeclaration] {
        message(named: fullName)?.fields.flatMap { field -> [EnumDeclaration] in
            switch field.kind {
            case .enumeration(let index): [enums[index]]
            case .message(let index) where depth > 0: enums(of: messages[index].fullName, depth: depth - 1)
            default: []
            }
        } ?? []
    }

    private enum Resolution {
        case field(FieldDeclaration)
        case unknown(UnknownField)
        /// A place in a message of unknown type, or in a map, whose keys are unknown.
        case any
    }

    private func resolve(_ path: FieldPath, of fullName: String) -> Resolution {
        guard var message = message(named: fullName) else { return .any }
        var field: FieldDeclaration?
        for case .member(let name) in path.steps {
            if let field {
                guard case .message(let index) = field.kind else {
                    return .unknown(UnknownField(type: message.fullName + "." + field.name, name: name, known: []))
                }
                message = messages[index]
                if message.isMapEntry { return .any }
            }
            field = message.fields.first { $0.name == name || $0.jsonName == name }
            if field == nil {
                return .unknown(UnknownField(type: message.fullName, name: name, known: message.fields.map(\.name)))
            }
        }
        return field.map { .field($0) } ?? .any
    }

    /// Returns a field's type as written in a .proto file: `double`, `navbus.v1.Coordinate`, `map<string, int32>`.
    public func typeName(of field: FieldDeclaration) -> String {
        switch field.kind {
        case .message(let index):
            let inner = messages[index]
            guard inner.isMapEntry, let key = inner.field(numbered: 1), let value = inner.field(numbered: 2) else {
                return inner.fullName
            }
            return "map<\(typeName(of: key)), \(typeName(of: value))>"
        case .enumeration(let index): return enums[index].fullName
        default: return field.kind.word
        }
    }
}

/// An error in a FileDescriptorSet.
public struct SchemaError: Error, Sendable, Equatable, CustomStringConvertible {
    /// A description of what is wrong, where, and what to do.
    public let description: String

    init(_ description: String) { self.description = description }
}

/// A message type read at run time.
public struct MessageDeclaration: Sendable {
    /// Full name, for example `navbus.v1.GnssFix`.
    public let fullName: String
    /// The fields by number.
    public internal(set) var fields: [FieldDeclaration] = []
    /// The names of the oneofs.
    public internal(set) var oneofs: [String] = []
    /// Whether the type is an entry of a map.
    public internal(set) var isMapEntry = false

    /// The positions of the required fields, by number.
    var required: [Int] = []
    /// The positions of the fields whose absence means zero, by number.
    var implicit: [Int] = []
    var positions: [String: Int] = [:]

    init(fullName: String) { self.fullName = fullName }

    /// Returns the field with a number.
    public func field(numbered number: UInt32) -> FieldDeclaration? {
        position(of: number, after: -1).map { fields[$0] }
    }

    /// Returns the position of the field with a number; `last` is the position of the preceding field on the wire.
    @inline(__always)
    func position(of number: UInt32, after last: Int) -> Int? {
        if last >= 0, last < fields.count, fields[last].number == number { return last }
        if last + 1 < fields.count, fields[last + 1].number == number { return last + 1 }
        var (low, high) = (0, fields.count)
        while low < high {
            let middle = (low + high) / 2
            if fields[middle].number < number { low = middle + 1 } else { high = middle }
        }
        return low < fields.count && fields[low].number == number ? low : nil
    }
}

/// A field of a message type read at run time.
public struct FieldDeclaration: Sendable {
    /// The cardinality of a field.
    public enum Label: Sendable {
        case optional, required, repeated
    }

    /// The type of a field's value; messages and enums are positions in the pool.
    enum Kind: Sendable, Equatable {
        case double, float, int32, int64, uint32, uint64, sint32, sint64, fixed32, fixed64, sfixed32, sfixed64
        case bool, string, bytes, group
        case message(Int)
        case enumeration(Int)

        /// The wire format of one value; nil for a group, which is refused.
        var shape: WireCursor.Shape? {
            switch self {
            case .double, .fixed64, .sfixed64: .fixed64
            case .float, .fixed32, .sfixed32: .fixed32
            case .string, .bytes, .message: .bytes
            case .group: nil
            default: .varint
            }
        }

        var word: String {
            switch self {
            case .message, .enumeration: "message"
            default: "\(self)"
            }
        }
    }

    /// The name in the .proto file.
    public let name: String
    /// The name in protobuf's own JSON.
    public let jsonName: String
    /// The number of the field on the wire.
    public let number: UInt32
    /// Whether the field is optional, required or repeated.
    public let label: Label
    /// The proto2 default as written in the .proto file.
    public let defaultText: String?
    /// The position among the message's oneofs.
    let oneof: Int?
    let isPacked: Bool
    /// Whether absence differs from zero; false for plain proto3 fields.
    let hasPresence: Bool
    var kind: Kind
    /// The name, quoted and followed by a colon.
    let key: [UInt8]
}

/// An enum read at run time.
public struct EnumDeclaration: Sendable {
    /// The name with the package, such as `navbus.v1.RoadClass`.
    public let fullName: String
    /// The names and numbers in the order of their declaration.
    public internal(set) var values: [(name: String, number: Int32)] = []

    var names: [Int32: Int] = [:]
    var numbers: [String: Int32] = [:]

    init(fullName: String) { self.fullName = fullName }

    /// The names without their conventional common prefix: the enum's own name.
    package var shortNames: [String] {
        let prefix = values.first { $0.name.hasSuffix("UNSPECIFIED") }?.name.dropLast("UNSPECIFIED".count) ?? ""
        return values.map { $0.name.hasPrefix(prefix) ? String($0.name.dropFirst(prefix.count)) : $0.name }
    }

    /// Returns the numbers of the values that match a name: of the value with that full or short name, otherwise of all values whose
    /// names end with it.
    package func numbers(named name: String) -> [Int32] {
        if let number = numbers[name] { return [number] }
        guard !name.isEmpty else { return [] }
        if let place = shortNames.firstIndex(of: name) { return [values[place].number] }
        return values.filter { $0.name.hasSuffix("_" + name) }.map(\.number)
    }

    /// Returns the number of a value by its full name, its short name or an unambiguous end of it; nil when no value matches.
    func number(named name: String) -> Int32? {
        let numbers = numbers(named: name)
        return numbers.count == 1 ? numbers[0] : nil
    }

    func name(of number: Int32) -> String? { names[number].map { values[$0].name } }
}

/// A service read at run time.
public struct ServiceDeclaration: Sendable {
    /// One method.
    public struct Method: Sendable {
        /// The name without its service, such as `GetState`.
        public let name: String
        /// The full name of the request's type.
        public let request: String
        /// The full name of the response's type.
        public let response: String
        /// Whether the caller sends a stream, which the bus does not support.
        public let isClientStreaming: Bool
        /// Whether the server answers with a stream.
        public let isServerStreaming: Bool
    }

    /// The name with the package, such as `navbus.v1.Navigation`.
    public let fullName: String
    /// Its methods in the order of their declaration.
    public internal(set) var methods: [Method] = []

    /// Returns the method with a name.
    public func method(named name: String) -> Method? { methods.first { $0.name == name } }
}
