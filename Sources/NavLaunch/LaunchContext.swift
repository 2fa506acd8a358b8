internal import CSpawn
internal import Glibc

/// The context in which a launch file is read: folders of executables, and the environment.
package struct LaunchContext: Sendable {
    /// The folder of the running binary; nodes installed beside it take precedence.
    package var binaryDirectory: String
    /// The environment that `${env:…}` reads and that processes inherit.
    package var environment: [String: String]
    /// The processors that a process may use, ascending; empty when unknown.
    package var cpus: [Int]
    /// The known topics, used to detect misspelt names; if empty, topics are not checked.
    package var topics: [String]
    /// The known services, likewise.
    package var services: [String]

    /// Creates a context for tests and embedding.
    package init(
        binaryDirectory: String, environment: [String: String], cpus: [Int] = [], topics: [String] = [],
        services: [String] = []
    ) {
        self.binaryDirectory = binaryDirectory
        self.environment = environment
        self.cpus = cpus
        self.topics = topics
        self.services = services
    }

    /// Returns the context of the running process.
    package static func current() -> LaunchContext {
        var environment: [String: String] = [:]
        var cursor = cspawn_environment()
        while let entry = cursor?.pointee {
            let text = String(cString: entry)
            if let equals = text.firstIndex(of: "="), equals > text.startIndex {
                environment[String(text[..<equals])] = String(text[text.index(after: equals)...])
            }
            cursor = cursor?.advanced(by: 1)
        }
        return LaunchContext(
            binaryDirectory: folder(of: runningBinary()), environment: environment, cpus: allowedCPUs())
    }

    /// Returns the absolute path of an executable, or the reason why it was not found.
    ///
    /// A name is searched beside the running binary, then on `PATH`; a path with a `/` is relative to `base`.
    func executable(_ name: String, relativeTo base: String) -> Result<String, LookupFailure> {
        if name.contains("/") {
            let path = absolute(resolved(name, relativeTo: base))
            return isExecutable(path) ? .success(path) : .failure(LookupFailure(looked: [path], exists: exists(path)))
        }
        var folders = [binaryDirectory]
        folders += (environment["PATH"] ?? "").split(separator: ":").map(String.init)
        for folder in folders where !folder.isEmpty {
            let path = absolute(folder + "/" + name)
            if isExecutable(path) { return .success(path) }
        }
        return .failure(LookupFailure(looked: [binaryDirectory, "PATH"], exists: false))
    }

    struct LookupFailure: Error {
        let looked: [String]
        let exists: Bool
    }
}

private func allowedCPUs() -> [Int] {
    [Int32](unsafeUninitializedCapacity: ProcessSettings.maximumCPUs) { buffer, count in
        count = Int(max(0, cspawn_allowed_cpus(buffer.baseAddress, Int32(buffer.count))))
    }.map(Int.init)
}

private func runningBinary() -> String {
    var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let count = buffer.withUnsafeMutableBytes { bytes in
        bytes.baseAddress.map { readlink("/proc/self/exe", $0.assumingMemoryBound(to: CChar.self), bytes.count) } ?? 0
    }
    return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : "/"
}

func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
}

func resolved(_ path: String, relativeTo base: String) -> String {
    let path = path.hasPrefix("./") ? String(path.dropFirst(2)) : path
    return path.hasPrefix("/") || base == "." ? path : base + "/" + path
}

func absolute(_ path: String) -> String {
    guard !path.hasPrefix("/"), let working = getcwd(nil, 0) else { return path }
    defer { free(working) }
    return String(cString: working) + "/" + path
}

func exists(_ path: String) -> Bool {
    access(path, F_OK) == 0
}

private func isExecutable(_ path: String) -> Bool {
    var information = stat()
    return stat(path, &information) == 0 && information.st_mode & S_IFMT == S_IFREG && access(path, X_OK) == 0
}

func errorText(_ number: Int32) -> String {
    strerror(number).map { String(cString: $0) } ?? "error \(number)"
}
