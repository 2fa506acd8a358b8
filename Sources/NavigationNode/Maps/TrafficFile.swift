import NavConfig
package import NavKit
package import NavRouting
package import NavWire

/// Speeds of road segments in OSRM's format: lines of `from_node,to_node,speed_kmh`, 0 for closed; further columns are ignored.
package struct TrafficFile {
    package let overlay: TrafficOverlay

    /// Reads a file; a header line is skipped.
    package init(path: String) throws(NodeError) {
        do throws(ConfigError) {
            var lines = try TextLines(path)
            var segments = Segments(name: path)
            while let line = try lines.next() { try segments.add(line, lines.number) }
            overlay = try segments.overlay()
        } catch {
            throw NodeError(.invalid, error.description)
        }
    }

    /// Parses a text; `name` identifies it in errors.
    package init(text: String, name: String) throws(NodeError) {
        do throws(ConfigError) {
            var segments = Segments(name: name)
            let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
            for (index, line) in lines.enumerated() { try segments.add(String(line), index + 1) }
            overlay = try segments.overlay()
        } catch {
            throw NodeError(.invalid, error.description)
        }
    }
}

/// The segments of a file, parsed line by line.
private struct Segments {
    package let name: String
    private var speeds: [TrafficSpeed] = []

    package init(name: String) { self.name = name }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

    package mutating func add(_ line: String, _ number: Int) throws(ConfigError) {
        if line.isEmpty || number == 1 && line.hasPrefix("from_node") { return }
        // Bytes, because a country's file has millions of lines.
        let fields = line.utf8.split(separator: UInt8(ascii: ","), maxSplits: 3, omittingEmptySubsequences: false)
            .prefix(3).map { Substring($0.drop(while: Self.isBlank).prefix { !Self.isBlank($0) }) }
        guard fields.count == 3, let from = Int64(fields[0]), let to = Int64(fields[1]), let speed = Double(fields[2])
        else {
            throw ConfigError("'\(name)' line \(number): '\(line.prefix(80))' is not from_node,to_node,speed_kmh")
        }
        let segment = TrafficSpeed(fromNodeID: from, toNodeID: to, speed: speed / 3.6)
        guard segment.isValid else {
            throw ConfigError(
                "'\(name)' line \(number): invalid segment; it needs two nodes and a speed within 0 ... "
                    + "\(Int(TrafficOverlay.greatestSpeed * 3.6)) km/h")
        }
        speeds.append(segment)
        // Fail before reading the rest of a file of any size.
        guard speeds.count <= TrafficOverlay.greatestCount else { throw tooMany }
    }

    package func overlay() throws(ConfigError) -> TrafficOverlay {
        var overlay = TrafficOverlay()
        let refused = overlay.apply(speeds)
        guard refused == 0 else { throw tooMany }
        return overlay
    }

    private var tooMany: ConfigError { ConfigError("'\(name)' has more than \(TrafficOverlay.greatestCount) segments") }
}

extension TrafficUpdate {
    /// The speeds of a file, which replace all earlier traffic.
    package init(_ file: TrafficFile) { self.init(ofFile: file.overlay.speeds) }
}
