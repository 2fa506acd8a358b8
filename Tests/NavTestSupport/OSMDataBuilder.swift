package import NavGeo
package import NavMap
package import NavMapBuild

/// A builder of ``OSMData`` from single objects, for drawn maps.
package struct OSMDataBuilder: Sendable {
    private struct Node: Sendable {
        var id: Int64
        var position: FixedCoordinate
        var tags: [String: String]
    }

    private var nodes: [Node] = []
    private var ways = ElementList<Int64>()
    private var data = OSMData()

    /// Creates a builder without objects.
    package init() {}

    /// Adds a node. Only nodes that a way or a relation refers to are kept.
    package mutating func addNode(id: Int64, position: FixedCoordinate, tags: [String: String] = [:]) {
        nodes.append(Node(id: id, position: position, tags: tags))
    }

    /// Adds a way through nodes.
    package mutating func addWay(id: Int64, nodes: [Int64], tags: [String: String]) {
        ways.parts.append(contentsOf: nodes)
        OSMDataBuilder.add(tags, to: &ways.tags, &data.strings)
        ways.close(id: id)
    }

    /// Adds a relation of members with their roles.
    package mutating func addRelation(
        id: Int64, members: [(kind: OSMData.Member.Kind, id: Int64, role: String)], tags: [String: String]
    ) {
        for member in members {
            data.relations.parts.append(
                OSMData.Member(kind: member.kind, id: member.id, role: data.strings.intern(member.role)))
        }
        OSMDataBuilder.add(tags, to: &data.relations.tags, &data.strings)
        data.relations.close(id: id)
    }

    /// Returns the data of all objects added so far.
    package func build() -> OSMData {
        var builder = self
        return builder.finish()
    }

    private mutating func finish() -> OSMData {
        data.statistics.nodes = nodes.count
        data.statistics.ways = ways.ids.count
        data.statistics.relations = data.relations.ids.count
        data.setWays(ways, jobs: 1)
        for tags in [ways.tags, data.relations.tags] {
            for (key, value) in zip(tags.keys, tags.values) where key == .addr__country || key == .is_in__country_code {
                data.strings.withBytes(value) { data.countryEvidence.add($0) }
            }
        }
        var found: [(index: UInt32, node: Node)] = []
        for node in nodes {
            for key in ["addr:country", "is_in:country_code"] {
                if let code = node.tags[key] { data.countryEvidence.add(CountryCode.packed(code)) }
            }
            guard let index = data.index(ofNode: node.id) else { continue }
            if data.isPresent(index) { data.statistics.duplicateIDs += 1 }
            data.latitudes[Int(index)] = node.position.latitudeE7
            data.longitudes[Int(index)] = node.position.longitudeE7
            found.removeAll { $0.index == index }
            if !node.tags.isEmpty { found.append((index, node)) }
        }
        found.sort { $0.index < $1.index }
        for (index, node) in found {
            data.taggedNodes.append(index)
            OSMDataBuilder.add(node.tags, to: &data.nodeTags, &data.strings)
            data.nodeTags.close()
        }
        return data
    }

    private static func add(_ tags: [String: String], to lists: inout TagLists, _ strings: inout StringTable) {
        for (name, value) in tags.sorted(by: { $0.key < $1.key }) {
            var name = name
            guard let key = name.withUTF8({ Vocabulary.shared.key(UnsafeRawBufferPointer($0)) }) else { continue }
            lists.add(key, strings.intern(value))
        }
    }
}

extension RoadTags {
    /// Returns the attributes of a way with these tags, along its nodes and against them; nil in a direction that
    /// neither cars nor trucks may drive.
    ///
    /// - Parameter country: The country whose general limits apply unless the tags name another, two letters; empty
    ///   when unknown.
    package static func attributes(
        of tags: [String: String], country: String = ""
    ) -> (forward: RoadAttributes?, backward: RoadAttributes?) {
        var builder = OSMDataBuilder()
        builder.addWay(id: 1, nodes: [], tags: tags)
        let data = builder.build()
        var set = TagSet()
        set.load(data.ways.tags, 0)
        let road = interpret(set, data.strings, presumed: country)
        return (road?.forward?.attributes(data.strings), road?.backward?.attributes(data.strings))
    }
}

extension NodeTags {
    /// Returns the flags of a node with these tags.
    package static func flags(of tags: [String: String]) -> NodeFlags {
        var builder = OSMDataBuilder()
        builder.addWay(id: 1, nodes: [], tags: tags)
        let data = builder.build()
        var set = TagSet()
        set.load(data.ways.tags, 0)
        return interpret(set, data.strings).flags
    }
}
