internal import NavGeo
internal import NavMap

/// Which country's rules hold where: the country that the user says; else that of the borders; else the one that a
/// road's own zone tags name; else the one that the extract's objects agree on.
struct CountryRules: Sendable {
    /// The user's country, packed; 0 without.
    private let stated: UInt16
    /// The borders in the extract; nil without.
    private let map: CountryMap?
    /// The country that objects agree on, packed; 0 without. Where the extract holds a border it says nothing: objects
    /// of one side may be many more than those of the other.
    private let presumed: UInt16
    /// Whether traffic keeps to the left where the country does not say.
    private let leftHandTraffic: Bool

    init(_ data: OSMData, country: String?, leftHandTraffic: Bool) {
        stated = CountryCode.packed(country ?? "")
        map = stated == 0 ? CountryMap(data) : nil
        var evidence = data.countryEvidence
        evidence.add(Countries.evidence(data))
        presumed = stated == 0 && map == nil ? evidence.country : 0
        self.leftHandTraffic = leftHandTraffic
    }

    /// Whether countries depend on the place.
    var hasBorders: Bool { map != nil }

    /// The countries of a way's pieces, each once, in their order; 0 where no border tells.
    func countries(ofWay way: Int, _ data: OSMData) -> [UInt16] {
        guard map != nil else { return [stated] }
        var line: [FixedCoordinate] = []
        for at in data.ways.partRange(way) where data.isPresent(data.ways.parts[at]) {
            line.append(data.position(data.ways.parts[at]))
        }
        var found: [UInt16] = []
        for country in countries(along: line) where !found.contains(country) { found.append(country) }
        return found.isEmpty ? [0] : found
    }

    /// The country of each piece of a line between two neighbouring points; 0 where no border tells.
    func countries(along line: [FixedCoordinate]) -> [UInt16] {
        map?.countries(along: line) ?? Array(repeating: stated, count: max(line.count - 1, 0))
    }

    /// The road that a way is in a country, 0 where no border tells; nil when it is none there.
    func interpret(_ tags: TagSet, _ strings: StringTable, in country: UInt16) -> Road? {
        var road = RoadTags.interpret(
            tags, strings, country: CountryCode.text(country), presumed: CountryCode.text(presumed))
        let keepsLeft = { (direction: RoadDirection) in
            leftHandTraffic || Countries.keepsLeft(CountryCode.text(direction.country))
        }
        if tags.word(.driving_side) != .right {
            if let forward = road?.forward, keepsLeft(forward) { road?.forward?.flags.insert(.leftHandTraffic) }
            if let backward = road?.backward, keepsLeft(backward) { road?.backward?.flags.insert(.leftHandTraffic) }
        }
        return road
    }
}
