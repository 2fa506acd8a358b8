import NavTestSystem
import Testing

/// The formats of `navbus route` on a drawn map with a quay, a ferry, and a signposted toll road on an island.
struct RouteFormatTests {
    private static let map = """
        <osm version="0.6">
        <node id="1" lat="60.0" lon="25.00"/><node id="2" lat="60.0" lon="25.01"/>
        <node id="3" lat="60.0" lon="25.05"/><node id="4" lat="60.0" lon="25.08"/><node id="5" lat="60.0" lon="25.10"/>
        <way id="1"><nd ref="1"/><nd ref="2"/><tag k="highway" v="primary"/><tag k="name" v="Quay"/><tag k="ref" v="A 1;E 18"/></way>
        <way id="2"><nd ref="2"/><nd ref="3"/><tag k="route" v="ferry"/><tag k="motor_vehicle" v="yes"/><tag k="name" v="Sea Line"/></way>
        <way id="3"><nd ref="3"/><nd ref="4"/><tag k="highway" v="primary"/><tag k="name" v="Island Road"/><tag k="oneway" v="yes"/>
        <tag k="destination" v="Turku"/><tag k="destination:ref" v="A 8"/></way>
        <way id="4"><nd ref="4"/><nd ref="5"/><tag k="highway" v="primary"/><tag k="name" v="Island Road"/><tag k="toll" v="yes"/></way>
        </osm>
        """

    @Test func osrmHasModesNumbersAndSignsAndTheOthersHaveNotices() async throws {
        try await withSandbox { box in
            let file = try box.write("island.osm", Self.map)
            try await box.succeed("navbus", ["map", "build", file, "--out", "island"])
            func route(_ more: String...) async throws -> [String: Any] {
                let call = ["route", "--tiles", "island", "--from", "60.0,25.001", "--to", "60.0,25.099"] + more
                return try #require(try json(try await box.succeed("navbus", call).output) as? [String: Any])
            }
            let osrm = try await route("--format", "osrm", "--language", "de")
            let leg = try #require(((osrm["routes"] as? [[String: Any]])?.first?["legs"] as? [[String: Any]])?.first)
            let steps = try #require(leg["steps"] as? [[String: Any]])
            #expect(steps.compactMap { $0["mode"] as? String } == ["driving", "ferry", "driving", "driving"])
            #expect(steps.first?["ref"] as? String == "A 1; E 18")
            #expect(steps[2]["destinations"] as? String == "A 8: Turku")
            #expect(steps[0]["destinations"] == nil && steps[2]["ref"] == nil && steps[2]["exits"] == nil)
            let boarding = steps[1]["maneuver"] as? [String: Any]
            #expect(boarding?["type"] as? String == "notification")
            #expect(boarding?["instruction"] as? String == "Die Fähre Sea Line nehmen")
            let own = try await route()
            let notices = (own["legs"] as? [[String: Any]])?.first?["notices"] as? [[String: Any]]
            #expect(notices?.compactMap { $0["kind"] as? String } == ["toll road"])
            #expect(notices?.first?["instruction"] as? String == "Start of the toll road")
            let drawn = try await route("--format", "geojson")["features"] as? [[String: Any]]
            let last = drawn?.last?["properties"] as? [String: Any]
            #expect(last?["instruction"] as? String == "Start of the toll road")
        }
    }
}
