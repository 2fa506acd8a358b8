/// An inflated block: its string table, units and groups of objects.
///
/// Refers to the block's memory, which must outlive it.
struct PBFBlock {
    private let strings: ContiguousArray<UnsafeRawBufferPointer>
    /// For each string: its key, ``noKey``, or ``unknown`` before it is looked up.
    private var keys: ContiguousArray<UInt8>
    /// For each string: its number among the kept texts, or `UInt32.max`.
    private var keptNumbers: ContiguousArray<UInt32>
    /// The indices of the string-table entries that are country keys: at most two.
    private var countryKeys: (UInt64, UInt64) = (.max, .max)
    let groups: [UnsafeRawBufferPointer]
    let granularity: Int64
    let latitudeOffset: Int64
    let longitudeOffset: Int64

    private static let unknown: UInt8 = 254
    private static let noKey: UInt8 = 255

    init(_ bytes: UnsafeRawBufferPointer) throws(WireError) {
        var strings = ContiguousArray<UnsafeRawBufferPointer>()
        var groups: [UnsafeRawBufferPointer] = []
        var granularity: Int64 = 100
        var latitudeOffset: Int64 = 0
        var longitudeOffset: Int64 = 0
        var reader = WireReader(bytes)
        while let field = try reader.field() {
            switch (field.number, field.type) {
            case (1, 2):
                var table = try reader.message(field)
                while let entry = try table.field() {
                    if entry.number == 1 && entry.type == 2 {
                        strings.append(try table.delimited())
                    } else {
                        try table.skip(entry)
                    }
                }
            case (2, 2): groups.append(try reader.delimited())
            case (17, 0): granularity = Int64(Int32(truncatingIfNeeded: try reader.number()))
            case (19, 0): latitudeOffset = Int64(bitPattern: try reader.number())
            case (20, 0): longitudeOffset = Int64(bitPattern: try reader.number())
            default: try reader.skip(field)
            }
        }
        keys = ContiguousArray(repeating: PBFBlock.unknown, count: strings.count)
        keptNumbers = ContiguousArray(repeating: .max, count: strings.count)
        self.strings = strings
        self.groups = groups
        self.granularity = granularity
        self.latitudeOffset = latitudeOffset
        self.longitudeOffset = longitudeOffset
        for (index, text) in strings.enumerated() where text.count == 12 || text.count == 18 {
            switch Vocabulary.shared.key(text) {
            case .addr__country?: countryKeys.0 = UInt64(index)
            case .is_in__country_code?: countryKeys.1 = UInt64(index)
            default: break
            }
        }
    }

    /// Whether no object of the block names a country.
    var namesNoCountry: Bool { countryKeys == (.max, .max) }

    /// Counts a tag that names a country.
    @inline(__always)
    func countCountry(_ key: UInt64, _ value: UInt64, in evidence: inout CountryEvidence) throws(WireError) {
        if key == countryKeys.0 || key == countryKeys.1 { evidence.add(try text(value)) }
    }

    func text(_ index: UInt64) throws(WireError) -> UnsafeRawBufferPointer {
        guard index < UInt64(strings.count) else { throw .badIndex }
        return strings[Int(index)]
    }

    /// Returns the key of a string; nil for a key that the importer does not read.
    @inline(__always)
    mutating func key(_ index: UInt64) throws(WireError) -> TagKey? {
        guard index < UInt64(keys.count) else { throw .badIndex }
        let known = keys[Int(index)]
        if known == PBFBlock.noKey { return nil }
        if known != PBFBlock.unknown { return TagKey(rawValue: known) }
        let key = Vocabulary.shared.key(strings[Int(index)])
        keys[Int(index)] = key?.rawValue ?? PBFBlock.noKey
        return key
    }

    /// Returns the number of a string among the kept texts, adding it if it is new.
    mutating func keep(_ index: UInt64, in texts: inout KeptTexts) throws(WireError) -> UInt32 {
        guard index < UInt64(keptNumbers.count) else { throw .badIndex }
        if keptNumbers[Int(index)] == .max { keptNumbers[Int(index)] = texts.append(strings[Int(index)]) }
        return keptNumbers[Int(index)]
    }

    /// Returns a latitude in 1e-7 degrees; nil when out of range.
    @inline(__always)
    func latitude(_ raw: Int64) -> Int32? { fixed(latitudeOffset &+ granularity &* raw, limit: 90_000_000_000) }

    /// Returns a longitude in 1e-7 degrees; nil when out of range.
    @inline(__always)
    func longitude(_ raw: Int64) -> Int32? { fixed(longitudeOffset &+ granularity &* raw, limit: 180_000_000_000) }

    /// Rounds nanodegrees to 1e-7 degrees, half away from zero.
    @inline(__always)
    private func fixed(_ nanodegrees: Int64, limit: Int64) -> Int32? {
        guard nanodegrees >= -limit && nanodegrees <= limit else { return nil }
        return Int32((nanodegrees + (nanodegrees < 0 ? -50 : 50)) / 100)
    }
}

/// The texts of a block that outlive its memory.
struct KeptTexts: Sendable {
    private var bytes: ContiguousArray<UInt8> = []
    private var ends: ContiguousArray<Int> = []

    mutating func append(_ text: UnsafeRawBufferPointer) -> UInt32 {
        bytes.append(contentsOf: text)
        ends.append(bytes.count)
        return UInt32(truncatingIfNeeded: ends.count - 1)
    }

    /// Adds these texts to a table and returns their numbers.
    func intern(in table: inout StringTable) -> ContiguousArray<UInt32> {
        bytes.withUnsafeBytes { bytes in
            var start = 0
            var numbers = ContiguousArray<UInt32>()
            for end in ends {
                numbers.append(table.intern(UnsafeRawBufferPointer(rebasing: bytes[start..<end])))
                start = end
            }
            return numbers
        }
    }
}
