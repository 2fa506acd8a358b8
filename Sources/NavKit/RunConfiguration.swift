public import Logging
public import NavConfig

/// The configuration that all nodes share.
public struct KitConfiguration: NodeConfiguration {
    /// Whether the node is activated at its start; otherwise it waits for `ChangeState`.
    public var autostart = true
    /// Whether the node's time comes from `/clock` instead of the machine's clocks.
    public var simTime = false
    /// The lowest level that is logged.
    public var logLevel = Logger.Level.info

    /// Creates the options with their defaults.
    public init() {}

    /// Every key.
    public static var keys: [ConfigKey<KitConfiguration>] {
        [
            .flag("autostart", \.autostart, "Whether the node becomes active at once instead of on a command."),
            .flag("sim_time", \.simTime, "Whether the node takes the time from /clock, as in a playback."),
            .text(
                "log.level", \.logLevel, range: Logger.Level.allCases.map(\.rawValue).joined(separator: " | "),
                "Lowest log level that is written.", parse: { Logger.Level(rawValue: $0) }, format: { $0.rawValue }
            ).live,
        ]
    }
}

/// The configuration of a node that has no keys of its own.
public struct NoConfiguration: NodeConfiguration {
    /// Creates the empty configuration.
    public init() {}

    /// None.
    public static var keys: [ConfigKey<NoConfiguration>] { [] }
}

/// A node's own configuration and the shared one, under one set of keys.
public struct RunConfiguration<Own: NodeConfiguration>: NodeConfiguration {
    /// The node's own configuration.
    public var node = Own()
    /// The configuration that all nodes share.
    public var kit = KitConfiguration()

    /// Creates the options with their defaults.
    public init() {}

    /// Creates the defaults around a node's own configuration.
    public init(_ node: Own) { self.node = node }

    /// A conflict between the node's own values.
    public var conflict: String? { node.conflict }
    /// The message about a missing mandatory key.
    public var omission: String? { node.omission }

    /// All keys, the node's own first.
    public static var keys: [ConfigKey<RunConfiguration>] {
        Own.keys.map { $0.within(\.node) } + KitConfiguration.keys.map { $0.within(\.kit) }
    }
}
