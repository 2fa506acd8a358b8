/// The keys of the hosts that may connect: those of the configuration, and those of a file that may change.
package struct AllowedKeys: Sendable {
    /// The pause between two attempts to read a file that cannot be read.
    private static let retryNanoseconds: Int64 = 1_000_000_000

    /// The keys in force.
    package private(set) var keys: Set<CurvePublicKey>
    private let fixed: Set<CurvePublicKey>
    private let path: String?
    /// The file's state when its keys were read.
    private var state: FileState?
    private var nextAttempt = Int64.min
    private var reports = ReportLimiter<String>()

    /// The keys of a configuration and of its file, nil for none.
    package init(_ fixed: Set<CurvePublicKey>, file path: String?) throws(BusError) {
        (self.fixed, self.path, keys) = (fixed, path, fixed)
        guard let path else { return }
        // Taken before the file is read, so that a change in between is detected later.
        state = FileState(path)
        keys.formUnion(try CurvePublicKey.list(contentsOf: path))
    }

    /// Reads the file again if it has changed; the last good keys stay in force when it cannot be read. Returns an event to report.
    package mutating func refresh(now: Int64) -> HostEvent? {
        guard let path, now >= nextAttempt else { return nil }
        let present = FileState(path)
        guard present == nil || present != state else { return nil }
        do throws(BusError) {
            keys = fixed.union(try CurvePublicKey.list(contentsOf: path))
            state = present
            return .allowedKeysChanged(path: path, count: keys.count)
        } catch {
            nextAttempt = now + Self.retryNanoseconds
            return reports.mayReport(error.description, now) ? .allowedKeysUnreadable(reason: error.description) : nil
        }
    }
}
