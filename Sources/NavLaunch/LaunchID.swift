/// The identifier of one launch, which its processes carry in their environment and hand on to all that they start: by it even a
/// process that left its group is found.
///
/// A launch within a launch adds its identifier to the outer one's, so that the outer one finds everything.
struct LaunchID {
    static let variable = "NAVBUS_LAUNCH_ID"
    /// The most bytes of identifiers of launches within launches that are handed on; more could only come from a launch file that starts itself.
    private static let maximumLength = 1_024

    /// 16 hexadecimal digits.
    let text: String

    /// Makes an identifier that no other launch has.
    static func unique() -> LaunchID {
        let digits = String(UInt64.random(in: 0...UInt64.max), radix: 16)
        return LaunchID(text: String(repeating: "0", count: 16 - digits.count) + digits)
    }

    func added(to environment: [String: String]) -> [String: String] {
        let outer = environment[Self.variable].map { $0.utf8.count <= Self.maximumLength ? $0 + ":" : "" } ?? ""
        var environment = environment
        environment[Self.variable] = outer + text
        return environment
    }
}
