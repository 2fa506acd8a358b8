import NavMessages

/// The state machine of a node's life: its state, and the transitions from there. It does nothing by itself.
public struct Lifecycle: Sendable, Equatable {
    /// A state of a node's life.
    public enum State: Sendable, Hashable {
        /// Configuration and data are not read yet.
        case unconfigured
        /// Ready: it serves Node and its health, ignores its inputs and publishes nothing else.
        case inactive
        /// It does what it is for.
        case active
        case finalized
    }

    /// A step.
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

    /// The state.
    public private(set) var state = State.unconfigured

    /// A life that begins.
    public init() {}

    /// Returns the state that a transition leads to; nil when it is not allowed from here.
    public func target(of transition: Transition) -> State? {
        switch (state, transition) {
        case (.unconfigured, .configure), (.active, .deactivate): .inactive
        case (.inactive, .activate): .active
        case (.unconfigured, .shutdown), (.inactive, .shutdown), (.active, .shutdown): .finalized
        default: nil
        }
    }

    /// Takes a step.
    ///
    /// - Returns: false, and nothing changes, when there is no such step from here.
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
    /// A step of the schema; nil for one that this build does not know.
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
