import Foundation
import NavGNSS
import NavMessages
import NavTestKit

extension TestData {
    /// Returns the bytes of a recording, by its path below `gnss`.
    static func recording(_ path: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(fileURLWithPath: gnss(path))))
    }

    /// Returns the names of a folder's recordings with this suffix.
    static func names(in folder: String, ending: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: gnss(folder)).filter { $0.hasSuffix(ending) }.sorted()
    }
}

extension GnssFix {
    /// Returns nanoseconds since the Unix epoch.
    var stampNs: Int64? { timestamp.map { $0.seconds * 1_000_000_000 + Int64($0.nanos) } }
}

/// Returns an NMEA sentence with its checksum and line end.
func nmea(_ content: String) -> [UInt8] {
    let sum = content.utf8.reduce(0, ^)
    let hex = String(sum, radix: 16, uppercase: true)
    return Array("$\(content)*\(hex.count == 1 ? "0" + hex : hex)\r\n".utf8)
}

func parse(_ contents: String...) -> [GnssFix] {
    var parser = NMEAParser()
    return contents.flatMap { parser.consume(nmea($0)) } + parser.finish()
}
