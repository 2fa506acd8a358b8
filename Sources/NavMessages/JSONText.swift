/// Functions for JSON text that do not depend on a schema.
enum JSONText {
    /// Appends UTF-8 as a JSON string; control characters are escaped, including those of 8-bit terminals.
    static func quote(_ text: UnsafeRawBufferPointer, to out: inout [UInt8]) {
        out.append(UInt8(ascii: "\""))
        var index = 0
        while index < text.count {
            let byte = text[index]
            index += 1
            switch byte {
            case UInt8(ascii: "\""): out.append(contentsOf: "\\\"".utf8)
            case UInt8(ascii: "\\"): out.append(contentsOf: "\\\\".utf8)
            case 0x0a: out.append(contentsOf: "\\n".utf8)
            case 0x0d: out.append(contentsOf: "\\r".utf8)
            case 0x09: out.append(contentsOf: "\\t".utf8)
            case ..<0x20, 0x7f: escape(byte, to: &out)
            case 0xc2 where index < text.count && text[index] < 0xa0:
                escape(text[index], to: &out)
                index += 1
            default: out.append(byte)
            }
        }
        out.append(UInt8(ascii: "\""))
    }

    private static func escape(_ scalar: UInt8, to out: inout [UInt8]) {
        let digits = Array("0123456789abcdef".utf8)
        out.append(contentsOf: "\\u00".utf8)
        out.append(digits[Int(scalar >> 4)])
        out.append(digits[Int(scalar & 15)])
    }

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// Appends bytes as a JSON string in base64.
    static func base64(_ bytes: UnsafeRawBufferPointer, to out: inout [UInt8]) {
        out.append(UInt8(ascii: "\""))
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let rest = min(3, bytes.count - start)
            var group: UInt32 = 0
            for offset in 0..<3 { group = group << 8 | (offset < rest ? UInt32(bytes[start + offset]) : 0) }
            for digit in 0..<4 {
                let isPadding = digit > rest
                out.append(isPadding ? UInt8(ascii: "=") : alphabet[Int(group >> UInt32(18 - 6 * digit)) & 63])
            }
        }
        out.append(UInt8(ascii: "\""))
    }

    /// Decodes base64 of either alphabet, with or without padding; nil when it is malformed.
    static func bytes(base64 text: String) -> [UInt8]? {
        var out: [UInt8] = []
        out.reserveCapacity(text.utf8.count / 4 * 3)
        var group: UInt32 = 0
        var digits = 0
        var padding = 0
        for character in text.utf8 {
            let value: UInt8
            switch character {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = character - UInt8(ascii: "A")
            case UInt8(ascii: "a")...UInt8(ascii: "z"): value = character - UInt8(ascii: "a") + 26
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = character - UInt8(ascii: "0") + 52
            case UInt8(ascii: "+"), UInt8(ascii: "-"): value = 62
            case UInt8(ascii: "/"), UInt8(ascii: "_"): value = 63
            case UInt8(ascii: "="):
                padding += 1
                continue
            default: return nil
            }
            guard padding == 0 else { return nil }
            group = group << 6 | UInt32(value)
            digits += 1
            if digits % 4 == 0 {
                out.append(contentsOf: [16, 8, 0].map { UInt8(truncatingIfNeeded: group >> $0) })
                group = 0
            }
        }
        let rest = digits % 4
        guard padding <= 2, padding == 0 || rest + padding == 4, rest != 1 else { return nil }
        if rest == 2 { out.append(UInt8(truncatingIfNeeded: group >> 4)) }
        if rest == 3 { out.append(contentsOf: [10, 2].map { UInt8(truncatingIfNeeded: group >> $0) }) }
        return out
    }

    /// Returns the value at a path of member names and positions, such as `legs[0].distance_m`, as written in the JSON text.
    ///
    /// Nil when there is no value.
    static func value(at path: [PathStep], in json: String) -> String? {
        var scanner = JSONScanner(json)
        do throws(JSONScanner.Problem) {
            for step in path { guard try scanner.enter(step) else { return nil } }
            let range = try scanner.skipValue()
            return String(decoding: scanner.bytes[range], as: UTF8.self)
        } catch {
            return nil
        }
    }
}

/// A step into a JSON text.
enum PathStep: Sendable, Equatable {
    case member(String)
    case element(Int)
}

/// A path to a field inside a message: `position.latitude`, `legs[0].steps[2].name`.
public struct FieldPath: Sendable {
    let steps: [PathStep]

    /// Parses a path of names and positions; nil when it is malformed.
    public init?(_ text: String) {
        var steps: [PathStep] = []
        for part in text.split(separator: ".", omittingEmptySubsequences: false) {
            let pieces = part.split(separator: "[", omittingEmptySubsequences: false)
            guard let name = pieces.first, !name.isEmpty else { return nil }
            steps.append(.member(String(name)))
            for piece in pieces.dropFirst() {
                guard piece.hasSuffix("]"), let index = Int(piece.dropLast()), index >= 0 else { return nil }
                steps.append(.element(index))
            }
        }
        guard steps.count <= SchemaPool.maximumDepth else { return nil }
        self.steps = steps
    }

    /// Returns the value at the path as written in a JSON text; nil when there is none.
    public func value(in json: String) -> String? { JSONText.value(at: steps, in: json) }
}

/// A comparison of numbers as texts: integers are compared exactly, since ids exceed the 53 bits of a floating-point number.
package enum NumberComparison {
    /// Returns whether a comparison holds; nil when one of the texts is not a number.
    ///
    /// - Parameters:
    ///   - comparison: one of `=`, `!=`, `<`, `<=`, `>` and `>=`.
    ///   - tolerance: the greatest difference of numbers that count as equal.
    package static func holds(_ left: String, _ comparison: String, _ right: String, tolerance: Double = 0) -> Bool? {
        if tolerance == 0, let left = Int128(left), let right = Int128(right) { return holds(left, comparison, right) }
        guard let left = Double(left), let right = Double(right) else { return nil }
        switch comparison {
        case "=" where tolerance > 0: return abs(left - right) <= tolerance
        case "!=" where tolerance > 0: return abs(left - right) > tolerance
        default: return holds(left, comparison, right)
        }
    }

    private static func holds<Number: Comparable>(_ left: Number, _ comparison: String, _ right: Number) -> Bool {
        switch comparison {
        case "=": left == right
        case "!=": left != right
        case "<": left < right
        case "<=": left <= right
        case ">": left > right
        default: left >= right
        }
    }
}
