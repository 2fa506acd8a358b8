internal import Glibc

/// A reader of OpenStreetMap files in PBF or XML.
package enum OSMReader {
    /// Reads the road data of an .osm.pbf or .osm (XML) file; the first bytes indicate the format.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - jobs: The number of threads that read at once; the result does not depend on it. XML is read by one thread.
    ///   - progress: Receives the progress of the two reading phases.
    /// - Throws: ``MapBuildError`` when the file cannot be read, is truncated, damaged, or in neither format; the error states where.
    package static func read(
        path: String, jobs: Int = 1, progress: @escaping BuildProgress = { _, _ in }
    ) throws(MapBuildError) -> OSMData {
        if try looksLikeXML(path) { return try OSMXMLReader.read(path: path, progress: progress) }
        return try OSMPBFReader.read(path: path, jobs: jobs, progress: progress)
    }

    /// Whether a file begins like XML: with `<`, optionally after a byte-order mark and white space.
    ///
    /// A PBF file begins with the length of a header, whose first byte is 0.
    private static func looksLikeXML(_ path: String) throws(MapBuildError) -> Bool {
        let file = try PBFFile(path: path)
        let start = try file.part(at: 0, 64)
        let text = start.starts(with: [0xEF, 0xBB, 0xBF]) ? start.dropFirst(3) : start[...]
        return text.first { $0 != 32 && $0 != 9 && $0 != 10 && $0 != 13 } == UInt8(ascii: "<")
    }
}
