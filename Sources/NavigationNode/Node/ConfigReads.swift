import NavConfig

/// The configuration keys that a run reads.
package final class ConfigReads {
    package init() {}
}

extension NavigationConfiguration {
    /// Keys of the node around the core, which a replay has no part of: the service of another node, the network, files of the trip.
    private static let outside = [
        "directions.", "tile_cache.", "coverage.", "state.", "policy.node", "policy.wait_ready_s",
    ]

    package func noting(_ reads: ConfigReads) -> NavigationConfiguration { self }

    /// The names of the keys that a run read.
    package static func keysRead(by reads: ConfigReads) -> Set<String> {
        Set(keys.map(\.name).filter { name in !outside.contains { name.hasPrefix($0) } })
    }
}
