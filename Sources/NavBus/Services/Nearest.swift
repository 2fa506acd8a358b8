/// A search for the candidate closest to a misspelt name.
enum Nearest {
    /// Returns `"; is 'X' meant?"` with the most similar candidate, empty when none is close or the name is long.
    ///
    /// The work is bounded: names up to 100 bytes, the first 256 candidates, at most three edits.
    static func hint(_ name: String, among candidates: [String]) -> String {
        let wanted = Array(name.utf8.map(lower))
        guard (1...100).contains(wanted.count) else { return "" }
        var best: (name: String, distance: Int)?
        for candidate in candidates.prefix(256) where abs(candidate.utf8.count - wanted.count) <= maximumEdits {
            let distance = edits(wanted, Array(candidate.utf8.map(lower)))
            if distance <= min(maximumEdits, (wanted.count + 1) / 2), distance < best?.distance ?? .max {
                best = (candidate, distance)
            }
        }
        return best.map { "; is '\($0.name)' meant?" } ?? ""
    }

    private static let maximumEdits = 3

    private static func lower(_ byte: UInt8) -> UInt8 { (0x41...0x5a).contains(byte) ? byte | 0x20 : byte }

    /// Returns the Levenshtein distance.
    private static func edits(_ first: [UInt8], _ second: [UInt8]) -> Int {
        var row = Array(0...second.count)
        for (i, byte) in first.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, other) in second.enumerated() {
                let replaced = diagonal + (byte == other ? 0 : 1)
                diagonal = row[j + 1]
                row[j + 1] = min(replaced, row[j] + 1, row[j + 1] + 1)
            }
        }
        return row[second.count]
    }
}
