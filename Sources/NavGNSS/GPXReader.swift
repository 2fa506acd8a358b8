package import NavMessages

/// A reader of the track points of a GPX 1.0 or 1.1 document (`trk/trkseg/trkpt`) in their order; waypoints and routes are
/// not a trace and are ignored.
///
/// It reads from each point: position, `time` (a point without one has no stamp), `ele` (its datum is unknown),
/// `geoidheight`, `fix`, `sat`, `hdop`, `vdop`, `pdop`, `ageofdgpsdata`, and `speed` (m/s) and `course` (degrees from true
/// north), of GPX 1.0 or of an extension of any namespace. Any encoding that contains ASCII is read, and UTF-16; document
/// types are skipped.
package struct GPXReader: Sendable {
    /// The fixes of the document, in its order.
    package let fixes: [GnssFix]
    package let rejections: RejectionCounts
    /// Whether the document has a `gpx` element.
    package let isGPX: Bool

    /// Reads a whole document; if it is truncated, only the complete points.
    package init(_ document: [UInt8]) {
        let text = Self.utf8(document)
        var reading = GPXReading()
        var scanner = XMLScanner(text[...])
        while let event = scanner.next() { reading.take(event) }
        if reading.isGPX, scanner.isUnfinished || reading.isOpen { reading.rejections.count(.unfinishedDocument) }
        fixes = reading.fixes
        rejections = reading.rejections
        isGPX = reading.isGPX
    }

    /// Returns UTF-16, with a byte-order mark or beginning with `<`, as ASCII bytes: only ASCII is significant here.
    static func utf8(_ bytes: [UInt8]) -> [UInt8] {
        let isLittle = bytes.starts(with: [0xff, 0xfe]) || bytes.starts(with: [0x3c, 0x00])
        guard isLittle || bytes.starts(with: [0xfe, 0xff]) || bytes.starts(with: [0x00, 0x3c]) else { return bytes }
        let hasMark = bytes[0] >= 0xfe
        return stride(from: hasMark ? 2 : 0, to: bytes.count - 1, by: 2).map { at in
            let (low, high) = isLittle ? (bytes[at], bytes[at + 1]) : (bytes[at + 1], bytes[at])
            return high == 0 && low < 0x80 ? low : UInt8(ascii: "?")
        }
    }
}

private struct GPXReading {
    /// The longest text of an element that is read, in bytes.
    static let textLimit = 128

    var fixes: [GnssFix] = []
    var rejections = RejectionCounts()
    var isGPX = false
    var isOpen = false
    private var point: GnssFix?
    /// The number of open elements inside the point.
    private var depth = 0
    private var name: Bytes = []
    private var text: [UInt8] = []
    private var isTextUsable = true

    mutating func take(_ event: XMLScanner.Event) {
        switch event {
        case .open(let name, let attributes): open(name, attributes)
        case .close(let name): close(name)
        case .text(let piece, let isLiteral):
            guard point != nil, depth > 0, isTextUsable else { return }
            guard text.count + piece.count <= Self.textLimit else {
                isTextUsable = false
                return
            }
            if isLiteral { text += piece } else { isTextUsable = XMLScanner.append(piece, to: &text) }
        }
    }

    private mutating func open(_ opened: Bytes, _ attributes: Bytes) {
        if !isGPX {
            isGPX = opened.elementsEqual("gpx")
            isOpen = isGPX
            return
        }
        if opened.elementsEqual("trkpt") {
            if point != nil { rejections.count(.truncated) }
            begin(attributes)
        } else if point != nil {
            depth &+= 1
            name = opened
            text.removeAll(keepingCapacity: true)
            isTextUsable = true
        }
    }

    private mutating func begin(_ attributes: Bytes) {
        point = nil
        depth = 0
        guard let latitude = XMLScanner.attribute("lat", in: attributes).flatMap({ Decimal.double($0.trimmed) }),
            let longitude = XMLScanner.attribute("lon", in: attributes).flatMap({ Decimal.double($0.trimmed) })
        else { return rejections.count(.malformedField) }
        guard (-90...90).contains(latitude), (-180...180).contains(longitude) else {
            return rejections.count(.outOfRange)
        }
        point = GnssFix(latitude: latitude, longitude: longitude)
    }

    private mutating func close(_ closed: Bytes) {
        if closed.elementsEqual("gpx") { isOpen = false }
        guard let fix = point else { return }
        if closed.elementsEqual("trkpt") {
            fixes.append(fix)
            point = nil
            return
        }
        if name.elementsEqual(closed) { assign(text[...].trimmed) }
        name = []
        depth = max(depth - 1, 0)
    }

    private mutating func assign(_ value: Bytes) {
        guard !value.isEmpty || !isTextUsable else { return }
        if name.elementsEqual("speed") {
            assign(value, \.speed) { $0 >= 0 ? $0 : nil }
        } else if name.elementsEqual("course") {
            assign(value, \.course, bearingRadians(degrees:))
        } else if depth == 1 {
            assignChild(value)
        }
    }

    private mutating func assignChild(_ value: Bytes) {
        if name.elementsEqual("time") {
            if isTextUsable, let stamp = UTC.iso8601(value) {
                point?.timestamp = .utc(nanoseconds: stamp)
            } else {
                rejections.count(.badTime)
            }
        } else if name.elementsEqual("ele") {
            assign(value, \.altitude) { $0 }
        } else if name.elementsEqual("geoidheight") {
            assign(value, \.geoidSeparationM) { $0 }
        } else if name.elementsEqual("hdop") {
            assign(value, \.hdop) { $0 > 0 ? $0 : nil }
        } else if name.elementsEqual("vdop") {
            assign(value, \.vdop) { $0 > 0 ? $0 : nil }
        } else if name.elementsEqual("pdop") {
            assign(value, \.pdop) { $0 > 0 ? $0 : nil }
        } else if name.elementsEqual("ageofdgpsdata") {
            assign(value, \.differentialAgeS) { $0 >= 0 ? $0 : nil }
        } else if name.elementsEqual("sat") {
            point?.satellitesUsed = Decimal.natural(value).flatMap(UInt32.init(exactly:))
        } else if name.elementsEqual("fix") {
            assignFixType(value)
        }
    }

    private mutating func assign(
        _ value: Bytes, _ field: WritableKeyPath<GnssFix, Double?>, _ check: (Double) -> Double?
    ) {
        guard isTextUsable, let number = Decimal.double(value) else { return rejections.count(.malformedField) }
        guard abs(number) < 1e9, let checked = check(number) else { return rejections.count(.outOfRange) }
        point?[keyPath: field] = checked
    }

    private mutating func assignFixType(_ value: Bytes) {
        if value.elementsEqual("none") {
            point?.fixType = .noFix
            point?.latitude = nil
            point?.longitude = nil
        } else if value.elementsEqual("2d") {
            point?.fixType = .twoD
        } else if value.elementsEqual("3d") || value.elementsEqual("pps") {
            point?.fixType = .threeD
        } else if value.elementsEqual("dgps") {
            point?.fixType = .differential
        } else {
            rejections.count(.malformedField)
        }
    }
}
