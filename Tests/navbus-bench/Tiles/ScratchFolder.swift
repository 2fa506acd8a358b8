import Foundation
import NavKit

/// A separate folder, removed when its last reference is released.
final class ScratchFolder {
    let path: String

    /// Creates the folder in another one.
    init(in parent: String) throws {
        var template = Array((parent + "/nvb-XXXXXX").utf8CString)
        guard let made = mkdtemp(&template) else {
            throw NodeError(.missing, "cannot create a folder in '\(parent)': \(String(cString: strerror(errno)))")
        }
        path = String(cString: made)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}
