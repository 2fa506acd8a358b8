/// A selector of road names that distinguish routes shown together.
enum RoadNames {
    /// Returns for each route, in travel order, the two roads that cover most of the part that no other route shares.
    ///
    /// If another route has the same two, the next longest replace them. A route without a named road of its own is
    /// identified by roads that it shares with others.
    static func distinct(_ routes: [Route]) -> [[String]] {
        let lengths = routes.map { names($0) }
        var taken: Set<[String]> = []
        var result: [[String]] = []
        for (index, own) in lengths.enumerated() {
            let others = lengths.indices.filter { $0 != index }
            // A road that is long here and short elsewhere distinguishes the routes.
            let scored = own.indices.map { number -> (number: Int, score: Double) in
                let elsewhere = others.map { other in lengths[other].first { $0.name == own[number].name }?.length ?? 0
                }
                return (number, own[number].length - (elsewhere.max() ?? 0) * 0.9)
            }.sorted { ($1.score, $0.number) < ($0.score, $1.number) }
            var choice = choose(scored, own)
            if taken.contains(choice) {
                for skipped in scored.indices.dropFirst(2) {
                    let other = choose([scored[0], scored[skipped]], own)
                    if !taken.contains(other) {
                        choice = other
                        break
                    }
                }
            }
            taken.insert(choice)
            result.append(choice)
        }
        return result
    }

    private static func choose(
        _ scored: [(number: Int, score: Double)], _ own: [(name: String, length: Double)]
    ) -> [String] {
        scored.prefix(2).map(\.number).sorted().map { own[$0].name }
    }

    /// Returns the names along a route in travel order, each with its metres; road numbers replace missing names.
    private static func names(_ route: Route) -> [(name: String, length: Double)] {
        var places: [String: Int] = [:]
        var result: [(name: String, length: Double)] = []
        for edge in route.edges {
            let name = edge.roadName
            guard !name.isEmpty else { continue }
            if let last = result.last, last.name == name {
                result[result.count - 1].length += edge.length
            } else if let place = places[name] {
                result[place].length += edge.length
            } else {
                places[name] = result.count
                result.append((name, edge.length))
            }
        }
        return result
    }
}
