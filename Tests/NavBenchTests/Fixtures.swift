import NavTestKit

/// What the suites are run on.
enum Fixtures {
    /// Central Helsinki, an extract of OpenStreetMap.
    static let helsinki = TestData.fixture("helsinki.osm.pbf")
}
