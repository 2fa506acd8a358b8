/// The condition by which a node counts as ready, so that those that come `after` it may start.
public struct Readiness: Sendable, Equatable {
    /// Something that can be seen from outside.
    public enum Condition: Sendable, Equatable, CustomStringConvertible {
        /// The node has announced that it publishes the topic, by its name on the bus.
        case topic(String)
        /// A message of the node has arrived on the topic, by its name on the bus.
        case message(String)
        /// The node has announced the service; `navbus.v1.Node` must also answer `GetInfo` with OK.
        case service(String)

        /// As a sentence needs it: `the topic /nav/state`.
        public var description: String {
            switch self {
            case .topic(let name): return "the topic \(name)"
            case .message(let name): return "a message on \(name)"
            case .service(let name): return "the service \(name)"
            }
        }
    }

    /// The action when the time is over.
    public enum Timeout: String, Sendable, CaseIterable {
        /// The launch fails and everything is stopped.
        case stop
        /// The node counts as ready, and those that come after it start.
        case goOn = "continue"
    }

    /// All must hold; at least one.
    public var conditions: [Condition]
    /// The longest time of a start until then.
    public var timeout: Duration
    /// The action when it takes longer.
    public var onTimeout: Timeout

    /// Defaults: 30 s, and the launch fails.
    public init(_ conditions: [Condition], timeout: Duration = .seconds(30), onTimeout: Timeout = .stop) {
        self.conditions = conditions
        self.timeout = timeout
        self.onTimeout = onTimeout
    }
}

/// A node whose readiness is waited for.
package struct AwaitedNode: Sendable, Hashable {
    package let index: Int
    /// 1 for its first start, one more for each that follows: what was seen of an earlier run says nothing.
    package let run: Int

    package init(index: Int, run: Int) {
        self.index = index
        self.run = run
    }
}

/// Looks at nodes from outside. `BusReadinessProbe` looks at the bus; tests hand in their own.
package protocol ReadinessProbe {
    /// Returns what each of `nodes` still lacks, in their order; nil for one that is ready. Must not wait.
    mutating func missing(_ nodes: [AwaitedNode]) -> [String?]

    /// Nothing is awaited now: lets go of what only looking needs.
    mutating func rest()
}
