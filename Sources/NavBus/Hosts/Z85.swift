/// ZeroMQ's text form of binary keys (RFC 32/Z85): five printable characters for four bytes.
enum Z85 {
    private static let alphabet = Array(
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#".utf8)

    /// Encodes bytes whose count is a multiple of four.
    static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        for start in stride(from: 0, to: bytes.count - bytes.count % 4, by: 4) {
            var value = bytes[start..<start + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            var digits = [UInt8](repeating: 0, count: 5)
            for position in (0..<5).reversed() {
                digits[position] = alphabet[Int(value % 85)]
                value /= 85
            }
            text += digits
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Decodes a text; nil when it is not Z85.
    static func decode(_ text: some StringProtocol) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count.isMultiple(of: 5) else { return nil }
        var bytes: [UInt8] = []
        for start in stride(from: 0, to: digits.count, by: 5) {
            var value: UInt64 = 0
            for digit in digits[start..<start + 5] {
                guard let index = alphabet.firstIndex(of: digit) else { return nil }
                value = value * 85 + UInt64(index)
            }
            guard let word = UInt32(exactly: value) else { return nil }
            for shift in [24, 16, 8, 0] as [UInt32] { bytes.append(UInt8(truncatingIfNeeded: word >> shift)) }
        }
        return bytes
    }
}
