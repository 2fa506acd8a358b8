import Foundation
import Glibc
import NavBus
import NavConfig
import NavGeo
import NavKit
import NavVerdict
import NavigationNode

/// A job of a fleet, a bag with a configuration, which is sent to a worker as one line of JSON.
struct CheckJob: Codable, Sendable {
    struct Line: Codable, Sendable {
        var number: Int
        var text: String
    }

    /// The name of the bag in its verdict.
    var name: String
    var path: String
    var tiles: String
    var config: String?
    var overrides: [String]
    /// `LAT,LON`, empty for no destination; nil for the destination of the recording.
    var destination: String?
    var truthPositions: String?
    var truthEdges: String?
    var expect: [Line]

    /// Returns the configuration of the run, still without the destination of the recording.
    func configuration() throws(ConfigError) -> NavigationConfiguration {
        // The file may be a node's configuration, with the keys that every node has.
        var configuration = try ConfigLoader.load(
            RunConfiguration<NavigationConfiguration>.self, file: config, overrides: overrides
        ).node
        if let destination {
            (configuration.destination, configuration.via) = (Coordinate(text: destination), [])
        }
        return configuration
    }
}

/// The bags of a fleet, with the checks of each.
struct FleetPlan {
    struct Item {
        var job: CheckJob
        var tags: [String]
        var criteria: [Criterion]
        var tolerances: EventDiff.Tolerances
    }

    /// The fleet file as it was given.
    let file: String
    /// The folder of the stored references; nil when none are stored.
    let references: String?
    private(set) var items: [Item] = []

    /// Reads a fleet file and finds its bags.
    ///
    /// - Parameters:
    ///   - config: a configuration file that replaces those of the fleet.
    ///   - overrides: keys that take precedence over the fleet's.
    init(_ file: String, config: String? = nil, overrides: [String] = []) throws {
        let root = try YAMLValue(contentsOf: file, kind: "fleet file")
        let fleet = try Fleet(root)
        self.file = file
        let folder = file.parentFolder
        func resolved(_ path: String) -> String {
            path.hasPrefix("/") || folder.isEmpty ? path : "\(folder)/\(path)"
        }
        references = fleet.references.map(resolved)
        var names = Set<String>()
        for entry in fleet.entries {
            let settings = entry.settings
            guard let tiles = settings.tiles else {
                throw NodeError(.usage, "fleet file '\(file)': no 'tiles' for '\(entry.globs[0].text)'")
            }
            var to: String?
            switch settings.destination {
            case .recorded: break
            case .none: to = ""
            case .given(let text):
                guard Coordinate(text: text) != nil else {
                    throw NodeError(
                        .usage, "fleet file '\(file)': 'to: \(text)' must be LAT,LON in degrees, bag or none")
                }
                to = text
            }
            let own = settings.overrides.map { given in
                let value = ConfigLoader.text(of: given.items, for: given.key, NavigationConfiguration.self)
                return (text: "\(given.key)=\(value)", line: given.line)
            }
            for (text, line) in own {
                _ = try ConfigLoader.load(
                    NavigationConfiguration.self, file: nil, overrides: [text],
                    source: "fleet file '\(file)', line \(line)")
            }
            let template = CheckJob(
                name: "", path: "", tiles: resolved(tiles), config: config ?? settings.config.map(resolved),
                overrides: own.map(\.text) + overrides, destination: to,
                expect: settings.expect.map {
                    CheckJob.Line(number: $0.number, text: $0.text)
                })
            _ = try template.configuration()
            _ = try TilesetDirectory(path: template.tiles)
            for (glob, line) in entry.globs {
                let paths = FleetPlan.paths(glob, below: folder.isEmpty ? "." : folder)
                guard !paths.isEmpty else {
                    var isFolder: ObjCBool = false
                    _ = FileManager.default.fileExists(atPath: resolved(glob), isDirectory: &isFolder)
                    throw NodeError(
                        .usage,
                        "fleet file '\(file)', line \(line): "
                            + (isFolder.boolValue
                                ? "'\(glob)' is a folder: name the files in it, such as '\(glob)/*.mcap', or convert a ROS 2 bag with "
                                    + "'navbus bag convert'"
                                : "no file matches '\(glob)'"))
                }
                for path in paths {
                    var job = template
                    job.name = entry.name.map { "\(path) [\($0)]" } ?? path
                    job.path = resolved(path)
                    job.truthPositions = settings.truth.positions.map { FleetPlan.truth($0, of: job.path, resolved) }
                    job.truthEdges = settings.truth.edges.map { FleetPlan.truth($0, of: job.path, resolved) }
                    guard names.insert(job.name).inserted else {
                        throw NodeError(
                            .usage,
                            "fleet file '\(file)', line \(line): '\(job.name)' is in two entries: give one of them a 'name'"
                        )
                    }
                    items.append(
                        Item(job: job, tags: entry.tags, criteria: settings.criteria, tolerances: settings.tolerances))
                }
            }
        }
        items.sort { $0.job.name < $1.job.name }
    }

    /// Keeps the bags with any of the tags whose name matches a glob, and of these every n-th.
    mutating func select(tags: [String], only: [String], shard: (index: Int, count: Int)?) throws {
        // Each tag is checked separately: otherwise a misspelt one beside a valid one would drop its bags unnoticed.
        for tag in tags where !items.contains(where: { $0.tags.contains(tag) }) {
            throw NodeError(.usage, "fleet file '\(file)': no bag has the tag '\(tag)'")
        }
        for name in only where !items.contains(where: { globMatches(name, $0.job.name) }) {
            throw NodeError(.usage, "fleet file '\(file)': no bag matches the name '\(name)'")
        }
        if !tags.isEmpty { items.removeAll { item in !item.tags.contains(where: tags.contains) } }
        if !only.isEmpty { items.removeAll { item in !only.contains { globMatches($0, item.job.name) } } }
        guard !items.isEmpty else {
            throw NodeError(.usage, "fleet file '\(file)': no bag matches both the tags and the names")
        }
        guard let shard else { return }
        items = items.enumerated().filter { $0.offset % shard.count == shard.index - 1 }.map(\.element)
    }

    /// Returns the path of a truth file: `{name}` is the bag's name; a bare name is in the bag's folder.
    private static func truth(_ template: String, of bag: String, _ resolved: (String) -> String) -> String {
        let base = ((bag as NSString).lastPathComponent as NSString).deletingPathExtension
        let path = template.replacingOccurrences(of: "{name}", with: base)
        let folder = bag.parentFolder
        return path.contains("/") ? resolved(path) : folder.isEmpty ? path : "\(folder)/\(path)"
    }

    /// Returns the files that match a glob, sorted: `*` and `?` match within a name, `**` matches folders at any depth, without following
    /// links, which may form cycles.
    static func paths(_ glob: String, below folder: String) -> [String] {
        var found: [String] = []
        let isAbsolute = glob.hasPrefix("/")
        func walk(_ path: String, _ parts: ArraySlice<Substring>) {
            let place = isAbsolute ? "/" + path : path.isEmpty ? folder : "\(folder)/\(path)"
            guard let part = parts.first else {
                var isFolder: ObjCBool = false
                if FileManager.default.fileExists(atPath: place, isDirectory: &isFolder), !isFolder.boolValue {
                    found.append(isAbsolute ? place : path)
                }
                return
            }
            func below(_ name: String) -> String { path.isEmpty ? name : "\(path)/\(name)" }
            if part == ".." || part == "." || !part.contains(where: "*?[".contains) {
                return walk(below(String(part)), parts.dropFirst())
            }
            if part == "**" { walk(path, parts.dropFirst()) }
            for name in ((try? FileManager.default.contentsOfDirectory(atPath: place)) ?? []).sorted()
            where !name.hasPrefix(".") {
                if part == "**" {
                    var status = stat()
                    let next = isAbsolute ? "/" + below(name) : "\(folder)/\(below(name))"
                    if lstat(next, &status) == 0, status.st_mode & S_IFMT == S_IFDIR { walk(below(name), parts) }
                } else if fnmatch(String(part), name, 0) == 0 {
                    walk(below(name), parts.dropFirst())
                }
            }
        }
        // Two consecutive `**` equal one, but would find every file in many ways.
        var parts = glob.split(separator: "/")
        for index in parts.indices.dropFirst().reversed() where parts[index] == "**" && parts[index - 1] == "**" {
            parts.remove(at: index)
        }
        walk("", parts[...])
        return Array(Set(found)).sorted()
    }
}
