import NavMatching

enum FixTypeName {
    private static let names: [(type: FixType, name: String)] = [
        (.unknown, "any"), (.fix2D, "2d"), (.fix3D, "3d"), (.differential, "differential"), (.rtkFloat, "rtk_float"),
        (.rtkFixed, "rtk_fixed"),
    ]

    /// The names of all types, the lowest first.
    static var all: [String] { names.map(\.name) }

    static func type(_ name: String) -> FixType? { names.first { $0.name == name }?.type }

    /// Returns the name of a type, or the lowest type's name if it has none.
    static func name(_ type: FixType) -> String { names.first { $0.type == type }?.name ?? all[0] }
}
