import Foundation
import Glibc
import NavBagFormats
import NavConfig
import NavKit

/// The output folder of a ROS 2 bag, which appears when it is complete. It replaces an older bag's own files; other
/// files in the folder stay.
final class OutputBagFolder {
    private static let description = "metadata.yaml"

    /// The path of the folder while it is written.
    let partial: String
    /// The name of the folder, from which the bag's name is derived.
    let name: String
    private let path: String
    /// The files of the older bag; nil when there is no folder yet.
    private let replaced: Set<String>?
    private var unfinished: UnfinishedPaths?

    /// Checks that the folder may be written.
    ///
    /// - Parameters:
    ///   - given: its path; a link is resolved.
    ///   - input: the recording that is converted, which must not lie in the folder.
    ///   - overwrite: whether an older bag may be replaced.
    init(_ given: String, input: String, overwrite: Bool) throws(NodeError) {
        var path = realPath(given) ?? given
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        self.path = path
        name = (path as NSString).lastPathComponent
        let file = ROS2Export.fileName(named: name)
        partial = path + ".partial-\(getpid())"
        unfinished = UnfinishedPaths([file, Self.description].map { [partial] in "\(partial)/\($0)" } + [partial])
        guard FileManager.default.fileExists(atPath: path) else {
            replaced = nil
            return
        }
        if let source = realPath(input), source.hasPrefix(path + "/") {
            throw NodeError(.usage, "the recording lies in '\(given)', which --out would replace; use another folder")
        }
        let isBag = FileManager.default.fileExists(atPath: "\(path)/\(Self.description)")
        guard isBag, overwrite else {
            let remedy = isBag ? "--overwrite replaces it" : "it is not a ROS 2 bag; use another folder"
            throw NodeError(.system, "'\(given)' exists; \(remedy)")
        }
        let files = try Self.files(ofBagIn: path, given)
        replaced = files
        guard files.contains(file) || !FileManager.default.fileExists(atPath: "\(path)/\(file)") else {
            throw NodeError(
                .system, "'\(given)/\(file)' does not belong to the bag in that folder; move it, or use another folder"
            )
        }
    }

    deinit { try? FileManager.default.removeItem(atPath: partial) }

    /// Returns the names of a bag's files, including its description.
    private static func files(ofBagIn path: String, _ given: String) throws(NodeError) -> Set<String> {
        var names: Set<String> = [description]
        do throws(ConfigError) {
            let root = try YAMLValue(contentsOf: "\(path)/\(description)", kind: "bag description")
            let bag = try root.pairs("a bag", nil).first { $0.key == "rosbag2_bagfile_information" }?.value ?? root
            guard let list = try bag.pairs("a bag", nil).first(where: { $0.key == "relative_file_paths" })?.value else {
                throw bag.wrong("relative_file_paths is missing")
            }
            // Older versions include the folder in the names.
            for item in try list.texts("relative_file_paths") {
                names.insert((item.text as NSString).lastPathComponent)
            }
        } catch {
            throw NodeError.printable(
                .system, "the bag in '\(given)' cannot be replaced: \(error.description); use another folder")
        }
        return names
    }

    /// Moves the bag to its place, and removes the remaining files of the older bag.
    func finish() throws(NodeError) {
        guard let replaced else {
            guard rename(partial, path) == 0 else { throw failure() }
            return
        }
        // From here on the older bag is replaced file by file, and files not yet moved must not be lost.
        unfinished = nil
        // The description is moved last, since it names the files.
        let names =
            ((try? FileManager.default.contentsOfDirectory(atPath: partial)) ?? [])
            .filter { $0 != Self.description }.sorted() + [Self.description]
        for name in names {
            guard rename("\(partial)/\(name)", "\(path)/\(name)") == 0 else { throw failure() }
        }
        for name in replaced.subtracting(names).sorted() { unlink("\(path)/\(name)") }
    }

    private func failure() -> NodeError {
        NodeError(.system, "'\(path)' cannot be written: \(String(cString: strerror(errno)))")
    }
}
