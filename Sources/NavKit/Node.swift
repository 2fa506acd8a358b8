public import NavConfig

/// A node's own behaviour; a ``NodeRunner`` supplies the loop, stopping, the Node service, parameters, health and logs.
///
/// Everything is called on the node's thread. The initializer configures the node: it reads and checks its data, and declares
/// the node's publications, subscriptions and services to the context. The node is then inactive until ``activate()``.
public protocol Node: AnyObject {
    associatedtype Configuration: NodeConfiguration

    /// The default name of the node, also the name of its program.
    static var defaultName: String { get }

    /// The purpose of the node, one sentence for its program's help.
    static var summary: String { get }

    /// Returns a description of the input that another node must provide before this node can be configured; nil when nothing is
    /// missing.
    ///
    /// The node's program waits for it.
    static func missingInput(_ configuration: Configuration) -> String?

    /// Configures the node, which is then ready but inactive.
    init(configuration: Configuration, context: NodeContext) throws(NodeError)

    /// Starts work: messages arrive and publications go out from now on.
    ///
    /// After an error the node stays inactive.
    func activate() throws(NodeError)

    /// Stops work until the next activation or the end.
    func deactivate()

    /// Runs one iteration of an active node's loop, after handling a message if one has arrived.
    ///
    /// It handles due work and the results of other threads (which wake the loop with ``NodeContext/makeWaker()``).
    ///
    /// - Parameter now: the monotonic time, in nanoseconds.
    /// - Returns: the latest time of the next iteration, on the same clock; `.max` when only messages matter.
    func turn(_ now: Int64) -> Int64

    /// Handles a jump of `/clock`: a loop, a seek or another player.
    ///
    /// Earlier state is invalid, and lasting publications must be withdrawn. Timers of the context's clock have already been adjusted.
    func clockJumped(from: ClockMoment, to: ClockMoment)

    /// Applies changed live parameters, between two messages.
    func reconfigure(_ configuration: Configuration)

    /// Returns the reasons why the node is unhealthy, except silent topics and losses, which NavKit detects; called once a second.
    func findings(_ now: Int64) -> [HealthFinding]

    /// The amount of work on other threads that may still lead to publications.
    var pendingCount: Int { get }

    /// Releases the node's resources; this is the last call.
    func finish()
}

extension Node {
    /// A generic description.
    public static var summary: String { "A node on the bus." }
    /// Returns nil: the node depends on no other.
    public static func missingInput(_ configuration: Configuration) -> String? { nil }
    /// Does nothing.
    public func activate() throws(NodeError) {}
    /// Does nothing.
    public func deactivate() {}
    /// Returns `.max`: nothing is due.
    public func turn(_ now: Int64) -> Int64 { .max }
    /// Does nothing, for a node without state between messages.
    public func clockJumped(from: ClockMoment, to: ClockMoment) {}
    /// Does nothing, for a node without live parameters.
    public func reconfigure(_ configuration: Configuration) {}
    /// Returns no findings.
    public func findings(_ now: Int64) -> [HealthFinding] { [] }
    /// Zero, for a node without work on other threads.
    public var pendingCount: Int { 0 }
    /// Does nothing.
    public func finish() {}
}
