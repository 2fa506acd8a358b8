/// A framer that finds NMEA 0183 sentences in a stream of bytes that may also hold anything else.
///
/// A sentence begins with `$` or `!` and ends with CR or LF. A sentence cut short by another sentence or by a byte outside
/// printable ASCII still counts if its checksum is complete: receivers that mix NMEA with a binary protocol produce
/// these.
struct NMEAFramer: Sendable {
    /// The longest sentence in bytes: more than the standard's 82, because proprietary sentences and many decimals exceed it.
    static let limit = 512

    enum Outcome {
        case nothing, sentence
        case rejected(Rejection)
    }

    /// The sentence found last, from its `$` to before its line end.
    private(set) var sentence: [UInt8] = []
    private var next: [UInt8] = []
    private var inSentence = false
    private var inGarbage = false

    init() {
        sentence.reserveCapacity(Self.limit)
        next.reserveCapacity(Self.limit)
    }

    /// Takes one byte; `sentence` is valid until the next call if the outcome is a complete sentence.
    mutating func push(_ byte: UInt8) -> Outcome {
        let starts = byte == UInt8(ascii: "$") || byte == UInt8(ascii: "!")
        let ends = byte == .newline || byte == .carriageReturn
        if inSentence, !starts, !ends, (0x20...0x7e).contains(byte) {
            guard next.count < Self.limit else {
                inSentence = false
                inGarbage = true
                return .rejected(.tooLong)
            }
            next.append(byte)
            return .nothing
        }
        var outcome = Outcome.nothing
        if inSentence {
            if ends || Self.hasChecksum(next) {
                swap(&sentence, &next)
                outcome = .sentence
            } else {
                outcome = .rejected(.truncated)
            }
            inSentence = false
            inGarbage = !ends && !starts
        } else if ends {
            inGarbage = false
        } else if !starts, !inGarbage, byte != 0x20 {
            inGarbage = true
            outcome = .rejected(.garbage)
        }
        if starts {
            inSentence = true
            inGarbage = false
            next.removeAll(keepingCapacity: true)
            next.append(byte)
        }
        return outcome
    }

    /// Ends the input: the last sentence may lack its line end.
    mutating func finish() -> Outcome { push(.newline) }

    private static func hasChecksum(_ bytes: [UInt8]) -> Bool {
        bytes.count > 3 && bytes[bytes.count - 3] == UInt8(ascii: "*")
            && bytes[bytes.count - 1].hexDigit != nil && bytes[bytes.count - 2].hexDigit != nil
    }
}

/// The fields of a sentence with a valid frame and checksum.
struct NMEASentence {
    /// The most fields of a sentence that are kept.
    static let fieldLimit = 64

    /// Two letters of the talker.
    let talker: UInt16
    /// Three letters of the sentence's kind.
    let formatter: UInt32
    private let bytes: Bytes
    private let fields: [Range<Int>]

    /// Reads a sentence from `$` to its end.
    ///
    /// - Throws: the reason why the sentence cannot be used.
    init(_ sentence: [UInt8]) throws(Refusal) {
        var text = sentence[...]
        while text.last == 0x20 { text.removeLast() }
        guard text.count > 1, let first = text.first else { throw Refusal(reason: .truncated) }
        guard let star = text.lastIndex(of: UInt8(ascii: "*")) else { throw Refusal(reason: .missingChecksum) }
        guard text.endIndex - star == 3, let high = text[star + 1].hexDigit, let low = text[star + 2].hexDigit else {
            throw Refusal(reason: .truncated)
        }
        text = text[(text.startIndex + 1)..<star]
        guard text.reduce(0, ^) == high << 4 | low else { throw Refusal(reason: .checksum) }
        guard first == UInt8(ascii: "$") else { throw Refusal(reason: .encapsulated) }
        guard text.first != UInt8(ascii: "P") else { throw Refusal(reason: .proprietary) }
        let address = text.prefix { $0 != .comma }
        guard address.count == 5, address.allSatisfy({ (0x41...0x5a).contains($0) || $0.decimalDigit != nil }) else {
            throw Refusal(reason: .unusedKind)
        }
        guard address.last != UInt8(ascii: "Q") else { throw Refusal(reason: .query) }
        let a = address.startIndex
        talker = UInt16(address[a]) << 8 | UInt16(address[a + 1])
        formatter = UInt32(address[a + 2]) << 16 | UInt32(address[a + 3]) << 8 | UInt32(address[a + 4])
        var ranges: [Range<Int>] = []
        ranges.reserveCapacity(24)
        var start = address.endIndex
        while start < text.endIndex, ranges.count < Self.fieldLimit {
            let end = text[(start + 1)...].firstIndex(of: .comma) ?? text.endIndex
            ranges.append(start + 1..<end)
            start = end
        }
        bytes = text
        fields = ranges
    }

    /// Returns a field by its number in the standard, from 1; empty when absent.
    subscript(field: Int) -> Bytes {
        guard field >= 1, field <= fields.count else { return [] }
        return bytes[fields[field - 1]]
    }
}

struct Refusal: Error {
    let reason: Rejection
}
