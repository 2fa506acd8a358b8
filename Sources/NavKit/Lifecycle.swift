import NavMessages

/// The state machine of a node's lifecycle: a state and the transitions allowed from it.
///
/// It has no side effects.
public struct Lifecycle: Sendable, Equatable {
    /// A state of a node's lifecycle.
    public enum State: Sendable, Hashable {
        /// Configuration and data have not been read yet.
        case unconfigured
        /// The node is ready: it serves `navbus.v1.Node` and its health, ignores its inputs and publishes nothing else.
        case inactive
        /// The node works.
        case active
        case finalized
    }

    /// A transition between states.
    public enum Transition: Sendable, Hashable, CaseIterable {
        /// From unconfigured to inactive.
        case configure
        /// From inactive to active.
        case activate
        /// From active to inactive.
        case deactivate
        /// From anywhere to finalized.
        case shutdown
    }

    /// The state that the last transition led to.
    public private(set) var state = State.unconfigured

    /// Creates an unconfigured lifecycle.
    public init() {}

    /// Returns the state after a transition; nil when the transition is not allowed from the current state.
    public func target(of transition: Transition) -> State? {
        switch (state, transition) {
        case (.unconfigured, .configure), (.active, .deactivate): .inactive
        case (.inactive, .activate): .active
        case (.unconfigured, .shutdown), (.inactive, .shutdown), (.active, .shutdown): .finalized
        default: nil
        }
    }

    /// Makes a transition.
    ///
    /// - Returns: false, without any change, when the transition is not allowed from the current state.
    public mutating func take(_ transition: Transition) -> Bool {
        guard let next = target(of: transition) else { return false }
        state = next
        return true
    }
}

extension LifecycleState {
    init(_ state: Lifecycle.State) {
        switch state {
        case .unconfigured: self = .unconfigured
        case .inactive: self = .inactive
        case .active: self = .active
        case .finalized: self = .finalized
        }
    }
}

extension Lifecycle.Transition {
    /// Converts a transition of the schema; nil for one unknown to this build.
    init?(_ transition: LifecycleTransition) {
        switch transition {
        case .configure: self = .configure
        case .activate: self = .activate
        case .deactivate: self = .deactivate
        case .shutdown: self = .shutdown
        default: return nil
        }
    }
}
