/// A figure of navbus, the peer's, and their ratio, as medians over the rounds.
package struct Figure: Sendable, Hashable {
    /// The name, for example `bus.pubsub.ipc.200B.p50`.
    package var name: String
    /// The value of navbus; nil if only the peer was measured.
    package var value: Double?
    /// The unit of both values, such as `us` or `msg/s`.
    package var unit: String
    /// The peer; nil if there is none.
    package var peer: String?
    /// The peer's value; nil if only navbus was measured.
    package var peerValue: Double?
    /// The median of the rounds' `value / peer_value`; nil if either is missing.
    package var ratio: Double?

    /// Creates a figure from its six parts.
    package init(name: String, value: Double?, unit: String, peer: String?, peerValue: Double?, ratio: Double?) {
        self.name = name
        self.value = value
        self.unit = unit
        self.peer = peer
        self.peerValue = peerValue
        self.ratio = ratio
    }

    /// The figure as one line of JSON; missing values are null.
    package var json: String {
        "{\"name\":\(Self.quoted(name)),\"value\":\(Self.number(value)),\"unit\":\(Self.quoted(unit)),"
            + "\"peer\":\(peer.map(Self.quoted) ?? "null"),\"peer_value\":\(Self.number(peerValue)),"
            + "\"ratio\":\(Self.number(ratio))}"
    }

    private static func number(_ value: Double?) -> String {
        guard let value, value.isFinite else { return "null" }
        return rounded(value)
    }

    /// Rounds to four decimals below a thousand, the range of ratios and microseconds, to two below a million, and to
    /// whole numbers above.
    private static func rounded(_ value: Double) -> String {
        let magnitude = value.magnitude
        guard magnitude < 1e6 else { return magnitude < 1e15 ? "\(Int64(value.rounded()))" : "\(value)" }
        let factor: Double = magnitude < 1000 ? 10_000 : 100
        return "\((value * factor).rounded() / factor)"
    }

    private static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case _ where scalar.value < 0x20:
                let hex = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}
