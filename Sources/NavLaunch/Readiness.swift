/// The condition by which a node counts as ready, so that nodes that come `after` it may start.
package struct Readiness: Sendable, Equatable {
    /// A condition that can be observed from outside.
    package enum Condition: Sendable, Equatable, CustomStringConvertible {
        /// The node has announced that it publishes the topic, by its name on the bus.
        case topic(String)
        /// A message from the node has arrived on the topic, by its name on the bus.
        case message(String)
        /// The node has announced the service; `navbus.v1.Node` must also answer `GetInfo` with OK.
        case service(String)

        /// The condition as a phrase: `the topic /nav/state`.
        package var description: String {
            switch self {
            case .topic(let name): return "the topic \(name)"
            case .message(let name): return "a message on \(name)"
            case .service(let name): return "the service \(name)"
            }
        }
    }

    /// The action when a node is not ready in time.
    package enum Timeout: String, Sendable, CaseIterable {
        /// The launch fails and everything is stopped.
        case stop
        /// The node counts as ready, and those that come after it start.
        case proceed = "continue"
    }

    /// The conditions, all of which must hold; at least one.
    package var conditions: [Condition]
    /// The longest time from the start until the node is ready.
    package var timeout: Duration
    /// The action on a timeout.
    package var onTimeout: Timeout

    /// Creates a condition; by default the launch fails after 30 s.
    package init(_ conditions: [Condition], timeout: Duration = .seconds(30), onTimeout: Timeout = .stop) {
        self.conditions = conditions
        self.timeout = timeout
        self.onTimeout = onTimeout
    }
}

/// A node that is not ready yet.
package struct AwaitedNode: Sendable, Hashable {
    package let index: Int
    /// The number of the run, from 1, so that observations of an earlier run do not count.
    package let run: Int

    package init(index: Int, run: Int) {
        self.index = index
        self.run = run
    }
}

/// An external observer of nodes.
///
/// `BusReadinessProbe` observes the bus; tests supply their own.
package protocol ReadinessProbe {
    /// Returns a description of the unmet conditions of each of `nodes`, in the same order; nil for a node that is
    /// ready.
    ///
    /// It must not block.
    mutating func missing(_ nodes: [AwaitedNode]) -> [String?]

    /// Releases resources while no node is awaited.
    mutating func rest()
}
