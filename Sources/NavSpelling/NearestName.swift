/// Returns the candidate that a mistyped name most likely means; nil when none is close. The result has the smallest edit distance
/// (insertions, deletions, substitutions and swaps of neighbours, ignoring case). The distance may be at most a third of the longer name,
/// with a floor of 1 and a cap of 3. Among equally close candidates, the first wins.
package func nearestName(to name: String, among candidates: [String]) -> String? {
    // Untrusted clients may send names of any length.
    guard (1...100).contains(name.utf8.count) else { return nil }
    let typed = Array(name.lowercased().utf8.prefix(64))
    var best: (name: String, distance: Int)?
    for candidate in candidates {
        let known = Array(candidate.lowercased().utf8.prefix(64))
        let allowed = min(3, max(1, max(typed.count, known.count) / 3))
        let distance = editDistance(typed, known)
        if distance <= allowed, distance < best?.distance ?? Int.max {
            best = (candidate, distance)
        }
    }
    return best?.name
}

/// Returns `; did you mean "x"?`, or an empty text; `quote` is the quotation mark.
package func suggestion(for name: String, among candidates: [String], quote: Character = "\"") -> String {
    nearestName(to: name, among: candidates).map { "; did you mean \(quote)\($0)\(quote)?" } ?? ""
}

private func editDistance(_ left: [UInt8], _ right: [UInt8]) -> Int {
    var beforeLast = [Int](repeating: 0, count: right.count + 1)
    var last = Array(0...right.count)
    for row in 0..<left.count {
        var current = [row + 1] + [Int](repeating: 0, count: right.count)
        for column in 0..<right.count {
            var cost = last[column] + (left[row] == right[column] ? 0 : 1)
            cost = min(cost, last[column + 1] + 1, current[column] + 1)
            if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
                cost = min(cost, beforeLast[column - 1] + 1)
            }
            current[column + 1] = cost
        }
        beforeLast = last
        last = current
    }
    return last[right.count]
}
