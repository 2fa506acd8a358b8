package import NavBag
import NavMessages
package import NavWire

extension TrafficUpdate {
    /// Reads the speeds of a message in a bag; nil when it cannot be read.
    package init?(_ message: BagMessage) {
        let update = message.data.withUnsafeBytes { bytes in
            try? TrafficUpdate(decoding: bytes, limit: bytes.count)
        }
        guard let update else { return nil }
        self = update
    }
}
