internal import Glibc

/// Reads OpenStreetMap files of either kind.
public enum OSMReader {
    /// The road data of an .osm.pbf or .osm (XML) file; which it is, its first bytes say.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - jobs: How many threads read at once; the result does not depend on it. XML is read by one.
    ///   - progress: Hears of the two reading phases.
    /// - Throws: When the file cannot be read, is cut short, damaged, or neither kind; the error names the place.
    public static func read(
        path: String, jobs: Int = 1, progress: @escaping BuildProgress = { _, _ in }
    ) throws(MapBuildError) -> OSMData {
        if try looksLikeXML(path) { return try OSMXMLReader.read(path: path, progress: progress) }
        return try OSMPBFReader.read(path: path, jobs: jobs, progress: progress)
    }

    /// A PBF file begins with the length of a header, whose first byte is 0; XML with `<`, maybe after a byte-order
    /// mark and white space.
    private static func looksLikeXML(_ path: String) throws(MapBuildError) -> Bool {
        let file = try PBFFile(path: path)
        let start = try file.start(64)
        let text = start.starts(with: [0xEF, 0xBB, 0xBF]) ? start.dropFirst(3) : start[...]
        return text.first { $0 != 32 && $0 != 9 && $0 != 10 && $0 != 13 } == UInt8(ascii: "<")
    }
}
