import Foundation
import NavKit

/// A folder of its own, gone with its last reference.
final class ScratchFolder {
    let path: String

    /// Makes it in another one.
    init(in parent: String) throws {
        var template = Array((parent + "/nvb-XXXXXX").utf8CString)
        guard let made = mkdtemp(&template) else {
            throw NodeError(.missing, "cannot create a folder in '\(parent)': \(String(cString: strerror(errno)))")
        }
        path = String(cString: made)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}
