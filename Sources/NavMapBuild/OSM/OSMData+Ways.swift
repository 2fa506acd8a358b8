import NavMap

extension OSMData {
    /// Returns the ids of country border ways that are not among `ways`, ascending: those not tagged as borders, and those
    /// outside the extract.
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

    /// Adopts ways that refer to nodes by id: sorts them, and lists the nodes that they and the restrictions refer to, all still absent.
    package mutating func setWays(_ raw: consuming ElementList<Int64>, jobs: Int) {
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
                    // Every id is present: the list was built from these references.
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
