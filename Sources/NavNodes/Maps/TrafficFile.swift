import Foundation
public import NavRouting

/// Speeds of road segments in OSRM's form: lines of `from_node,to_node,speed_kmh`, 0 for closed, whatever follows left
/// aside.
public struct TrafficFile {
    /// What the file says.
    public let overlay: TrafficOverlay

    /// Reads a file. A first line that names the columns is passed over.
    public init(path: String) throws(NodeError) {
        let text: String
        do {
            text = try String(contentsOfFile: path, encoding: .utf8)
        } catch {
            throw NodeError(.missing, "'\(path)' cannot be read: does it exist?")
        }
        try self.init(text: text, name: path)
    }

    /// Reads a text; `name` is what errors call it.
    public init(text: String, name: String) throws(NodeError) {
        var speeds: [TrafficSpeed] = []
        for (number, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            if line.isEmpty || number == 0 && line.hasPrefix("from_node") { continue }
            let fields = line.split(separator: ",", omittingEmptySubsequences: false)
                .map { $0.trimmingCharacters(in: .whitespaces) }
            guard fields.count >= 3, let from = Int64(fields[0]), let to = Int64(fields[1]),
                let speed = Double(fields[2])
            else {
                throw NodeError(
                    .invalid, "'\(name)' line \(number + 1): '\(line)' is not from_node,to_node,speed_kmh")
            }
            let segment = TrafficSpeed(fromNodeID: from, toNodeID: to, speed: speed / 3.6)
            guard segment.isValid else {
                throw NodeError(
                    .invalid,
                    "'\(name)' line \(number + 1): a speed must be 0 ... \(Int(TrafficOverlay.greatestSpeed * 3.6)) km/h "
                        + "between two nodes")
            }
            speeds.append(segment)
        }
        var overlay = TrafficOverlay()
        let refused = overlay.apply(speeds)
        guard refused == 0 else {
            throw NodeError(.invalid, "'\(name)' has more than \(TrafficOverlay.greatestCount) segments")
        }
        self.overlay = overlay
    }
}
