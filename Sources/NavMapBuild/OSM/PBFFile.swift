internal import CZlib
internal import Glibc

/// An open .osm.pbf file: its blocks by offset and type, and their inflated bytes.
///
/// Blocks are read with `pread` rather than mapped: a file that is truncated during reading then causes an error instead of a signal, and
/// read pages do not count as resident memory.
package final class PBFFile: Sendable {
    /// A block of the file.
    package struct Blob: Sendable {
        /// The offset of the block's message in the file, in bytes.
        let offset: Int
        /// The message's length in bytes.
        let length: Int
    }

    package struct Header: Sendable {
        /// The features that a reader must support.
        var required: [String] = []
        /// The replication time stamp, seconds since 1970 UTC.
        var timestamp: Int64?
    }

    // The limits of the format: osm-wiki PBF_Format, "File format".
    static let largestHeader = 64 << 10
    static let largestBlob = 32 << 20

    let path: String
    private let descriptor: Int32
    private let size: Int

    package init(path: String) throws(MapBuildError) {
        self.path = path
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw MapBuildError(
                .unreadable, path: path, reason: "cannot be opened: \(String(cString: strerror(errno)))",
                advice: "Check the path and its permissions")
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            size = 0
            throw MapBuildError(
                .unreadable, path: path, reason: "is not a regular file", advice: "Name an .osm.pbf file")
        }
        size = Int(status.st_size)
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Reads the header block and lists the data blocks.
    package func scan() throws(MapBuildError) -> (header: Header, blobs: [Blob]) {
        guard size > 0 else { throw notOSM("is empty") }
        var header: Header?
        var blobs: [Blob] = []
        var offset = 0
        while offset < size {
            let start = offset
            let prefix = try read(at: offset, count: 4, of: start)
            let length = prefix.reduce(0) { $0 << 8 | Int($1) }
            guard length > 0 && length <= PBFFile.largestHeader else {
                if header == nil { throw notOSM("does not start like an OSM PBF file") }
                throw malformed("a block header claims \(length) bytes", at: start)
            }
            if header == nil && offset + 4 + length > size {
                throw notOSM("does not start like an OSM PBF file")
            }
            let (type, dataSize) = try blobHeader(at: offset + 4, length: length, start: start, isFirst: header == nil)
            guard dataSize <= UInt64(PBFFile.largestBlob) else {
                throw MapBuildError(
                    .blobTooLarge, path: path, offset: start,
                    reason: "a block claims \(dataSize) bytes, the format allows \(PBFFile.largestBlob)",
                    advice: "The file is damaged or not an OSM PBF file: download it again")
            }
            offset += 4 + length
            guard Int(dataSize) <= size - offset else { throw truncated(start) }
            let blob = Blob(offset: offset, length: Int(dataSize))
            offset += blob.length
            if header == nil {
                guard type == "OSMHeader" else { throw notOSM("does not start with an OSM header") }
                header = try readHeader(blob)
            } else if type == "OSMData" {
                blobs.append(blob)
            }
        }
        guard let header else { throw notOSM("has no header") }
        return (header, blobs)
    }

    /// Returns the inflated bytes of a block.
    package func contents(_ blob: Blob) throws(MapBuildError) -> ContiguousArray<UInt8> {
        let message = try read(at: blob.offset, count: blob.length, of: blob.offset)
        return try message.withBytes { bytes throws(MapBuildError) in
            var raw: UnsafeRawBufferPointer?
            var packed: UnsafeRawBufferPointer?
            var rawSize: UInt64 = 0
            var other: String?
            do throws(WireError) {
                var reader = WireReader(bytes)
                while let field = try reader.field() {
                    switch (field.number, field.type) {
                    case (1, 2): raw = try reader.delimited()
                    case (2, 0): rawSize = try reader.number()
                    case (3, 2): packed = try reader.delimited()
                    case (4...7, 2):
                        other = ["lzma", "bzip2", "lz4", "zstd"][Int(field.number) - 4]
                        try reader.skip(field)
                    default: try reader.skip(field)
                    }
                }
            } catch {
                throw malformed(error.text, at: blob.offset)
            }
            if let raw { return ContiguousArray(raw) }
            guard let packed else {
                throw MapBuildError(
                    .unsupported, path: path, offset: blob.offset,
                    reason: "a block is compressed with \(other ?? "an unknown method")",
                    advice: "Convert it with: osmium cat -o OUT.osm.pbf \(path)")
            }
            return try inflate(packed, size: rawSize, at: blob.offset)
        }
    }

    private func inflate(
        _ packed: UnsafeRawBufferPointer, size: UInt64, at offset: Int
    ) throws(MapBuildError) -> ContiguousArray<UInt8> {
        guard size <= UInt64(PBFFile.largestBlob) else {
            throw MapBuildError(
                .blobTooLarge, path: path, offset: offset,
                reason: "a block inflates to \(size) bytes, the format allows \(PBFFile.largestBlob)",
                advice: "The file is damaged or not an OSM PBF file: download it again")
        }
        var status: Int32 = Z_DATA_ERROR
        let bytes = ContiguousArray<UInt8>(unsafeUninitializedCapacity: Int(size)) { buffer, count in
            guard let target = buffer.baseAddress, let source = packed.bindMemory(to: UInt8.self).baseAddress else {
                return
            }
            var length = uLongf(size)
            status = uncompress(target, &length, source, uLong(packed.count))
            count = status == Z_OK ? Int(length) : 0
        }
        if size == 0 { return [] }
        guard status == Z_OK && bytes.count == Int(size) else {
            throw malformed("a block cannot be inflated", at: offset)
        }
        return bytes
    }

    private func blobHeader(
        at offset: Int, length: Int, start: Int, isFirst: Bool
    ) throws(MapBuildError) -> (type: String, dataSize: UInt64) {
        let bytes = try read(at: offset, count: length, of: start)
        do throws(WireError) {
            return try bytes.withBytes { bytes throws(WireError) in
                var reader = WireReader(bytes)
                var type = ""
                var dataSize: UInt64?
                while let field = try reader.field() {
                    switch (field.number, field.type) {
                    case (1, 2): type = String(decoding: try reader.delimited(), as: UTF8.self)
                    case (3, 0): dataSize = try reader.number()
                    default: try reader.skip(field)
                    }
                }
                guard let dataSize else { throw .truncated }
                return (type, dataSize)
            }
        } catch {
            if isFirst { throw notOSM("does not start like an OSM PBF file") }
            throw malformed("block header: \(error.text)", at: start)
        }
    }

    private func readHeader(_ blob: Blob) throws(MapBuildError) -> Header {
        let bytes = try contents(blob)
        do throws(WireError) {
            return try bytes.withBytes { bytes throws(WireError) in
                var header = Header()
                var reader = WireReader(bytes)
                while let field = try reader.field() {
                    switch (field.number, field.type) {
                    case (4, 2): header.required.append(PBFFile.printable(try reader.delimited()))
                    case (32, 0): header.timestamp = Int64(bitPattern: try reader.number())
                    default: try reader.skip(field)
                    }
                }
                return header
            }
        } catch {
            throw malformed("file header: \(error.text)", at: blob.offset)
        }
    }

    /// Returns the bytes from `offset`, at most `count`.
    func part(at offset: Int, _ count: Int) throws(MapBuildError) -> ContiguousArray<UInt8> {
        try read(at: offset, count: min(count, max(size - offset, 0)), of: offset)
    }

    /// The file's length in bytes.
    var byteCount: Int { size }

    private func read(at offset: Int, count: Int, of start: Int) throws(MapBuildError) -> ContiguousArray<UInt8> {
        guard count <= size - offset else { throw truncated(start) }
        var failure: Int32 = 0
        let bytes = ContiguousArray<UInt8>(unsafeUninitializedCapacity: count) { buffer, filled in
            while filled < count, let base = buffer.baseAddress {
                let got = pread(descriptor, base + filled, count - filled, off_t(offset + filled))
                if got < 0 && errno == EINTR { continue }
                if got < 0 { failure = errno }
                if got <= 0 { break }
                filled += got
            }
        }
        guard failure == 0 else {
            throw MapBuildError(
                .unreadable, path: path, offset: offset,
                reason: "cannot be read: \(String(cString: strerror(failure)))", advice: "Check the disk")
        }
        guard bytes.count == count else { throw truncated(start) }
        return bytes
    }

    /// Returns text from the file for an error message: one line, limited in length, without control characters.
    private static func printable(_ bytes: UnsafeRawBufferPointer) -> String {
        String(decoding: bytes.prefix(60).map { $0 < 0x20 || $0 > 0x7E ? UInt8(ascii: "?") : $0 }, as: UTF8.self)
    }

    private func truncated(_ offset: Int) -> MapBuildError {
        MapBuildError(
            .truncated, path: path, offset: offset, reason: "ends in the middle of the block",
            advice: "The download is incomplete: fetch it again")
    }

    func malformed(_ what: String, at offset: Int) -> MapBuildError {
        MapBuildError(
            .malformed, path: path, offset: offset, reason: "is damaged: \(what)", advice: "Fetch the file again")
    }

    private func notOSM(_ what: String) -> MapBuildError {
        MapBuildError(
            .notOSM, path: path, offset: 0, reason: what,
            advice: "Name an .osm.pbf extract of OpenStreetMap, for example from an extract server")
    }
}
