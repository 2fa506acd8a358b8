public import NavConfig

/// A node's own work; a ``NodeRunner`` does the rest: the loop, stopping, the Node service, parameters, health and logs.
///
/// Everything is called on the node's thread. A node is made by its initializer (*configure*), which reads what it needs,
/// checks it, and tells the context what it publishes, hears and serves. From then on it is inactive until ``activate()``.
public protocol Node: AnyObject {
    associatedtype Configuration: NodeConfiguration

    /// The node's name unless another one is given, and the name of its program.
    static var defaultName: String { get }

    /// The purpose of the node, one sentence for the help of its program.
    static var summary: String { get }

    /// Configures: the node is ready afterwards and does nothing yet.
    init(configuration: Configuration, context: NodeContext) throws(NodeError)

    /// Begins to work: messages come in and publications go out from now on. After an error the node stays inactive.
    func activate() throws(NodeError)

    /// Ceases to work, until it is activated again or goes.
    func deactivate()

    /// One turn of the loop of an active node, after the message that came, if one did: time for what is due and for
    /// what other threads have left (they wake the loop with ``NodeContext/makeWaker()``).
    ///
    /// - Parameter now: nanoseconds of the monotonic clock.
    /// - Returns: when the next turn is needed at the latest, on the same clock; `.max` when only messages matter.
    func turn(_ now: Int64) -> Int64

    /// The time of `/clock` has jumped: a loop, a seek or another player. Nothing that was true before it holds, and what
    /// was published as lasting is to be taken back. Timers of the context's clock have been carried over.
    func clockJumped(from: ClockMoment, to: ClockMoment)

    /// Live parameters have changed, between two messages.
    func reconfigure(_ configuration: Configuration)

    /// Returns why the node is not well, apart from silent topics and losses, which the kit sees by itself; called once a second.
    func findings(_ now: Int64) -> [HealthFinding]

    /// Work under way on other threads that may still lead to publications.
    var pendingCount: Int { get }

    /// The last call: the node lets go of what it holds.
    func finish()
}

extension Node {
    /// A node among others.
    public static var summary: String { "A node on the bus." }
    /// Nothing to begin.
    public func activate() throws(NodeError) {}
    /// Nothing to cease.
    public func deactivate() {}
    /// Nothing is due.
    public func turn(_ now: Int64) -> Int64 { .max }
    /// Nothing lasts from one message to the next.
    public func clockJumped(from: ClockMoment, to: ClockMoment) {}
    /// Nothing can change.
    public func reconfigure(_ configuration: Configuration) {}
    /// All is well.
    public func findings(_ now: Int64) -> [HealthFinding] { [] }
    /// No work on other threads.
    public var pendingCount: Int { 0 }
    /// Nothing to let go of.
    public func finish() {}
}
