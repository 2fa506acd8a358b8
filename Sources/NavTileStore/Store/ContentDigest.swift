internal import CCrypto

/// SHA-256 of what is stored.
package enum ContentDigest {
    /// SHA-256 of bytes.
    package static func sha256(_ bytes: [UInt8]) -> ContentHash { bytes.withUnsafeBytes { sha256($0) } }

    /// SHA-256 of bytes.
    package static func sha256(_ bytes: UnsafeRawBufferPointer) -> ContentHash {
        var digest = [UInt8](repeating: 0, count: 32)
        var length: UInt32 = 0
        EVP_Digest(bytes.baseAddress, bytes.count, &digest, &length, EVP_sha256(), nil)
        return ContentHash(digest: digest)
    }
}

extension ContentHash {
    /// A hash from what is known to be 32 bytes.
    init(digest: [UInt8]) { bytes = digest }

    /// The hash of a file's place below `objects`; nil when nothing of the store's has that name.
    package init?(folder: String, file: String) {
        guard folder.utf8.count == 2, folder.lowercased() == folder, file.lowercased() == file else { return nil }
        self.init(hexadecimal: folder + file)
    }
}
