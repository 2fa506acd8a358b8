internal import CCrypto

/// An incremental SHA-256 hasher.
package final class ContentHasher {
    private let context: OpaquePointer?
    private var isSound: Bool

    package init() {
        context = EVP_MD_CTX_new()
        isSound = context != nil && EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1
    }

    deinit { EVP_MD_CTX_free(context) }

    package func update(_ bytes: UnsafeRawBufferPointer) {
        guard isSound, let base = bytes.baseAddress, !bytes.isEmpty else { return }
        isSound = EVP_DigestUpdate(context, base, bytes.count) == 1
    }

    /// Returns the hash of all bytes so far; nil when libcrypto failed.
    package func finish() -> ContentHash? {
        var digest = [UInt8](repeating: 0, count: 32)
        guard isSound, EVP_DigestFinal_ex(context, &digest, nil) == 1 else { return nil }
        isSound = false
        return ContentHash(bytes: digest)
    }
}
