/// Returns the candidate that a mistyped name most likely means; nil when none is close. It has the smallest edit distance (insert, delete,
/// replace, swap of neighbours; case is ignored), at most a third of the longer name, but at least 1 and at most 3. Of equally close ones,
/// the first is returned.
package func nearestName(to name: String, among candidates: [String]) -> String? {
    // A name of a foreign client may be of any length.
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

/// Returns `; did you mean "x"?`, or an empty text; `quote` replaces the quotation marks.
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
