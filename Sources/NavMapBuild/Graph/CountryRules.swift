internal import NavGeo
internal import NavMap

/// The rules that determine a road's country: the user's setting, else the borders, else the road's own zone tags, else the country on
/// which the extract's objects agree.
struct CountryRules: Sendable {
    /// The country given by the user, packed; 0 if not given.
    private let stated: UInt16
    /// The borders in the extract; nil without borders.
    private let map: CountryMap?
    /// The country on which objects agree, packed; 0 without agreement, and if the extract has a border, because objects on one side of it
    /// may far outnumber those on the other.
    private let presumed: UInt16
    /// Whether traffic keeps to the left if the country does not decide it.
    private let leftHandTraffic: Bool

    init(_ data: OSMData, country: String?, leftHandTraffic: Bool) {
        stated = CountryCode.packed(country ?? "")
        map = stated == 0 ? CountryMap(data) : nil
        var evidence = data.countryEvidence
        evidence.add(Countries.evidence(data))
        presumed = stated == 0 && map == nil ? evidence.country : 0
        self.leftHandTraffic = leftHandTraffic
    }

    /// Whether the country depends on the position.
    var hasBorders: Bool { map != nil }

    /// Returns the countries of a way's pieces, each once, in order; 0 where no border decides.
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

    /// Returns the country of each piece of a line between two neighbouring points; 0 where no border decides.
    func countries(along line: [FixedCoordinate]) -> [UInt16] {
        map?.countries(along: line) ?? Array(repeating: stated, count: max(line.count - 1, 0))
    }

    /// Returns the road of a way in a country (0 if no border decides); nil when the way is not a road there.
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
