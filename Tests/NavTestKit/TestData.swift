internal import Foundation
package import Testing

/// The locations of test data.
package enum TestData {
    /// The project's directory.
    package static let project: String = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().path

    /// The shared data: `NAVBUS_TEST_DATA`, otherwise `../shared/data` relative to the project. Tests that need it are skipped without
    /// it.
    package static let directory: String =
        ProcessInfo.processInfo.environment["NAVBUS_TEST_DATA"]
        ?? URL(fileURLWithPath: project).deletingLastPathComponent().appendingPathComponent("shared/data").path

    /// Returns the path of a committed fixture.
    package static func fixture(_ name: String) -> String { "\(project)/Tests/Fixtures/\(name)" }

    /// Returns the path of an OpenStreetMap extract of the shared data.
    package static func osm(_ name: String) -> String { "\(directory)/osm/\(name).osm.pbf" }

    /// Returns the path of recorded drives of the shared data, given their path below `gnss`.
    package static func gnss(_ path: String) -> String { "\(directory)/gnss/\(path)" }

    /// Whether a file or folder of the shared data exists.
    package static func has(_ path: String) -> Bool { FileManager.default.fileExists(atPath: "\(directory)/\(path)") }
}

extension Trait where Self == ConditionTrait {
    /// Skips a test unless these files or folders of the shared data exist.
    package static func needs(_ paths: String..., sourceLocation: SourceLocation = #_sourceLocation) -> Self {
        let missing = paths.filter { !TestData.has($0) }.joined(separator: ", ")
        return .enabled(
            if: missing.isEmpty, "needs \(missing) of the shared data: set NAVBUS_TEST_DATA",
            sourceLocation: sourceLocation)
    }
}
