package import NavBus

extension BusDirectory {
    /// The live nodes of the domain, name by boot id; nil when the registry cannot be read.
    package var liveNodes: [UInt64: String]? {
        (try? inspect())?.nodes.reduce(into: [:]) { $0[$1.bootID] = $1.node }
    }

    /// Returns the publishers of `/clock` visible to a node, on this host and others, name by boot id; nil when the registry cannot be
    /// read.
    ///
    /// - Parameter topic: the name of `/clock` on this bus.
    package func players(for bus: any Bus, on topic: String) -> [UInt64: String]? {
        (try? inspect()).map { bus.allNodes(with: $0.nodes) }?
            .filter { node in node.topics.contains { $0.name == topic } }
            .reduce(into: [:]) { $0[$1.bootID] = $1.node }
    }
}

extension Bus {
    /// Returns the nodes of this host followed by the present nodes of other hosts.
    func allNodes(with local: [Announcement]) -> [Announcement] {
        let known = Set(local.map(\.bootID))
        return local + ((self as? BusNode)?.peerAnnouncements ?? []).filter { !known.contains($0.bootID) }
    }
}
