/// The identifier of one launch; all its processes inherit it in their environment, so that even a process that left its group is found.
///
/// A nested launch appends its identifier to the outer one's, so that the outer launch finds everything.
struct LaunchID {
    static let variable = "NAVBUS_LAUNCH_ID"
    /// The most bytes of outer identifiers that are passed on; only a launch file that starts itself could exceed this.
    private static let maximumLength = 1_024

    /// 16 hexadecimal digits.
    let text: String

    /// Creates a random identifier.
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
