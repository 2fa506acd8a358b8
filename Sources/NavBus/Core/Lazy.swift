/// A value that is made when it is first needed, shared by those who may need it.
final class Lazy<Value> {
    private let create: () -> Value

    /// The value, nil until somebody needed it.
    private(set) var value: Value?

    init(_ create: @escaping () -> Value) { self.create = create }

    /// The value, made now unless it is there.
    func make() -> Value {
        if let value { return value }
        let made = create()
        value = made
        return made
    }
}
