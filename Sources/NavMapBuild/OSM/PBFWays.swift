/// The ways and relations of a block that concern roads or borders, with text numbers of ``texts``.
struct PBFWays: Sendable {
    var texts = KeptTexts()
    var ways = ElementList<Int64>()
    var relations = ElementList<OSMData.Member>()
    var wayCount = 0
    var relationCount = 0
    var hasNodes = false
    /// The lowest and the highest way id of the block, including omitted ways.
    var lowestWay = Int64.max, highestWay = Int64.min
    /// The evidence of the country from the block's ways and relations.
    var countryEvidence = CountryEvidence()

    /// Reads a block.
    ///
    /// With `keepsHistory`, objects that are deleted or not roads leave an empty entry that replaces an older version of the same object.
    static func read(_ bytes: UnsafeRawBufferPointer, keepsHistory: Bool) throws(WireError) -> PBFWays {
        var block = try PBFBlock(bytes)
        var result = PBFWays()
        for group in block.groups {
            var reader = WireReader(group)
            while let field = try reader.field() {
                switch (field.number, field.type) {
                case (1, 2), (2, 2):
                    result.hasNodes = true
                    try reader.skip(field)
                case (3, 2):
                    result.wayCount += 1
                    try result.readWay(try reader.delimited(), &block, keepsHistory: keepsHistory)
                case (4, 2):
                    result.relationCount += 1
                    try result.readRelation(try reader.delimited(), &block, keepsHistory: keepsHistory)
                default: try reader.skip(field)
                }
            }
        }
        return result
    }

    /// Reads the ways of a block with the `wanted` ids, which ascend, of any kind and without their tags.
    static func read(_ bytes: UnsafeRawBufferPointer, only wanted: [Int64]) throws(WireError) -> ElementList<Int64> {
        let block = try PBFBlock(bytes)
        var ways = ElementList<Int64>()
        for group in block.groups {
            var reader = WireReader(group)
            while let field = try reader.field() {
                guard (field.number, field.type) == (3, 2) else {
                    try reader.skip(field)
                    continue
                }
                var parts = try Parts(try reader.delimited(), keepsHistory: true)
                guard parts.isVisible,
                    wanted.withUnsafeBufferPointer({ IDSearch.find(parts.id, in: $0, from: 0) }) != nil
                else { continue }
                var ref: Int64 = 0
                while !parts.lists.0.isAtEnd {
                    ref &+= try parts.lists.0.signed()
                    ways.parts.append(ref)
                }
                ways.close(id: parts.id)
            }
        }
        return ways
    }

    /// The lists in an object's message.
    private struct Parts {
        var id: Int64 = 0
        var keys = WireReader(UnsafeRawBufferPointer(start: nil, count: 0))
        var values = WireReader(UnsafeRawBufferPointer(start: nil, count: 0))
        /// Fields 8, 9 and 10: a way's refs; a relation's roles, ids and kinds.
        var lists = (
            WireReader(UnsafeRawBufferPointer(start: nil, count: 0)),
            WireReader(UnsafeRawBufferPointer(start: nil, count: 0)),
            WireReader(UnsafeRawBufferPointer(start: nil, count: 0))
        )
        var isVisible = true

        init(_ bytes: UnsafeRawBufferPointer, keepsHistory: Bool) throws(WireError) {
            var reader = WireReader(bytes)
            while let field = try reader.field() {
                switch field.number {
                case 1: id = Int64(bitPattern: try reader.number(field))
                case 2: keys = try reader.message(field)
                case 3: values = try reader.message(field)
                case 4 where keepsHistory: isVisible = try Parts.visibility(try reader.message(field))
                case 8: lists.0 = try reader.message(field)
                case 9: lists.1 = try reader.message(field)
                case 10: lists.2 = try reader.message(field)
                default: try reader.skip(field)
                }
            }
        }

        static func visibility(_ info: WireReader) throws(WireError) -> Bool {
            var info = info
            while let field = try info.field() {
                if field.number == 6 { return try info.number(field) != 0 }
                try info.skip(field)
            }
            return true
        }
    }

    private mutating func readWay(
        _ bytes: UnsafeRawBufferPointer, _ block: inout PBFBlock, keepsHistory: Bool
    ) throws(WireError) {
        var parts = try Parts(bytes, keepsHistory: keepsHistory)
        var keys = parts.keys
        var values = parts.values
        var highway: Word?
        var route: Word?
        var namesVehicles = false
        var isBorder = false
        lowestWay = min(lowestWay, parts.id)
        highestWay = max(highestWay, parts.id)
        while !keys.isAtEnd {
            let number = try keys.number()
            let key = try block.key(number)
            guard !values.isAtEnd else { throw .unevenLists }
            let value = try values.number()
            try block.countCountry(number, value, in: &countryEvidence)
            switch key {
            case .highway: highway = Vocabulary.shared.word(try block.text(value))
            case .route: route = Vocabulary.shared.word(try block.text(value))
            case let key? where RoadTags.namesVehicles(key): namesVehicles = true
            // Countries. Other levels are too numerous to keep, and a country's border can be found without them.
            case .admin_level: isBorder = try block.text(value).elementsEqual("2".utf8)
            default: break
            }
        }
        guard parts.isVisible,
            isBorder || RoadTags.mayBeRoad(highway: highway, route: route, namesVehicles: namesVehicles)
        else {
            if keepsHistory { ways.close(id: parts.id) }
            return
        }
        while !parts.keys.isAtEnd {
            let key = try block.key(try parts.keys.number())
            let value = try parts.values.number()
            if let key { ways.tags.add(key, try block.keep(value, in: &texts)) }
        }
        var ref: Int64 = 0
        while !parts.lists.0.isAtEnd {
            ref &+= try parts.lists.0.signed()
            ways.parts.append(ref)
        }
        ways.close(id: parts.id)
    }

    private mutating func readRelation(
        _ bytes: UnsafeRawBufferPointer, _ block: inout PBFBlock, keepsHistory: Bool
    ) throws(WireError) {
        var parts = try Parts(bytes, keepsHistory: keepsHistory)
        var keys = parts.keys
        var values = parts.values
        var isAboutTurns = false
        var isBorder = false
        while !keys.isAtEnd {
            let number = try keys.number()
            let key = try block.key(number)
            guard !values.isAtEnd else { throw .unevenLists }
            let value = try values.number()
            try block.countCountry(number, value, in: &countryEvidence)
            switch key {
            case .type: isAboutTurns = RestrictionTags.isAboutTurns(Vocabulary.shared.word(try block.text(value)))
            case .iso3166, .iso3166Alpha2, .country_code_iso3166_1_alpha_2: isBorder = true
            default: break
            }
        }
        guard parts.isVisible, isAboutTurns || isBorder else {
            if keepsHistory { relations.close(id: parts.id) }
            return
        }
        while !parts.keys.isAtEnd {
            let key = try block.key(try parts.keys.number())
            let value = try parts.values.number()
            if let key { relations.tags.add(key, try block.keep(value, in: &texts)) }
        }
        var id: Int64 = 0
        while !parts.lists.0.isAtEnd {
            let role = try block.keep(try parts.lists.0.number(), in: &texts)
            guard !parts.lists.1.isAtEnd, !parts.lists.2.isAtEnd else { throw .unevenLists }
            id &+= try parts.lists.1.signed()
            guard let kind = OSMData.Member.Kind(rawValue: UInt8(truncatingIfNeeded: try parts.lists.2.number()))
            else { throw .badIndex }
            relations.parts.append(OSMData.Member(kind: kind, id: id, role: role))
        }
        relations.close(id: parts.id)
    }
}
