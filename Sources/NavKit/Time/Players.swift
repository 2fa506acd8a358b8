import NavMessages
import NavBus

extension BusDirectory {
    /// The live nodes of the domain, name by boot id; nil when the registry cannot be read.
    package var liveNodes: [UInt64: String]? {
        (try? inspect())?.nodes.reduce(into: [:]) { $0[$1.bootID] = $1.node }
    }

    /// The publishers of `/clock`, name by boot id; nil when the registry cannot be read.
    package var players: [UInt64: String]? {
        (try? inspect())?.nodes.filter { node in node.topics.contains { $0.name == Topics.clock.name } }
            .reduce(into: [:]) { $0[$1.bootID] = $1.node }
    }
}
