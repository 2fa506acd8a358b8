import Foundation
import NavGNSS
import NavMessages

/// Recorded data beside the project; tests that need it are skipped where it is absent.
enum TestData {
    static let root: URL? = {
        let fromSources = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("shared/data")
        let candidates =
            [ProcessInfo.processInfo.environment["NAVBUS_TEST_DATA"].map { URL(fileURLWithPath: $0) }, fromSources]
        return candidates.compactMap { $0?.appendingPathComponent("gnss") }.first {
            FileManager.default.fileExists(atPath: $0.path)
        }
    }()

    static var isPresent: Bool { root != nil }

    static func bytes(_ path: String) throws -> [UInt8] {
        guard let root else { throw CocoaError(.fileNoSuchFile) }
        return [UInt8](try Data(contentsOf: root.appendingPathComponent(path)))
    }

    static func names(in folder: String, ending: String) throws -> [String] {
        guard let root else { throw CocoaError(.fileNoSuchFile) }
        return try FileManager.default.contentsOfDirectory(atPath: root.appendingPathComponent(folder).path)
            .filter { $0.hasSuffix(ending) }.sorted()
    }
}

extension GnssFix {
    /// Nanoseconds since the Unix epoch.
    var stampNs: Int64? { timestamp.map { $0.seconds * 1_000_000_000 + Int64($0.nanos) } }
}

/// An NMEA sentence with its checksum and line end.
func nmea(_ content: String) -> [UInt8] {
    let sum = content.utf8.reduce(0, ^)
    let hex = String(sum, radix: 16, uppercase: true)
    return Array("$\(content)*\(hex.count == 1 ? "0" + hex : hex)\r\n".utf8)
}

func parse(_ contents: String..., configuration: NMEAParser.Configuration = .init()) -> [GnssFix] {
    var parser = NMEAParser(configuration: configuration)
    return contents.flatMap { parser.consume(nmea($0)) } + parser.finish()
}
