import NavGeo

/// The questions that are open.
///
/// Each has a deadline; what is decided after it, or twice, or was never asked, counts for nothing. There are never more than
/// ``greatestOpen``: who does not answer cannot fill the memory.
struct PolicyDesk {
    /// The most questions that are open at a time; the next one has its standard answer at once. 64: more than a drive ever asks at once.
    static let greatestOpen = 64

    /// The policy client and the decisions that it is asked for.
    var config: PolicyConfig
    private var open: [PolicyRequest] = []
    private var lastID: UInt64 = 0

    init(_ config: PolicyConfig) { self.config = config }

    /// The next moment at which an answer is no longer waited for.
    var due: Timestamp? { open.map(\.deadline).min() }

    /// Opens a question; nil when nobody is to be asked.
    mutating func ask(
        _ question: PolicyQuestion, standard: Bool, at stamp: Timestamp, cause: UInt64
    ) -> PolicyRequest? {
        guard config.asked.contains(question.kind), open.count < PolicyDesk.greatestOpen else { return nil }
        lastID += 1
        let request = PolicyRequest(
            requestID: lastID, question: question, standard: standard,
            deadline: stamp.advanced(bySeconds: config.patience(question.kind)), stamp: stamp, causeSequence: cause)
        open.append(request)
        return request
    }

    /// Closes a question; nil when it is not open.
    mutating func close(_ id: UInt64) -> PolicyRequest? {
        guard let index = open.firstIndex(where: { $0.requestID == id }) else { return nil }
        return open.remove(at: index)
    }

    /// The sequence that led to an open question; nil when it is not open.
    func cause(of id: UInt64) -> UInt64? { open.first { $0.requestID == id }?.causeSequence }

    /// Whether a question of a kind is open.
    func isOpen(_ kind: PolicyKind) -> Bool { open.contains { $0.question.kind == kind } }

    /// Closes the questions of a kind.
    mutating func close(_ kind: PolicyKind) -> [PolicyRequest] {
        defer { open.removeAll { $0.question.kind == kind } }
        return open.filter { $0.question.kind == kind }
    }

    /// Closes the questions whose time is over, in the order in which they were asked.
    mutating func closeOverdue(at stamp: Timestamp) -> [PolicyRequest] {
        guard let due, due <= stamp else { return [] }
        defer { open.removeAll { $0.deadline <= stamp } }
        return open.filter { $0.deadline <= stamp }
    }

    /// Closes all questions.
    mutating func closeAll() -> [PolicyRequest] {
        defer { open = [] }
        return open
    }

    /// Notes that the clock was set back: what was to last until a moment by the old clock counts from now.
    mutating func noteClockSet(to stamp: Timestamp) {
        for index in open.indices {
            open[index].deadline = stamp.advanced(bySeconds: config.patience(open[index].question.kind))
            open[index].stamp = stamp
        }
    }
}
