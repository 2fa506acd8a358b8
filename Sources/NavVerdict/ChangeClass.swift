import NavGeo

/// A class of changes of one kind across a fleet, with an example.
package struct ChangeClass: Sendable, Equatable {
    /// The kind, such as `later: reroute WILL_REROUTE (OFF_ROUTE)`.
    package let kind: String
    /// The number of bags with such a change.
    package private(set) var bagCount = 0
    /// The number of bags in which such a change is the first, and so the probable cause of the others.
    package private(set) var firstCount = 0
    /// The median shift of moved events, seconds; nil for other changes.
    package private(set) var shift: Double?
    package let example: (bag: String, change: ChangeLine)

    package static func == (left: ChangeClass, right: ChangeClass) -> Bool {
        left.kind == right.kind && left.bagCount == right.bagCount && left.firstCount == right.firstCount
            && left.shift == right.shift && left.example.bag == right.example.bag
            && left.example.change == right.example.change
    }

    /// Returns the classes of the bags' changes, sorted by the number of bags in which they are the first change, descending.
    package static func classes(_ bags: [(bag: String, changes: [ChangeLine])]) -> [ChangeClass] {
        var classes: [String: ChangeClass] = [:]
        var shifts: [String: [Double]] = [:]
        for (bag, changes) in bags {
            var seen = Set<String>()
            for (index, change) in changes.enumerated() {
                let kind = kind(of: change)
                if let moved = change.moved { shifts[kind, default: []].append(moved - change.time) }
                var entry = classes[kind] ?? ChangeClass(kind: kind, example: (bag, change))
                if seen.insert(kind).inserted { entry.bagCount += 1 }
                if index == 0 { entry.firstCount += 1 }
                classes[kind] = entry
            }
        }
        for (kind, values) in shifts { classes[kind]?.shift = quantile(values, 0.5) }
        return classes.values.sorted {
            ($0.firstCount, $0.bagCount, $1.kind) > ($1.firstCount, $1.bagCount, $0.kind)
        }
    }

    private init(kind: String, example: (bag: String, change: ChangeLine)) {
        (self.kind, self.example) = (kind, example)
    }

    /// Returns the kind of a change: the event without its numbers and road names.
    static func kind(of change: ChangeLine) -> String {
        let verb =
            switch change.sign {
            case "-": "gone"
            case "+": "new"
            default: (change.moved ?? 0) > change.time ? "later" : "earlier"
            }
        var text = change.text[...]
        for mark in [" via ", " onto ", ", toward", " toward "] {
            if let range = text.firstRange(of: mark) { text = text[..<range.lowerBound] + "\(mark)…" }
        }
        var shape = ""
        for character in text {
            if character.isNumber {
                if shape.last != "#" { shape.append("#") }
            } else {
                shape.append(character)
            }
        }
        return "\(verb): \(shape.replacing("#.#", with: "#"))"
    }

    /// A one-line description.
    package var description: String {
        let bags = bagCount == 1 ? "1 bag" : "\(bagCount) bags"
        let first = firstCount > 0 ? ", the first change in \(firstCount)" : ""
        let moved = shift.map { " by \(tenths(abs($0))) s in the median" } ?? ""
        return "\(kind)\(moved): \(bags)\(first); for example \(example.bag): \(example.change)"
    }
}
