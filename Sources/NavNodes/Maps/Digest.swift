internal import CCrypto

/// SHA-256 by libcrypto.
enum Digest {
    /// The SHA-256 of bytes, lower-case hexadecimal; empty when the library refuses.
    static func sha256(_ bytes: UnsafeRawBufferPointer) -> String {
        var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var length: UInt32 = 0
        guard EVP_Digest(bytes.baseAddress, bytes.count, &digest, &length, EVP_sha256(), nil) == 1 else { return "" }
        let digits = Array("0123456789abcdef".utf8)
        let text = digest.prefix(Int(length)).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        return String(decoding: text, as: UTF8.self)
    }
}
