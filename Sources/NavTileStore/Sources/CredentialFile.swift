import Glibc
package import NavTileCache
import Synchronization

/// The content of a credential file, reread when the file changes.
package final class CredentialFile: Sendable {
    private struct Known: Sendable {
        var state: FileStamp
        var value: String
    }

    package let credential: TileCredential
    private let note: @Sendable (String) -> Void
    private let known = Mutex<Known?>(nil)

    /// The maximum length of the content, bytes.
    package static let longest = 4_096

    package init(_ credential: TileCredential, note: @escaping @Sendable (String) -> Void) throws(TileSourceError) {
        let name = credential.header.utf8
        let isToken = { (byte: UInt8) in
            byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_") || (0x30...0x39).contains(byte)
                || (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte)
        }
        let reserved = ["host", "content-length", "transfer-encoding", "connection", "range", "accept-encoding"]
        guard (1...128).contains(name.count), name.allSatisfy(isToken),
            !reserved.contains(credential.header.lowercased()),
            credential.prefix.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7f })
        else {
            throw TileSourceError(.configuration, "'\(credential.header)' is not a valid header for a credential")
        }
        self.credential = credential
        self.note = note
    }

    package func value() throws(TileSourceError) -> String {
        let path = credential.file
        guard let stamp = FileStamp(path) else {
            throw TileSourceError(
                .configuration, "cannot read the credential file '\(path)'; check that it exists and is readable")
        }
        if let known = known.withLock({ $0 }), known.state == stamp { return known.value }
        let bytes = try LocalFile.read(path, limit: Int64(Self.longest)).bytes
        let isSpace = { (byte: UInt8) in byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 }
        let line = Array(bytes.drop(while: isSpace).reversed().drop(while: isSpace).reversed())
        guard !line.isEmpty, line.allSatisfy({ $0 >= 0x20 && $0 < 0x7f }) else {
            throw TileSourceError(
                .configuration, "the credential file '\(path)' must contain one line of ASCII")
        }
        if stamp.mode & 0o004 != 0 { note("the credential file '\(path)' is world-readable; run chmod 600 on it") }
        let value = credential.prefix + String(decoding: line, as: UTF8.self)
        known.withLock { $0 = Known(state: stamp, value: value) }
        return value
    }
}
