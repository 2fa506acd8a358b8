internal import CCrypto

/// A SHA-256 content hash.
package struct ContentHash: Sendable, Hashable {
    /// The error message for a hash that could not be computed.
    package static let refusal =
        "libcrypto cannot compute SHA-256 hashes; check the free memory and what OPENSSL_CONF allows"

    /// The 32 bytes.
    package let bytes: [UInt8]

    /// Creates a hash from its 32 bytes; nil for any other number of bytes.
    package init?(bytes: [UInt8]) {
        guard bytes.count == 32 else { return nil }
        self.bytes = bytes
    }

    /// Creates a hash from 64 hexadecimal digits; nil for any other text.
    package init?(hexadecimal text: String) {
        let digits = Array(text.utf8)
        guard digits.count == 64 else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: 64, by: 2) {
            guard let high = ContentHash.value(digits[index]), let low = ContentHash.value(digits[index + 1]) else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        self.bytes = bytes
    }

    /// Creates the hash of some bytes; nil when libcrypto fails, for example for lack of memory.
    package init?(of data: UnsafeRawBufferPointer) {
        var digest = [UInt8](repeating: 0, count: 32)
        guard EVP_Digest(data.baseAddress, data.count, &digest, nil, EVP_sha256(), nil) == 1 else { return nil }
        bytes = digest
    }

    /// Creates the hash of some bytes; nil when libcrypto fails.
    package init?(of data: [UInt8]) {
        guard let hash = data.withUnsafeBytes({ ContentHash(of: $0) }) else { return nil }
        self = hash
    }

    /// The 64 lower-case hexadecimal digits.
    package var hexadecimal: String { ContentHash.hexadecimal(bytes) }

    /// Returns two lower-case hexadecimal digits for each byte.
    package static func hexadecimal(_ bytes: [UInt8]) -> String {
        String(unsafeUninitializedCapacity: 2 * bytes.count) { text in
            for (index, byte) in bytes.enumerated() {
                text[2 * index] = digit(byte >> 4)
                text[2 * index + 1] = digit(byte & 15)
            }
            return 2 * bytes.count
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
