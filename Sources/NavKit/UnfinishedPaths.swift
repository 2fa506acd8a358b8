internal import CProcess

/// Files and folders that a command has not finished, which SIGINT, SIGTERM or SIGHUP removes before it ends the process.
package final class UnfinishedPaths {
    private let places: [Int32]

    /// Creates a list of files, which may not exist yet, and of folders that contain nothing else.
    package init(_ paths: [String]) { places = paths.map { cprocess_remove_on_signal($0) } }

    deinit { for place in places { cprocess_keep_on_signal(place) } }
}
