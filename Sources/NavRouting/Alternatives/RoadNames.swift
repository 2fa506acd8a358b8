/// Tells routes that are shown together apart by the names of roads.
enum RoadNames {
    /// For each route the two roads that most of what only it drives leads over, in travel order.
    ///
    /// Where the two longest are another route's too, the next longest take their place; a route without a named road
    /// of its own is named by what it has in common with others.
    static func distinct(_ routes: [Route]) -> [[String]] {
        let lengths = routes.map { names($0) }
        var taken: Set<[String]> = []
        var result: [[String]] = []
        for (index, own) in lengths.enumerated() {
            let others = lengths.indices.filter { $0 != index }
            // What is long here and short elsewhere tells the routes apart.
            let scored = own.indices.map { number -> (number: Int, score: Double) in
                let elsewhere = others.map { other in lengths[other].first { $0.name == own[number].name }?.length ?? 0
                }
                return (number, own[number].length - (elsewhere.max() ?? 0) * 0.9)
            }.sorted { ($1.score, $0.number) < ($0.score, $1.number) }
            var choice = choose(scored, own, count: 2)
            if taken.contains(choice) {
                for skipped in scored.indices.dropFirst(2) {
                    let other = choose([scored[0], scored[skipped]], own, count: 2)
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
        _ scored: [(number: Int, score: Double)], _ own: [(name: String, length: Double)], count: Int
    )
        -> [String]
    {
        scored.prefix(count).map(\.number).sorted().map { own[$0].name }
    }

    /// The names along a route in travel order, each with its metres; numbers stand for roads without a name.
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
