internal import NavGeo

/// A reader of OpenStreetMap's .osm files (XML).
///
/// It makes two passes, like ``OSMPBFReader``, and a third if country borders have ways that are not tagged as borders.
///
/// Objects that an editor marks as deleted (`visible="false"`, `action="delete"`) are left out.
package enum OSMXMLReader {
    /// Reads the road data of a file.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - progress: Receives the progress of the two reading phases.
    /// - Throws: ``MapBuildError`` when the file cannot be read, is truncated, damaged, or not OSM XML; the error states where.
    package static func read(
        path: String, progress: @escaping BuildProgress = { _, _ in }
    ) throws(MapBuildError) -> OSMData {
        let file = try PBFFile(path: path)
        var ways = WayPass()
        try walk(file) { scanner throws(MapBuildError) in
            try ways.begin(scanner)
            progress(.readingWays, min(scanner.fraction, 0.999))
        } end: { depth in
            ways.end(depth)
        }
        progress(.readingWays, 1)
        var data = ways.data
        data.statistics.ways = ways.wayCount
        data.statistics.relations = ways.relationCount
        let missing = data.missingBorders(ways.ways)
        if !missing.isEmpty {
            var borders = BorderPass(wanted: missing)
            try walk(file) { scanner throws(MapBuildError) in
                try borders.begin(scanner)
            } end: { depth in
                borders.end(depth)
            }
            ways.ways.append(borders.ways)
        }
        data.setWays(ways.ways, jobs: 1)
        var nodes = NodePass(data: data)
        try walk(file) { scanner throws(MapBuildError) in
            try nodes.begin(scanner)
            progress(.readingNodes, min(scanner.fraction, 0.999))
        } end: { depth in
            nodes.end(depth)
        }
        progress(.readingNodes, 1)
        return nodes.finish()
    }

    /// Walks all elements below a file's `osm` element; `end` receives the number of open elements, 1 after an object.
    private static func walk(
        _ file: PBFFile, begin: (XMLScanner) throws(MapBuildError) -> Void, end: (Int) -> Void
    ) throws(MapBuildError) {
        var scanner = XMLScanner(file)
        var isOSM = false
        while true {
            switch try scanner.next() {
            case .start:
                if scanner.openElements == 1 {
                    guard !isOSM, scanner.isNamed("osm") else {
                        throw MapBuildError(
                            .notOSM, path: file.path, offset: 0, reason: "is XML but not OSM: the root is not 'osm'",
                            advice: "Name an .osm.pbf or .osm file")
                    }
                    isOSM = true
                } else {
                    try begin(scanner)
                }
            case .end: end(scanner.openElements)
            case .finished:
                guard isOSM else {
                    throw MapBuildError(
                        .notOSM, path: file.path, offset: 0, reason: "has no 'osm' element",
                        advice: "Name an .osm.pbf or .osm file")
                }
                return
            }
        }
    }

    fileprivate static func isDeleted(_ scanner: XMLScanner) throws(MapBuildError) -> Bool {
        if let visible = try scanner.attribute("visible"), visible.elementsEqual("false".utf8) { return true }
        return try scanner.attribute("action")?.elementsEqual("delete".utf8) ?? false
    }

    fileprivate static func id(_ scanner: XMLScanner, _ name: StaticString) throws(MapBuildError) -> Int64 {
        guard let id = try scanner.number(name) else { throw scanner.malformed("has an object without an id") }
        return id
    }

    /// Returns the tag of the current element if the importer reads its key.
    fileprivate static func tag(
        _ scanner: XMLScanner, _ strings: inout StringTable
    ) throws(MapBuildError) -> (key: TagKey, value: UInt32)? {
        guard let name = try scanner.attribute("k"), let value = try scanner.attribute("v"),
            let key = name.withUnsafeBytes({ Vocabulary.shared.key($0) })
        else { return nil }
        return (key, value.withUnsafeBytes { strings.intern($0) })
    }
}

/// A collector of ways and relations.
private struct WayPass {
    private enum Object {
        case none, way, relation
    }

    var data = OSMData()
    var ways = ElementList<Int64>()
    var wayCount = 0
    var relationCount = 0
    private var object = Object.none
    private var id: Int64 = 0
    private var isDeleted = false
    private var tags: [(key: TagKey, value: UInt32)] = []
    private var refs: [Int64] = []
    private var members: [OSMData.Member] = []

    mutating func begin(_ scanner: XMLScanner) throws(MapBuildError) {
        if scanner.openElements == 2 {
            object = scanner.isNamed("way") ? .way : scanner.isNamed("relation") ? .relation : .none
            guard object != .none else { return }
            id = try OSMXMLReader.id(scanner, "id")
            isDeleted = try OSMXMLReader.isDeleted(scanner)
            tags.removeAll(keepingCapacity: true)
            refs.removeAll(keepingCapacity: true)
            members.removeAll(keepingCapacity: true)
        } else if scanner.openElements == 3, object != .none {
            if scanner.isNamed("tag") {
                if let tag = try OSMXMLReader.tag(scanner, &data.strings) { tags.append(tag) }
            } else if object == .way, scanner.isNamed("nd") {
                refs.append(try OSMXMLReader.id(scanner, "ref"))
            } else if object == .relation, scanner.isNamed("member") {
                try readMember(scanner)
            }
        }
    }

    private mutating func readMember(_ scanner: XMLScanner) throws(MapBuildError) {
        let kind: OSMData.Member.Kind
        switch try scanner.attribute("type").map({ String(decoding: $0, as: UTF8.self) }) {
        case "node": kind = .node
        case "way": kind = .way
        case "relation": kind = .relation
        default: throw scanner.malformed("has a relation member of an unknown type")
        }
        let role = try scanner.attribute("role") ?? []
        members.append(
            OSMData.Member(
                kind: kind, id: try OSMXMLReader.id(scanner, "ref"),
                role: role.withUnsafeBytes { data.strings.intern($0) }))
    }

    /// Adds the object that just ended if it concerns roads.
    mutating func end(_ openElements: Int) {
        guard openElements == 1, object != .none else { return }
        defer { object = .none }
        for tag in tags where !isDeleted && (tag.key == .addr__country || tag.key == .is_in__country_code) {
            data.strings.withBytes(tag.value) { data.countryEvidence.add($0) }
        }
        func word(_ key: TagKey) -> Word? { tags.last { $0.key == key }.flatMap { Word(rawValue: $0.value) } }
        if object == .way {
            wayCount += 1
            let namesVehicles = tags.contains { RoadTags.namesVehicles($0.key) }
            // Country borders; see ``PBFWays``.
            let isBorder = tags.contains { tag in
                tag.key == .admin_level && data.strings.withBytes(tag.value) { $0.elementsEqual("2".utf8) }
            }
            guard !isDeleted,
                isBorder
                    || RoadTags.mayBeRoad(highway: word(.highway), route: word(.route), namesVehicles: namesVehicles)
            else { return }
            ways.parts.append(contentsOf: refs)
            for tag in tags { ways.tags.add(tag.key, tag.value) }
            ways.close(id: id)
        } else {
            relationCount += 1
            let isBorder = tags.contains { tag in
                tag.key == .iso3166 || tag.key == .iso3166Alpha2 || tag.key == .country_code_iso3166_1_alpha_2
            }
            guard !isDeleted, RestrictionTags.isAboutTurns(word(.type)) || isBorder else { return }
            data.relations.parts.append(contentsOf: members)
            for tag in tags { data.relations.tags.add(tag.key, tag.value) }
            data.relations.close(id: id)
        }
    }
}

/// A collector of ways by their ids, without tags.
private struct BorderPass {
    let wanted: [Int64]
    var ways = ElementList<Int64>()
    private var id: Int64?
    private var refs: [Int64] = []

    init(wanted: [Int64]) { self.wanted = wanted }

    mutating func begin(_ scanner: XMLScanner) throws(MapBuildError) {
        if scanner.openElements == 2 {
            id = nil
            guard scanner.isNamed("way"), !(try OSMXMLReader.isDeleted(scanner)) else { return }
            let own = try OSMXMLReader.id(scanner, "id")
            guard wanted.withUnsafeBufferPointer({ IDSearch.find(own, in: $0, from: 0) }) != nil else { return }
            id = own
            refs.removeAll(keepingCapacity: true)
        } else if scanner.openElements == 3, id != nil, scanner.isNamed("nd") {
            refs.append(try OSMXMLReader.id(scanner, "ref"))
        }
    }

    mutating func end(_ openElements: Int) {
        guard openElements == 1, let id else { return }
        ways.parts.append(contentsOf: refs)
        ways.close(id: id)
        self.id = nil
    }
}

/// A collector of the nodes that the ways and relations need.
private struct NodePass {
    private var data: OSMData
    private var place: UInt32?
    private var tags: [(key: TagKey, value: UInt32)] = []
    private var isFeature = false
    private var isNode = false
    private var found: [UInt32: [(key: TagKey, value: UInt32)]] = [:]
    private var seen: ContiguousArray<Bool>

    init(data: OSMData) {
        self.data = data
        seen = ContiguousArray(repeating: false, count: data.nodeIDs.count)
    }

    mutating func begin(_ scanner: XMLScanner) throws(MapBuildError) {
        if scanner.openElements == 2 {
            place = nil
            isNode = scanner.isNamed("node")
            guard isNode else { return }
            data.statistics.nodes += 1
            guard let node = data.index(ofNode: try OSMXMLReader.id(scanner, "id")) else { return }
            tags.removeAll(keepingCapacity: true)
            isFeature = false
            if seen[Int(node)] { data.statistics.duplicateIDs += 1 }
            seen[Int(node)] = true
            found[node] = nil
            data.latitudes[Int(node)] = OSMData.absent
            if try OSMXMLReader.isDeleted(scanner) { return }
            guard let latitude = try scanner.angle("lat", limit: 90),
                let longitude = try scanner.angle("lon", limit: 180)
            else {
                data.statistics.invalidCoordinates += 1
                return
            }
            data.latitudes[Int(node)] = latitude
            data.longitudes[Int(node)] = longitude
            place = node
        } else if scanner.openElements == 3, isNode, scanner.isNamed("tag"),
            let tag = try OSMXMLReader.tag(scanner, &data.strings)
        {
            if tag.key == .addr__country || tag.key == .is_in__country_code {
                data.strings.withBytes(tag.value) { data.countryEvidence.add($0) }
            }
            guard place != nil else { return }
            tags.append(tag)
            if NodeTags.isFeature(tag.key) { isFeature = true }
        }
    }

    mutating func end(_ openElements: Int) {
        guard openElements == 1, let place else { return }
        if isFeature { found[place] = tags }
        self.place = nil
    }

    mutating func finish() -> OSMData {
        for (node, tags) in found.sorted(by: { $0.key < $1.key }) {
            data.taggedNodes.append(node)
            for tag in tags { data.nodeTags.add(tag.key, tag.value) }
            data.nodeTags.close()
        }
        return data
    }
}
