import NavTestKit

/// The input files of the suites.
enum Fixtures {
    /// Central Helsinki, an extract of OpenStreetMap.
    static let helsinki = TestData.fixture("helsinki.osm.pbf")
}
