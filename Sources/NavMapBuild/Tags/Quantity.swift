/// A parser of OSM values that are numbers with units.
package enum Quantity {
    /// Parses a length in metres: `3.5`, `3.5 m`, `350 cm`, `11 ft`, `11'6"`; nil for anything else (`default`, `none`).
    ///
    /// After the OSM wiki, "Map features/Units": metres by default, feet and inches with ' and ".
    package static func metres(_ text: UnsafeRawBufferPointer) -> Float? {
        var scanner = Scanner(text)
        guard let value = scanner.number() else { return nil }
        scanner.skipSpaces()
        let result: Float
        switch scanner.rest {
        case "", "m", "meter", "metre", "meters", "metres": result = value
        case "cm": result = value / 100
        case "km": result = value * 1000
        case "ft", "feet", "'": result = value * 0.3048
        case "in", "\"": result = value * 0.0254
        default:
            guard scanner.skip("'"), let inches = scanner.number(), scanner.rest == "\"" || scanner.rest == "" else {
                return nil
            }
            result = value * 0.3048 + inches * 0.0254
        }
        return result > 0 && result < 1_000_000 ? result : nil
    }

    /// Parses a weight in tonnes: `7.5`, `7.5 t`, `7500 kg`, `8 st` (short tons), `16000 lbs`; nil for anything else.
    package static func tonnes(_ text: UnsafeRawBufferPointer) -> Float? {
        var scanner = Scanner(text)
        guard let value = scanner.number() else { return nil }
        scanner.skipSpaces()
        let result: Float
        switch scanner.rest {
        case "", "t": result = value
        case "kg": result = value / 1000
        case "st": result = value * 0.907_184_74
        case "lt": result = value * 1.016_046_9
        case "lb", "lbs": result = value * 0.000_453_592_37
        default: return nil
        }
        return result > 0 && result < 10_000 ? result : nil
    }

    /// Parses a speed in km/h: `50`, `30 mph`, `10 knots`; nil for anything else and for speeds above 250 km/h.
    package static func kilometresPerHour(_ text: UnsafeRawBufferPointer) -> Float? {
        var scanner = Scanner(text)
        guard let value = scanner.number() else { return nil }
        scanner.skipSpaces()
        let result: Float
        switch scanner.rest {
        case "", "km/h", "kmh", "kph", "kmph": result = value
        case "mph": result = value * 1.609_344
        case "knots", "kn": result = value * 1.852
        default: return nil
        }
        return result >= 1 && result <= 250 ? result : nil
    }

    /// Parses a duration in seconds: `20` (minutes), `1:30` (hours), `1:30:00`, `PT1H30M`; nil for anything else and beyond
    /// 10 days.
    ///
    /// After the OSM wiki, "Key:duration".
    package static func seconds(_ text: UnsafeRawBufferPointer) -> Float? {
        var scanner = Scanner(text)
        let result: Float
        if scanner.skip("P") {
            var sum: Float = 0
            var isTime = false
            while !scanner.isAtEnd {
                if scanner.skip("T") {
                    isTime = true
                    continue
                }
                guard let value = scanner.number() else { return nil }
                if scanner.skip("D") {
                    sum += value * 86_400
                } else if scanner.skip("H"), isTime {
                    sum += value * 3600
                } else if scanner.skip("M"), isTime {
                    sum += value * 60
                } else if scanner.skip("S"), isTime {
                    sum += value
                } else {
                    return nil
                }
            }
            result = sum
        } else {
            guard let first = scanner.number() else { return nil }
            if scanner.isAtEnd {
                result = first * 60
            } else {
                guard scanner.skip(":"), let minutes = scanner.number(), minutes < 60 else { return nil }
                var sum = first * 3600 + minutes * 60
                if !scanner.isAtEnd {
                    guard scanner.skip(":"), let seconds = scanner.number(), seconds < 60, scanner.isAtEnd else {
                        return nil
                    }
                    sum += seconds
                }
                result = sum
            }
        }
        return result > 0 && result <= 864_000 ? result : nil
    }

    /// Parses a count of lanes, 1 to 30: `2`, also `1.5` and `2;3` (the smaller); nil for anything else.
    package static func lanes(_ text: UnsafeRawBufferPointer) -> UInt8? {
        var scanner = Scanner(text)
        var result: UInt8?
        repeat {
            scanner.skipSpaces()
            guard let value = scanner.number(), value >= 1, value <= 30 else { return nil }
            result = min(result ?? .max, UInt8(value))
        } while scanner.skip(";")
        return scanner.isAtEnd ? result : nil
    }

    /// A scanner of ASCII text.
    package struct Scanner {
        private let text: UnsafeRawBufferPointer
        private var position = 0

        package init(_ text: UnsafeRawBufferPointer) { self.text = text }

        package var isAtEnd: Bool { position >= text.count }

        /// The remaining text in lower case, trimmed of spaces.
        package var rest: String {
            var end = text.count
            while end > position && text[end - 1] == 32 { end -= 1 }
            return String(decoding: text[position..<end], as: UTF8.self).lowercased()
        }

        package mutating func skipSpaces() {
            while position < text.count && text[position] == 32 { position += 1 }
        }

        /// Skips a character if it is next.
        package mutating func skip(_ character: Unicode.Scalar) -> Bool {
            guard position < text.count, UInt32(text[position]) == character.value else { return false }
            position += 1
            return true
        }

        /// Reads a decimal number with up to nine digits before its point, skipping leading spaces.
        package mutating func number() -> Float? {
            skipSpaces()
            let start = position
            var value = 0.0
            while position < text.count, let digit = digit(position), position - start < 9 {
                value = value * 10 + digit
                position += 1
            }
            guard position > start else { return nil }
            if position + 1 < text.count, text[position] == 0x2E || text[position] == 0x2C, digit(position + 1) != nil {
                position += 1
                var scale = 0.1
                while position < text.count, let digit = digit(position) {
                    value += digit * scale
                    scale /= 10
                    position += 1
                }
            }
            return Float(value)
        }

        private func digit(_ at: Int) -> Double? {
            let byte = text[at]
            return byte >= 0x30 && byte <= 0x39 ? Double(byte - 0x30) : nil
        }
    }
}
