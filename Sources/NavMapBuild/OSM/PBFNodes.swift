/// The nodes of a block that ways need, by their index among the needed ids, in file order.
struct PBFNodes: Sendable {
    var texts = KeptTexts()
    var indexes = ContiguousArray<UInt32>()
    var latitudes = ContiguousArray<Int32>()
    var longitudes = ContiguousArray<Int32>()
    /// The positions in ``indexes`` of the nodes with tags.
    var tagged = ContiguousArray<Int>()
    var tags = TagLists()
    var nodeCount = 0
    var invalidCoordinates = 0
    var countryEvidence = CountryEvidence()

    /// Reads the nodes of a block whose ids are among `ids`, which ascend.
    static func read(
        _ bytes: UnsafeRawBufferPointer, ids: UnsafeBufferPointer<Int64>, keepsHistory: Bool
    ) throws(WireError) -> PBFNodes {
        var block = try PBFBlock(bytes)
        var result = PBFNodes()
        var search = NeededNodes(ids: ids)
        for group in block.groups {
            var reader = WireReader(group)
            while let field = try reader.field() {
                switch (field.number, field.type) {
                case (1, 2): try result.readNode(try reader.delimited(), &block, &search, keepsHistory)
                case (2, 2): try result.readDense(try reader.delimited(), &block, &search, keepsHistory)
                default: try reader.skip(field)
                }
            }
        }
        return result
    }

    /// A cursor over the needed ids, advanced with a block's nodes, whose ids mostly ascend too.
    private struct NeededNodes {
        let ids: UnsafeBufferPointer<Int64>
        /// The index of the first needed id that is not below the last one searched for.
        private var place = 0
        private var last = Int64.min

        init(ids: UnsafeBufferPointer<Int64>) { self.ids = ids }

        @inline(__always)
        mutating func find(_ id: Int64) -> Int? {
            if id < last || place >= ids.count || ids[place] < id { seek(id) }
            last = id
            return place < ids.count && ids[place] == id ? place : nil
        }

        /// Searches from the current index: doubles the step, then halves it.
        private mutating func seek(_ id: Int64) {
            var low = id < last ? 0 : place
            var step = 1
            var high = low
            while high < ids.count && ids[high] < id {
                low = high + 1
                high = min(ids.count, high + step)
                step *= 2
            }
            while low < high {
                let middle = (low + high) >> 1
                if ids[middle] < id { low = middle + 1 } else { high = middle }
            }
            place = low
        }
    }

    private mutating func readDense(
        _ bytes: UnsafeRawBufferPointer, _ block: inout PBFBlock, _ search: inout NeededNodes, _ keepsHistory: Bool
    ) throws(WireError) {
        let none = WireReader(UnsafeRawBufferPointer(start: nil, count: 0))
        var (ids, latitudeDeltas, longitudeDeltas, tagStream) = (none, none, none, none)
        var visible: WireReader?
        var reader = WireReader(bytes)
        while let field = try reader.field() {
            switch field.number {
            case 1: ids = try reader.message(field)
            case 5 where keepsHistory:
                var info = try reader.message(field)
                while let entry = try info.field() {
                    if entry.number == 6 { visible = try info.message(entry) } else { try info.skip(entry) }
                }
            case 8: latitudeDeltas = try reader.message(field)
            case 9: longitudeDeltas = try reader.message(field)
            case 10: tagStream = try reader.message(field)
            default: try reader.skip(field)
            }
        }
        var id: Int64 = 0
        var latitude: Int64 = 0
        var longitude: Int64 = 0
        while !ids.isAtEnd {
            guard !latitudeDeltas.isAtEnd, !longitudeDeltas.isAtEnd else { throw .unevenLists }
            id &+= try ids.signed()
            latitude &+= try latitudeDeltas.signed()
            longitude &+= try longitudeDeltas.signed()
            nodeCount += 1
            var isVisible = true
            if visible?.isAtEnd == false { isVisible = try visible?.number() != 0 }
            let place = search.find(id)
            let firstTag = tags.keys.count
            var isFeature = false
            while !tagStream.isAtEnd {
                let key = try tagStream.number()
                if key == 0 { break }
                guard !tagStream.isAtEnd else { throw .unevenLists }
                let value = try tagStream.number()
                if place != nil { try addTag(key, value, &block, &isFeature) }
                try block.countCountry(key, value, in: &countryEvidence)
            }
            if let place {
                finish(place, isVisible, block.latitude(latitude), block.longitude(longitude), firstTag, isFeature)
            }
        }
    }

    private mutating func readNode(
        _ bytes: UnsafeRawBufferPointer, _ block: inout PBFBlock, _ search: inout NeededNodes, _ keepsHistory: Bool
    ) throws(WireError) {
        let none = WireReader(UnsafeRawBufferPointer(start: nil, count: 0))
        var (keys, values) = (none, none)
        var (id, latitude, longitude): (Int64, Int64, Int64) = (0, 0, 0)
        var isVisible = true
        var reader = WireReader(bytes)
        while let field = try reader.field() {
            switch (field.number, field.type) {
            case (1, 0): id = try reader.signed()
            case (2, 2): keys = try reader.message(field)
            case (3, 2): values = try reader.message(field)
            case (4, 2) where keepsHistory:
                var info = try reader.message(field)
                while let entry = try info.field() {
                    if entry.number == 6 {
                        isVisible = try info.number(entry) != 0
                    } else {
                        try info.skip(entry)
                    }
                }
            case (8, 0): latitude = try reader.signed()
            case (9, 0): longitude = try reader.signed()
            default: try reader.skip(field)
            }
        }
        nodeCount += 1
        let place = search.find(id)
        if place == nil && block.namesNoCountry { return }
        let firstTag = tags.keys.count
        var isFeature = false
        while !keys.isAtEnd {
            guard !values.isAtEnd else { throw .unevenLists }
            let (key, value) = (try keys.number(), try values.number())
            if place != nil { try addTag(key, value, &block, &isFeature) }
            try block.countCountry(key, value, in: &countryEvidence)
        }
        guard let place else { return }
        finish(place, isVisible, block.latitude(latitude), block.longitude(longitude), firstTag, isFeature)
    }

    private mutating func addTag(
        _ key: UInt64, _ value: UInt64, _ block: inout PBFBlock, _ isFeature: inout Bool
    ) throws(WireError) {
        guard let key = try block.key(key) else { return }
        tags.add(key, try block.keep(value, in: &texts))
        if NodeTags.isFeature(key) { isFeature = true }
    }

    private mutating func finish(
        _ place: Int, _ isVisible: Bool, _ latitude: Int32?, _ longitude: Int32?, _ firstTag: Int, _ isFeature: Bool
    ) {
        var isVisible = isVisible
        if latitude == nil || longitude == nil {
            invalidCoordinates += 1
            isVisible = false
        }
        indexes.append(UInt32(truncatingIfNeeded: place))
        latitudes.append(isVisible ? latitude ?? OSMData.absent : OSMData.absent)
        longitudes.append(longitude ?? 0)
        if isVisible && isFeature {
            tagged.append(indexes.count - 1)
            tags.close()
        } else {
            tags.keys.removeLast(tags.keys.count - firstTag)
            tags.values.removeLast(tags.values.count - firstTag)
        }
    }
}
