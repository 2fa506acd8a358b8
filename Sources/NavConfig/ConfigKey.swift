/// One key of a node's configuration: its name, unit, default, range, meaning, and where it goes.
public struct ConfigKey<Root: Sendable>: Sendable {
    /// The dotted name, such as `reroute.cooldown_s`.
    public let name: String
    /// What the value may be, for people.
    public let range: String
    /// What it means, one line.
    public let documentation: String
    private let get: @Sendable (Root) -> String
    let set: @Sendable (inout Root, String) -> Bool

    private init(
        name: String, range: String, documentation: String, get: @escaping @Sendable (Root) -> String,
        set: @escaping @Sendable (inout Root, String) -> Bool
    ) {
        self.name = name
        self.range = range
        self.documentation = documentation
        self.get = get
        self.set = set
    }

    /// The value of a configuration as text.
    public func text(of configuration: Root) -> String { get(configuration) }

    /// A number in a range, in the unit that ends the name.
    public static func number(
        _ name: String, _ path: any WritableKeyPath<Root, Double> & Sendable, in range: ClosedRange<Double>,
        _ documentation: String
    ) -> ConfigKey {
        ConfigKey(
            name: name, range: "\(shortest(range.lowerBound)) … \(shortest(range.upperBound))",
            documentation: documentation, get: { shortest($0[keyPath: path]) },
            set: { root, text in
                guard let value = Double(text), range.contains(value) else { return false }
                root[keyPath: path] = value
                return true
            })
    }

    /// A whole number in a range.
    public static func integer(
        _ name: String, _ path: any WritableKeyPath<Root, Int> & Sendable, in range: ClosedRange<Int>,
        _ documentation: String
    ) -> ConfigKey {
        ConfigKey(
            name: name, range: "\(range.lowerBound) … \(range.upperBound)", documentation: documentation,
            get: { String($0[keyPath: path]) },
            set: { root, text in
                guard let value = Int(text), range.contains(value) else { return false }
                root[keyPath: path] = value
                return true
            })
    }

    /// `true` or `false`.
    public static func flag(
        _ name: String, _ path: any WritableKeyPath<Root, Bool> & Sendable, _ documentation: String
    ) -> ConfigKey {
        ConfigKey(
            name: name, range: "true | false", documentation: documentation, get: { String($0[keyPath: path]) },
            set: { root, text in
                guard let value = Bool(text) else { return false }
                root[keyPath: path] = value
                return true
            })
    }

    /// Text that a conversion takes or refuses.
    public static func text<Value>(
        _ name: String, _ path: any WritableKeyPath<Root, Value> & Sendable, range: String, _ documentation: String,
        parse: @escaping @Sendable (String) -> Value?, format: @escaping @Sendable (Value) -> String
    ) -> ConfigKey {
        ConfigKey(
            name: name, range: range, documentation: documentation, get: { format($0[keyPath: path]) },
            set: { root, text in
                guard let value = parse(text) else { return false }
                root[keyPath: path] = value
                return true
            })
    }

    /// Any text.
    public static func string(
        _ name: String, _ path: any WritableKeyPath<Root, String> & Sendable, _ documentation: String
    ) -> ConfigKey {
        text(name, path, range: "text", documentation, parse: { $0 }, format: { $0 })
    }
}

/// The shortest text of a number, without a fraction where there is none.
func shortest(_ value: Double) -> String {
    value == value.rounded() && abs(value) < 1e15 ? String(Int64(value)) : "\(value)"
}

/// A configuration that describes its own keys.
public protocol NodeConfiguration: Sendable {
    /// The defaults.
    init()
    /// Every key, in the order in which it is shown.
    static var keys: [ConfigKey<Self>] { get }
}
