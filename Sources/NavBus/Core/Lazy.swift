/// A value that is created on first use and shared by its users.
final class Lazy<Value> {
    private let create: () -> Value

    /// The value, nil until it is first needed.
    private(set) var value: Value?

    init(_ create: @escaping () -> Value) { self.create = create }

    /// Returns the value, creating it if needed.
    func make() -> Value {
        if let value { return value }
        let made = create()
        value = made
        return made
    }
}
