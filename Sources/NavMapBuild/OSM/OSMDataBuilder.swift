public import NavGeo
internal import NavMap

/// Makes ``OSMData`` of objects given one by one, for maps that are drawn instead of read.
public struct OSMDataBuilder: Sendable {
    private struct Node: Sendable {
        var id: Int64
        var position: FixedCoordinate
        var tags: [String: String]
    }

    private var nodes: [Node] = []
    private var ways = ElementList<Int64>()
    private var data = OSMData()

    /// Nothing yet.
    public init() {}

    /// Adds a node. Only nodes that a way or a relation names are kept.
    public mutating func addNode(id: Int64, position: FixedCoordinate, tags: [String: String] = [:]) {
        nodes.append(Node(id: id, position: position, tags: tags))
    }

    /// Adds a way through nodes.
    public mutating func addWay(id: Int64, nodes: [Int64], tags: [String: String]) {
        ways.parts.append(contentsOf: nodes)
        OSMDataBuilder.add(tags, to: &ways.tags, &data.strings)
        ways.close(id: id)
    }

    /// Adds a relation of members with their roles.
    public mutating func addRelation(
        id: Int64, members: [(kind: OSMData.Member.Kind, id: Int64, role: String)], tags: [String: String]
    ) {
        for member in members {
            data.relations.parts.append(
                OSMData.Member(kind: member.kind, id: member.id, role: data.strings.intern(member.role)))
        }
        OSMDataBuilder.add(tags, to: &data.relations.tags, &data.strings)
        data.relations.close(id: id)
    }

    /// The data of all objects added so far.
    public func build() -> OSMData {
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

extension OSMData {
    /// The ways of countries' borders that are not among `ways`, ascending: those that do not say that they are borders,
    /// and those outside of the extract.
    func missingBorders(_ ways: ElementList<Int64>) -> [Int64] {
        var wanted: [Int64] = []
        for relation in relations.ids.indices where CountryBorder.code(self, relation) != 0 {
            for at in relations.partRange(relation) where relations.parts[at].kind == .way {
                wanted.append(relations.parts[at].id)
            }
        }
        if wanted.isEmpty { return [] }
        let known = Set(ways.ids)
        return Set(wanted).subtracting(known).sorted()
    }

    /// Takes over ways that name nodes by id: sorts them, and lists the nodes that they and the restrictions name, all
    /// still absent.
    mutating func setWays(_ raw: consuming ElementList<Int64>, jobs: Int) {
        statistics.duplicateIDs += raw.sortByID()
        statistics.duplicateIDs += relations.sortByID()
        var needed = raw.parts
        for member in relations.parts where member.kind == .node { needed.append(member.id) }
        RadixSort.sort(&needed)
        RadixSort.removeDuplicates(&needed)
        nodeIDs = needed
        latitudes = ContiguousArray(repeating: OSMData.absent, count: needed.count)
        longitudes = ContiguousArray(repeating: 0, count: needed.count)

        let refs = raw.parts
        let ids = nodeIDs
        let piece = 1 << 16
        let pieces = Parallel.map((refs.count + piece - 1) / piece, jobs: jobs) { number in
            var indexes = ContiguousArray<UInt32>()
            let range = number * piece..<min(refs.count, (number + 1) * piece)
            indexes.reserveCapacity(range.count)
            ids.withUnsafeBufferPointer { ids in
                var hint = 0
                for at in range {
                    // Every id is there: the list was made of these references.
                    let index = IDSearch.find(refs[at], in: ids, from: hint) ?? 0
                    indexes.append(UInt32(truncatingIfNeeded: index))
                    hint = index + 1
                }
            }
            return indexes
        }
        ways = ElementList<UInt32>()
        ways.ids = raw.ids
        ways.partStarts = raw.partStarts
        ways.tags = raw.tags
        ways.parts.reserveCapacity(refs.count)
        for indexes in pieces { ways.parts.append(contentsOf: indexes) }
    }
}
