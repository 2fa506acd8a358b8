/// The kind of a key's values.
public enum ConfigValueKind: Sendable, Hashable {
    case number
    case integer
    /// `true` or `false`.
    case flag
    case text
}

/// A key of a node's configuration: its name, unit, default, range, meaning, and the property that it sets.
public struct ConfigKey<Root: Sendable>: Sendable {
    /// The dotted name, such as `reroute.cooldown_s`.
    public let name: String
    /// The kind of its values.
    public let kind: ConfigValueKind
    /// The range of its values, in readable form.
    public let range: String
    /// The meaning of the key, in one line.
    public let documentation: String
    /// Whether it can be changed while the node runs.
    public private(set) var isLive = false
    /// The mark between the items when a YAML file gives a list.
    private(set) var listSeparator = ";"
    /// Returns the defect of a rejected value; nil when it is merely out of range.
    private(set) var defect: @Sendable (String) -> String? = { _ in nil }
    private let get: @Sendable (Root) -> String
    let set: @Sendable (inout Root, String) -> Bool

    private init(
        name: String, kind: ConfigValueKind, range: String, documentation: String,
        get: @escaping @Sendable (Root) -> String,
        set: @escaping @Sendable (inout Root, String) -> Bool
    ) {
        self.name = name
        self.kind = kind
        self.range = range
        self.documentation = documentation
        self.get = get
        self.set = set
    }

    /// Returns the value in a configuration as text.
    public func text(of configuration: Root) -> String { get(configuration) }

    /// Copies the value from one configuration to another.
    public func copy(from source: Root, to target: inout Root) { _ = set(&target, get(source)) }

    /// The unit at the end of a number's name, such as `s` in `reroute.cooldown_s`; empty for none.
    public var unit: String {
        guard kind == .number || kind == .integer, let mark = name.lastIndex(of: "_") else { return "" }
        let unit = String(name[name.index(after: mark)...])
        return ["s", "ms", "m", "hz", "mps", "rad", "deg", "t", "bytes"].contains(unit) ? unit : ""
    }

    /// The same key, changeable while the node runs.
    public var live: ConfigKey {
        var key = self
        key.isLive = true
        return key
    }

    /// Returns the key for a configuration that contains this one.
    public func within<Whole: Sendable>(_ path: any WritableKeyPath<Whole, Root> & Sendable) -> ConfigKey<Whole> {
        var key = ConfigKey<Whole>(
            name: name, kind: kind,
            range: range, documentation: documentation, get: { [get] in get($0[keyPath: path]) },
            set: { [set] in set(&$0[keyPath: path], $1) })
        key.isLive = isLive
        key.listSeparator = listSeparator
        key.defect = defect
        return key
    }

    /// Creates the key of a number within a range, in the unit at the end of its name.
    public static func number(
        _ name: String, _ path: any WritableKeyPath<Root, Double> & Sendable, in range: ClosedRange<Double>,
        _ documentation: String
    ) -> ConfigKey {
        ConfigKey(
            name: name, kind: .number, range: "\(shortest(range.lowerBound)) … \(shortest(range.upperBound))",
            documentation: documentation, get: { shortest($0[keyPath: path]) },
            set: { root, text in
                guard let value: Double = decimal(text), range.contains(value) else { return false }
                root[keyPath: path] = value
                return true
            })
    }

    /// Creates the key of a number within a range that may be empty, in the unit at the end of its name.
    public static func optionalNumber<Value: BinaryFloatingPoint & LosslessStringConvertible & Sendable>(
        _ name: String, _ path: any WritableKeyPath<Root, Value?> & Sendable, in range: ClosedRange<Value>,
        _ documentation: String
    ) -> ConfigKey {
        ConfigKey(
            name: name, kind: .number,
            range: "\(shortest(range.lowerBound)) … \(shortest(range.upperBound)), or empty",
            documentation: documentation, get: { $0[keyPath: path].map { shortest($0) } ?? "" },
            set: { root, text in
                let value: Value? = decimal(text)
                guard text.isEmpty || value.map(range.contains) == true else { return false }
                root[keyPath: path] = value
                return true
            })
    }

    /// Creates the key of a whole number within a range.
    public static func integer(
        _ name: String, _ path: any WritableKeyPath<Root, Int> & Sendable, in range: ClosedRange<Int>,
        _ documentation: String
    ) -> ConfigKey {
        ConfigKey(
            name: name, kind: .integer, range: "\(range.lowerBound) … \(range.upperBound)",
            documentation: documentation, get: { String($0[keyPath: path]) },
            set: { root, text in
                guard let value = Int(text), range.contains(value) else { return false }
                root[keyPath: path] = value
                return true
            })
    }

    /// Creates the key of a `true` or `false` value.
    public static func flag(
        _ name: String, _ path: any WritableKeyPath<Root, Bool> & Sendable, _ documentation: String
    ) -> ConfigKey {
        ConfigKey(
            name: name, kind: .flag, range: "true | false", documentation: documentation,
            get: { String($0[keyPath: path]) },
            set: { root, text in
                guard let value = Bool(text) else { return false }
                root[keyPath: path] = value
                return true
            })
    }

    /// Creates the key of a text value that a conversion accepts or rejects.
    ///
    /// - Parameters:
    ///   - listSeparator: The mark between the items of a list.
    ///   - defect: Returns the defect of a rejected value, for values of several parts; nil when it is malformed as a whole.
    public static func text<Value>(
        _ name: String, _ path: any WritableKeyPath<Root, Value> & Sendable, range: String, _ documentation: String,
        listSeparator: String = ";", parse: @escaping @Sendable (String) -> Value?,
        format: @escaping @Sendable (Value) -> String, defect: @escaping @Sendable (String) -> String? = { _ in nil }
    ) -> ConfigKey {
        var key = ConfigKey(
            name: name, kind: .text, range: range, documentation: documentation, get: { format($0[keyPath: path]) },
            set: { root, text in
                guard let value = parse(text) else { return false }
                root[keyPath: path] = value
                return true
            })
        key.listSeparator = listSeparator
        key.defect = defect
        return key
    }

    /// Creates the key of an unrestricted text value.
    public static func string(
        _ name: String, _ path: any WritableKeyPath<Root, String> & Sendable, _ documentation: String
    ) -> ConfigKey {
        text(name, path, range: "text", documentation, parse: { $0 }, format: { $0 })
    }
}

/// Parses a decimal number; nil for any other text, such as a hexadecimal number, an infinity or no number at all.
package func decimal<Value: BinaryFloatingPoint & LosslessStringConvertible>(_ text: String) -> Value? {
    guard text.utf8.allSatisfy({ (48...57).contains($0) || "+-.eE".utf8.contains($0) }) else { return nil }
    return Value(text).flatMap { $0.isFinite ? $0 : nil }
}

/// Returns the shortest text of a number, without a fraction if there is none.
func shortest(_ value: some BinaryFloatingPoint & LosslessStringConvertible) -> String {
    value == value.rounded() && abs(value) < 1e15 ? String(Int64(value)) : "\(value)"
}

/// A configuration that describes its own keys.
public protocol NodeConfiguration: Sendable {
    init()
    /// All keys, in the order of display.
    static var keys: [ConfigKey<Self>] { get }
    /// The reason why values that are each within range cannot be combined, with their keys; nil when they can.
    var conflict: String? { get }
    /// The message about a missing mandatory key; nil when none is missing.
    ///
    /// Unlike a conflict, it does not make the configuration invalid: it may still be printed and completed.
    var omission: String? { get }
}

extension NodeConfiguration {
    /// Nil: most keys are independent of each other.
    public var conflict: String? { nil }
    /// Nil: most nodes start with the defaults.
    public var omission: String? { nil }
}
