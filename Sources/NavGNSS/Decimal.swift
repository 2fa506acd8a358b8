// Parsers of numbers in ASCII: independent of the locale, exact for times, and without traps.

typealias Bytes = ArraySlice<UInt8>

package enum Decimal {
    /// Parses a decimal number `[+-]digits[.digits][e[+-]digits]` as the nearest double; `nil` for anything else, and for
    /// a number beyond the range of finite doubles.
    package static func double(_ text: ArraySlice<UInt8>) -> Double? {
        if let value = short(text) { return value }
        // `Double` also accepts hexadecimal numbers, infinities and NaN.
        let isDecimal = text.allSatisfy { byte in
            byte.decimalDigit != nil || byte == .point || byte == .plus || byte == .minus
                || byte | 0x20 == UInt8(ascii: "e")
        }
        guard isDecimal, let value = Double(String(decoding: text, as: UTF8.self)), value.isFinite else { return nil }
        return value
    }

    private static let powersOfTen: [Double] = (0...15).map { exponent in
        (0..<exponent).reduce(1) { power, _ in power * 10 }
    }

    /// Parses `[-]digits[.digits]` with at most 15 digits; `nil` for other numbers.
    ///
    /// The digits and the power of ten are exact as doubles, so that their quotient is the nearest double (W. Clinger, *How to Read
    /// Floating Point Numbers Accurately*, 1990).
    private static func short(_ text: ArraySlice<UInt8>) -> Double? {
        let isNegative = text.first == .minus
        var digits = 0
        var point: Int?
        var value: Int64 = 0
        for byte in isNegative ? text.dropFirst() : text {
            if byte == .point, point == nil, digits > 0 {
                point = digits
                continue
            }
            guard digits < 15, let digit = byte.decimalDigit else { return nil }
            value = value * 10 + Int64(digit)
            digits += 1
        }
        guard digits > 0, point != digits else { return nil }
        let magnitude = Double(value) / powersOfTen[digits - (point ?? digits)]
        return isNegative ? -magnitude : magnitude
    }

    /// Parses a decimal number of seconds as nanoseconds, exactly; digits past the ninth decimal are truncated.
    ///
    /// `nil` for anything but `[+-]digits[.digits]`, and when Int64 overflows (about 292 years).
    package static func nanoseconds(_ text: ArraySlice<UInt8>) -> Int64? {
        var at = text.startIndex
        let end = text.endIndex
        var negative = false
        if at < end, text[at] == .plus || text[at] == .minus {
            negative = text[at] == .minus
            at += 1
        }
        var value: Int64 = 0
        var decimals = 0
        var digits = 0
        var seenPoint = false
        while at < end {
            let byte = text[at]
            at += 1
            if byte == .point, !seenPoint {
                seenPoint = true
                continue
            }
            guard let digit = byte.decimalDigit else { return nil }
            digits += 1
            if seenPoint {
                if decimals == 9 { continue }
                decimals += 1
            }
            guard let next = appending(digit, to: value) else { return nil }
            value = next
        }
        guard digits > 0 else { return nil }
        while decimals < 9 {
            guard let next = appending(0, to: value) else { return nil }
            value = next
            decimals += 1
        }
        return negative ? -value : value
    }

    /// Parses a natural number of one to nine digits.
    package static func natural(_ text: ArraySlice<UInt8>) -> Int? {
        guard (1...9).contains(text.count) else { return nil }
        var value = 0
        for byte in text {
            guard let digit = byte.decimalDigit else { return nil }
            value = value * 10 + Int(digit)
        }
        return value
    }

    private static func appending(_ digit: UInt8, to value: Int64) -> Int64? {
        let (tenfold, overflow) = value.multipliedReportingOverflow(by: 10)
        let (sum, carry) = tenfold.addingReportingOverflow(Int64(digit))
        return overflow || carry ? nil : sum
    }
}

extension UInt8 {
    static let plus = UInt8(ascii: "+")
    static let minus = UInt8(ascii: "-")
    static let point = UInt8(ascii: ".")
    static let comma = UInt8(ascii: ",")
    static let quote = UInt8(ascii: "\"")
    static let newline = UInt8(ascii: "\n")
    static let carriageReturn = UInt8(ascii: "\r")

    var decimalDigit: UInt8? { (0x30...0x39).contains(self) ? self - 0x30 : nil }

    var hexDigit: UInt8? {
        switch self {
        case 0x30...0x39: self - 0x30
        case 0x41...0x46: self - 0x37
        case 0x61...0x66: self - 0x57
        default: nil
        }
    }

    var isSpace: Bool { self == 0x20 || (0x09...0x0d).contains(self) }
}

extension ArraySlice<UInt8> {
    var trimmed: Bytes {
        var slice = self
        while let first = slice.first, first.isSpace { slice.removeFirst() }
        while let last = slice.last, last.isSpace { slice.removeLast() }
        return slice
    }
}

/// Returns an angle in degrees as radians in [0, 2 pi); `nil` outside -360 to 360 degrees.
func bearingRadians(degrees: Double) -> Double? {
    guard (-360...360).contains(degrees) else { return nil }
    let turned = degrees < 0 ? degrees + 360 : degrees
    return turned >= 360 ? 0 : turned * .pi / 180
}
