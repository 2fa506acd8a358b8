package import NavConfig

package struct GNSSConfiguration: NodeConfiguration {
    package enum Source: Sendable, Equatable {
        case gpsd(host: String, port: Int)
        /// A file, or a device that sends NMEA 0183 or UBX.
        case path(String)
    }

    /// The source of fixes; nil is an error at the start.
    package var source: Source?
    /// The speed of a serial device, baud.
    package var baud = 9_600
    /// The playback speed of a file relative to the recording.
    package var rate = 1.0
    /// Whether a file is repeated at its end.
    package var loop = false
    package var receiver = ""
    /// The longest pause between two attempts to reach gpsd or a device, seconds.
    package var retryMaximum = 30.0

    package init() {}

    /// The supported speeds of serial devices, baud.
    static let bauds = [4_800, 9_600, 19_200, 38_400, 57_600, 115_200, 230_400, 460_800]

    package static var keys: [ConfigKey<GNSSConfiguration>] {
        [
            .text(
                "source", \.source,
                range: "gpsd://HOST:PORT | a device (NMEA 0183, UBX) | a file (also gpsd JSON, CSV, GPX, MCAP)",
                "Source of the fixes. From a device, a date more than 512 weeks before this host's clock counts as set back "
                    + "by missed rollovers of the GPS week, and is moved forward by multiples of 1,024 weeks.",
                parse: { $0.isEmpty ? .some(nil) : Source(text: $0).map { .some($0) } },
                format: { $0?.text ?? "" }),
            .text(
                "serial.baud", \.baud, range: bauds.map(String.init).joined(separator: " | "),
                "Baud rate of a serial device.",
                parse: { text in Int(text).flatMap { bauds.contains($0) ? $0 : nil } }, format: { String($0) }),
            .number("file.rate", \.rate, in: 0.001...10_000, "Playback speed of a file relative to its recording.")
                .live,
            .flag(
                "file.loop", \.loop,
                "Whether a file is repeated at its end; a file of a single moment is repeated once a second."),
            .string(
                "receiver", \.receiver,
                "Receiver named in the fixes; empty uses the name in the source, or else the node's name."
            ).live,
            .number(
                "retry.max_s", \.retryMaximum, in: 0.1...3_600,
                "Longest pause between two attempts to reach gpsd or a device, seconds."
            ).live,
        ]
    }
}

extension GNSSConfiguration.Source {
    /// Parses a source; nil when the address is invalid.
    init?(text: String) {
        guard text.hasPrefix("gpsd://") else {
            guard !text.isEmpty else { return nil }
            self = .path(text)
            return
        }
        let address = text.dropFirst("gpsd://".count)
        guard let colon = address.lastIndex(of: ":"), address.last != "]" else {
            guard !address.isEmpty else { return nil }
            self = .gpsd(host: String(address), port: 2_947)
            return
        }
        guard let port = Int(address[address.index(after: colon)...]), (1...65_535).contains(port),
            colon > address.startIndex
        else { return nil }
        self = .gpsd(host: String(address[..<colon]), port: port)
    }

    var text: String {
        switch self {
        case .gpsd(let host, let port): "gpsd://\(host):\(port)"
        case .path(let path): path
        }
    }
}

extension GNSSConfiguration {
    static let missingSource = "no source: give --set source=gpsd://localhost:2947, a device or a file"

    package var omission: String? { source == nil ? Self.missingSource : nil }

    /// The files and devices to read, by key.
    package var inputPaths: [(key: String, path: String)] {
        if case .path(let path) = source { [("source", path)] } else { [] }
    }
}
