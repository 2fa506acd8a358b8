import Foundation

/// What the suites are run on.
enum Fixtures {
    /// The folder of all tests.
    static let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().path
    /// Central Helsinki, an extract of OpenStreetMap.
    static let helsinki = tests + "/Fixtures/helsinki.osm.pbf"
}
