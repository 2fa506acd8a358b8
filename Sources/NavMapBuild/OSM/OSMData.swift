package import NavGeo

/// The part of an OSM extract that describes roads, in flat arrays.
///
/// Nodes are those that ways or restrictions refer to, including nodes missing in the extract. Ways are potential roads and
/// country borders; relations are restrictions and those borders. All three ascend by id. Tags are (key, text number) pairs
/// of the keys in ``TagKey``.
package struct OSMData: Sendable {
    package struct Member: Sendable, Equatable {
        /// The type of a relation's member.
        package enum Kind: UInt8, Sendable {
            case node, way, relation
        }

        package var kind: Kind
        package var id: Int64
        /// The role, a text number of ``OSMData/strings``.
        package var role: UInt32

        package init(kind: Kind, id: Int64, role: UInt32) {
            (self.kind, self.id, self.role) = (kind, id, role)
        }
    }

    /// The counts of read and omitted objects.
    package struct Statistics: Sendable, Equatable {
        package var nodes = 0, ways = 0, relations = 0
        /// The number of repeated ids; the last object counts.
        package var duplicateIDs = 0
        /// The number of nodes with coordinates out of range.
        package var invalidCoordinates = 0

        package init() {}
    }

    /// The extract's time stamp, seconds since 1970 UTC; nil when its header has none.
    package internal(set) var timestamp: Int64?
    package var statistics = Statistics()

    package var strings = StringTable()
    package var nodeIDs: ContiguousArray<Int64> = []
    package var latitudes: ContiguousArray<Int32> = []
    package var longitudes: ContiguousArray<Int32> = []
    package var taggedNodes: ContiguousArray<UInt32> = []
    package var nodeTags = TagLists()
    package var ways = ElementList<UInt32>()
    package var relations = ElementList<Member>()
    /// The evidence of the country from addresses and places.
    package var countryEvidence = CountryEvidence()

    /// The latitude that marks a node missing in the extract.
    package static let absent = Int32.min

    package init() {}

    /// Whether the extract contains the node with an index.
    package func isPresent(_ node: UInt32) -> Bool { latitudes[Int(node)] != OSMData.absent }

    /// Returns the position of the node with an index.
    package func position(_ node: UInt32) -> FixedCoordinate {
        FixedCoordinate(latitudeE7: latitudes[Int(node)], longitudeE7: longitudes[Int(node)])
    }

    /// Returns the index of a node id; nil when the node is not referenced.
    package func index(ofNode id: Int64) -> UInt32? {
        nodeIDs.withUnsafeBufferPointer { IDSearch.find(id, in: $0, from: 0) }.map { UInt32($0) }
    }
}

/// The tags of many objects, stored consecutively.
package struct TagLists: Sendable {
    /// The index of the first tag of each object; it has one more entry than there are objects.
    package var starts: ContiguousArray<Int> = [0]
    package var keys: ContiguousArray<TagKey> = []
    package var values: ContiguousArray<UInt32> = []

    package init() {}

    /// Adds a tag to the current object, which ``close()`` ends.
    package mutating func add(_ key: TagKey, _ value: UInt32) {
        keys.append(key)
        values.append(value)
    }

    package mutating func close() { starts.append(keys.count) }

    /// Returns the text number of a key's value in object `index`, 0 without the key; of a repeated key the last value counts.
    package func value(_ key: TagKey, of index: Int) -> UInt32 {
        for at in (starts[index]..<starts[index + 1]).reversed() where keys[at] == key { return values[at] }
        return 0
    }
}

/// Objects with an id, tags and a list of parts (a way's nodes, a relation's members).
package struct ElementList<Part: Sendable>: Sendable {
    package var ids: ContiguousArray<Int64> = []
    /// The index of the first part of each object; it has one more entry than there are objects.
    package var partStarts: ContiguousArray<Int> = [0]
    package var parts: ContiguousArray<Part> = []
    package var tags = TagLists()

    package init() {}

    /// Ends the current object, whose parts and tags have been appended.
    package mutating func close(id: Int64) {
        ids.append(id)
        partStarts.append(parts.count)
        tags.close()
    }

    /// Returns the index range of an object's parts.
    package func partRange(_ index: Int) -> Range<Int> { partStarts[index]..<partStarts[index + 1] }

    /// Adds all objects of another list whose tags use the same text numbers.
    mutating func append(_ other: ElementList<Part>) {
        for index in other.ids.indices {
            parts.append(contentsOf: other.parts[other.partRange(index)])
            for at in other.tags.starts[index]..<other.tags.starts[index + 1] {
                tags.add(other.tags.keys[at], other.tags.values[at])
            }
            close(id: other.ids[index])
        }
    }

    /// Returns the index of an id in an ascending list.
    package func index(of id: Int64) -> Int? {
        ids.withUnsafeBufferPointer { IDSearch.find(id, in: $0, from: 0) }
    }

    /// Sorts objects by id and keeps the last of those with the same id; returns the number of dropped objects.
    mutating func sortByID() -> Int {
        var isAscending = true
        for index in ids.indices.dropFirst() where ids[index] <= ids[index - 1] {
            isAscending = false
            break
        }
        if isAscending { return 0 }
        let order = ids.indices.sorted { (ids[$0], $0) < (ids[$1], $1) }
        var sorted = ElementList<Part>()
        for (rank, index) in order.enumerated() {
            if rank + 1 < order.count && ids[order[rank + 1]] == ids[index] { continue }
            sorted.parts.append(contentsOf: parts[partRange(index)])
            for at in tags.starts[index]..<tags.starts[index + 1] { sorted.tags.add(tags.keys[at], tags.values[at]) }
            sorted.close(id: ids[index])
        }
        let dropped = ids.count - sorted.ids.count
        self = sorted
        return dropped
    }
}

package enum IDSearch {
    /// Returns the index of `id`, searching first just after `hint`, as ids of neighbouring objects are often consecutive.
    @inline(__always)
    package static func find(_ id: Int64, in ids: UnsafeBufferPointer<Int64>, from hint: Int) -> Int? {
        if hint < ids.count && ids[hint] == id { return hint }
        var low = 0
        var high = ids.count
        while low < high {
            let middle = (low + high) >> 1
            if ids[middle] < id { low = middle + 1 } else { high = middle }
        }
        return low < ids.count && ids[low] == id ? low : nil
    }
}
