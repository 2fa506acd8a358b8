internal import Foundation
internal import Glibc
internal import NavMap

/// An output directory that is replaced as a whole.
struct OutputDirectory {
    private let path: String

    /// Checks that the directory may be created or replaced: it is absent, empty, or holds a tileset, and no other file
    /// system is mounted on it. A symbolic link is kept; its target directory is replaced.
    init(_ path: String) throws(MapBuildError) {
        var trimmed = path
        while trimmed.count > 1 && trimmed.hasSuffix("/") { trimmed.removeLast() }
        // Neither a link nor a path that ends in "." can be renamed.
        if let target = realpath(trimmed, nil) {
            trimmed = String(cString: target)
            free(target)
        } else if (try? FileManager.default.destinationOfSymbolicLink(atPath: trimmed)) != nil {
            throw MapBuildError(
                .outputExists, path: path, reason: "is a link to a directory that does not exist",
                advice: "Create the directory, or remove the link")
        }
        self.path = trimmed
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: trimmed, isDirectory: &isDirectory) else { return }
        guard isDirectory.boolValue else {
            throw MapBuildError(
                .outputExists, path: path, reason: "is a file, not a directory", advice: "Name another directory")
        }
        guard !OutputDirectory.isMounted(trimmed) else {
            throw MapBuildError(
                .unwritable, path: path, reason: "is the root of a mounted file system, which cannot be replaced",
                advice: "Name a directory in it")
        }
        let entries = (try? FileManager.default.contentsOfDirectory(atPath: trimmed)) ?? []
        guard entries.isEmpty || OutputDirectory.isTileset(trimmed) else {
            throw MapBuildError(
                .outputExists, path: path, reason: "contains something other than a tileset",
                advice: "Name a new directory, or remove this one first")
        }
    }

    /// Whether a directory is the mount point of another file system.
    private static func isMounted(_ path: String) -> Bool {
        var (own, parent) = (stat(), stat())
        return stat(path, &own) == 0 && stat(path + "/..", &parent) == 0 && own.st_dev != parent.st_dev
    }

    private static func isTileset(_ path: String) -> Bool {
        guard let json = FileManager.default.contents(atPath: path + "/tileset.json"),
            let object = try? JSONSerialization.jsonObject(with: json) as? [String: Any]
        else { return false }
        return object["formatVersion"] != nil && object["tiles"] != nil
    }

    /// Calls `fill` with a new directory beside the old one, then moves it into the old one's place.
    func replace<T>(_ fill: (Staging) throws(MapBuildError) -> T) throws(MapBuildError) -> T {
        let staging = Staging(path: "\(path).partial-\(getpid())")
        defer { try? FileManager.default.removeItem(atPath: staging.path) }
        do {
            try? FileManager.default.removeItem(atPath: staging.path)
            try FileManager.default.createDirectory(atPath: staging.path, withIntermediateDirectories: true)
        } catch {
            throw staging.failure(error)
        }
        let result = try fill(staging)
        // If the directory is absent or empty, one rename is enough. Otherwise the old tileset is renamed first; if the
        // process dies in between, it is still complete under its other name.
        if rename(staging.path, path) == 0 { return result }
        let aside = "\(path).replaced-\(getpid())"
        guard rename(path, aside) == 0 else { throw refused() }
        guard rename(staging.path, path) == 0 else {
            let error = refused()
            _ = rename(aside, path)
            throw error
        }
        try? FileManager.default.removeItem(atPath: aside)
        return result
    }

    private func refused() -> MapBuildError {
        MapBuildError(
            .unwritable, path: path, reason: "cannot be replaced: \(String(cString: strerror(errno)))",
            advice: "Check its permissions, or name another directory")
    }

    /// The new directory while it is being filled; several threads may write different files.
    struct Staging: Sendable {
        fileprivate let path: String

        func write(_ bytes: [UInt8], to file: String) throws(MapBuildError) {
            do {
                let url = URL(fileURLWithPath: path + "/" + file)
                try FileManager.default.createDirectory(
                    at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
                try Data(bytes).write(to: url)
            } catch {
                throw failure(error)
            }
        }

        func write(_ tileset: Tileset) throws(MapBuildError) {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            do {
                try write([UInt8](try encoder.encode(tileset)) + [0x0A], to: "tileset.json")
            } catch let error as MapBuildError {
                throw error
            } catch {
                throw failure(error)
            }
        }

        func failure(_ error: any Error) -> MapBuildError {
            MapBuildError(
                .unwritable, path: path, reason: "cannot be written: \(error.localizedDescription)",
                advice: "Check the directory's permissions and the free space")
        }
    }
}
