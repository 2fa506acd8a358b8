import Foundation

/// One text file of this repository, or an example for a rule.
struct SourceFile {
    /// The path from the root: `Sources/NavGeo/Angle.swift`.
    let path: String
    let text: String

    /// The target, which is the folder below `Sources`.
    var target: String? {
        let parts = path.split(separator: "/")
        return parts.count > 2 && parts[0] == "Sources" ? String(parts[1]) : nil
    }

    var isSwift: Bool { path.hasSuffix(".swift") }

    /// Whether the file is generated, so that the rules for handwritten code do not apply.
    var isGenerated: Bool { path.contains("/generated/") || path.contains("/Generated/") }

    var lines: [Substring] { text.split(separator: "\n", omittingEmptySubsequences: false) }

    /// The lines with comments and the contents of string literals blanked out.
    var codeLines: [Substring] {
        SwiftCode.withoutCommentsAndStrings(text).split(separator: "\n", omittingEmptySubsequences: false)
    }
}

/// A finding of a rule: `path:line: message`.
struct Finding: CustomStringConvertible, Equatable {
    let path: String
    let line: Int?
    let message: String

    var description: String {
        path + (line.map { ":\($0)" } ?? "") + ": " + message
    }
}

/// The repository that contains these tests.
enum Repository {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// The paths from the root of all committed or untracked files that are not ignored, sorted. Empty without git.
    static let paths: [String] = {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [
            "git", "-C", root.path, "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others",
            "--exclude-standard",
        ]
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return [] }
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        let names = String(decoding: data, as: UTF8.self).split(separator: "\0").map(String.init)
        return names.filter { FileManager.default.fileExists(atPath: root.appending(path: $0).path) }.sorted()
    }()

    /// The files that are UTF-8 text of at most 2 MB.
    static let files: [SourceFile] = paths.compactMap { path in
        guard let data = try? Data(contentsOf: root.appending(path: path)), data.count < 2_000_000, !data.contains(0),
            let text = String(data: data, encoding: .utf8)
        else { return nil }
        return SourceFile(path: path, text: text)
    }

    static let swiftSources = files.filter { $0.isSwift && $0.target != nil }
}
