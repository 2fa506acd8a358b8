package import NavGeo

/// A harmless irregularity of the input.
package enum BuildWarning: String, Sendable, CaseIterable, Codable, CodingKeyRepresentable,
    CustomStringConvertible
{
    /// Road nodes that are missing in the extract: the road is cut there.
    case missingNodes
    /// Roads with fewer than two nodes: left out.
    case shortWays
    /// Nodes that follow themselves in a road: they are counted once.
    case repeatedNodes
    /// Objects that occur twice: the last one counts.
    case duplicateIDs
    /// Nodes with coordinates out of range: treated as missing.
    case invalidCoordinates
    /// Unsupported conditions of access or speed limits, such as the weather: the unconditional value applies.
    case unknownConditions
    /// Kilometres of road in no known country: no general limits apply there, and traffic keeps to the right.
    case unknownCountry

    /// A description of the irregularity, to be printed after its count.
    package var description: String {
        switch self {
        case .missingNodes: "nodes of roads are missing in the extract; the roads are cut there"
        case .shortWays: "roads with fewer than two nodes are left out"
        case .repeatedNodes: "nodes repeat in a row in a road; each run counts once"
        case .duplicateIDs: "objects have a duplicate id; the last one counts"
        case .invalidCoordinates: "nodes have coordinates out of range; they are treated as missing"
        case .unknownConditions: "conditions of roads are not supported; the unconditional values apply"
        case .unknownCountry:
            "km of roads lie in no known country; no default limits apply and traffic keeps right (set --country)"
        }
    }
}

/// The roads of a country in a map.
package struct CountryShare: Sendable, Codable, Equatable {
    /// ISO 3166-1, two upper-case letters; empty for roads in no known country.
    package var country: String
    /// The length of its edges, metres, counting each direction.
    package var edgeLength: Double
}

package struct BuildReport: Sendable, Codable, Equatable {
    package var nodes = 0
    package var ways = 0
    package var relations = 0
    package var roads = 0
    package var graphNodes = 0
    /// Directed edges of the road graph.
    package var edges = 0
    /// The length of the edges, metres, counting each direction.
    package var edgeLength = 0.0
    package var tiles = 0
    package var bytes = 0
    /// Turn restrictions that have an effect.
    package var restrictions = 0
    /// Turn restrictions without an effect, by reason.
    package var restrictionProblems: [RestrictionProblem: Int] = [:]
    /// Maneuver relations that have an effect.
    package var maneuvers = 0
    /// Maneuver relations without an effect, by reason.
    package var maneuverProblems: [RestrictionProblem: Int] = [:]
    package var warnings: [BuildWarning: Int] = [:]
    package var bounds = BoundingBox(south: 0, west: 0, north: 0, east: 0)
    /// The country that all roads lie in; empty for several or none.
    package var country = ""
    /// The countries of the roads, those with the longest roads first.
    package var countries: [CountryShare] = []
    /// The map's version: a hash over its tiles.
    package var mapVersion = ""

    package init() {}
}
