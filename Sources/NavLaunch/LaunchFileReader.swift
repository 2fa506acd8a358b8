internal import NavBus
internal import NavConfig
internal import NavSpelling
internal import Yams

/// A reader that turns files into a `LaunchFile` or a list of problems.
struct LaunchFileReader {
    private static let maximumDepth = 16
    private static let maximumNodes = 512
    /// The longest node name on the bus, namespaces included.
    private static let maximumNameLength = 64

    private static let fileKeys = ["arguments", "namespace", "domain", "env", "remaps", "include", "nodes"]
    private static let includeKeys = ["file", "namespace", "arguments", "when"]
    private static let nodeKeys = [
        "name", "executable", "args", "config", "set", "env", "remaps", "bus", "required", "restart", "when",
        "ready_when", "after", "cpus", "nice", "scheduler", "core_limit", "memory_limit", "open_files",
        "watchdog_s",
    ]

    /// The settings that a file inherits from the files that include it.
    struct Scope {
        var namespace: [String] = []
        var environment: [EnvironmentVariable] = []
        var remaps: [(from: String, to: String)] = []
        var including: [String] = []
    }

    let context: LaunchContext
    let problems = ProblemList()
    let warnings = ProblemList()
    var nodes: [LaunchNode] = []
    private var places: [String: Place] = [:]
    /// The references in `after`, collected until all nodes are known.
    var references: [Reference] = []
    /// The names of the nodes left out by `when`, which `after` may contain.
    var leftOut: Set<String> = []
    /// Whether the files' nodes are started; if not, only their names are read.
    private let isWanted: Bool

    init(context: LaunchContext, isWanted: Bool = true) {
        self.context = context
        self.isWanted = isWanted
    }

    mutating func read(path: String, arguments: [String: String]) throws(LaunchFileError) -> LaunchFile {
        let given = arguments.sorted { $0.key < $1.key }.map { name, value in
            (key: name, value: value, place: Place(file: "command line", line: nil, column: nil))
        }
        readFile(path, given: given, scope: Scope(), from: Place(file: path, line: nil, column: nil))
        if nodes.isEmpty, problems.problems.isEmpty {
            problems.add("no process to start: add \"nodes\"", at: Place(file: path, line: nil, column: nil))
        }
        if problems.problems.isEmpty { resolveOrder() }
        guard problems.problems.isEmpty else { throw LaunchFileError(problems: problems.problems) }
        return LaunchFile(nodes: nodes, warnings: warnings.problems)
    }

    private mutating func readFile(
        _ path: String, given: [(key: String, value: String, place: Place)], scope: Scope, from place: Place
    ) {
        guard !scope.including.contains(path), scope.including.count < Self.maximumDepth else {
            problems.add("\(path) includes itself, or includes go deeper than \(Self.maximumDepth) files", at: place)
            return
        }
        guard let text = contents(of: path, from: place),
            let root = parse(text, path: path, emptyMessage: "the file is empty: a launch file has \"nodes\""),
            let file = YAMLSection(
                root, what: "the launch file", keys: Self.fileKeys, file: path, problems: problems)
        else { return }

        var scope = scope
        scope.including.append(path)
        let substitution = arguments(of: file, path: path, given: given)
        if let namespace = name("namespace", of: file, substitution) {
            scope.namespace.append(namespace)
        }
        scope.environment += domain(of: file, substitution).map { [EnvironmentVariable("NAVBUS_DOMAIN", $0)] } ?? []
        scope.environment += environment(of: file, substitution)
        scope.remaps = remaps(of: file, scope, substitution)

        for item in file.items("include") {
            readInclude(item, path: path, substitution: substitution, scope: scope)
        }
        for item in file.items("nodes") {
            readNode(item, path: path, substitution: substitution, scope: scope)
        }
    }

    private func contents(of path: String, from place: Place) -> String? {
        do throws(ConfigError) {
            return try TextFile.read(path, limit: TextFile.greatestConfiguration)
        } catch {
            problems.add(error.description, at: place)
            return nil
        }
    }

    /// - Parameter emptyMessage: the problem with a file without content; nil when an empty file is allowed.
    private func parse(_ text: String, path: String, emptyMessage: String?) -> Node? {
        func report(_ message: String, _ mark: Mark?) {
            problems.add(message, at: Place(file: path, line: mark?.line, column: mark?.column))
        }
        do {
            if let root = try YAMLText.root(of: text) { return root }
            if let emptyMessage { report(emptyMessage, nil) }
        } catch let error as YamlError {
            switch error {
            case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
                .composer(_, let problem, let mark, _):
                report("not valid YAML: \(problem)", mark)
            case .duplicatedKeysInMapping(let duplicates, let context):
                report("the key \"\(duplicates.sorted().joined(separator: "\", \""))\" is given twice", context.mark)
            default:
                report("not valid YAML: \(error)", nil)
            }
        } catch {
            report("not valid YAML: \(error)", nil)
        }
        return nil
    }

    // MARK: Arguments

    private func arguments(
        of file: YAMLSection, path: String, given: [(key: String, value: String, place: Place)]
    ) -> Substitution {
        var substitution = Substitution(
            values: ["launch_dir": absolute(folder(of: path))], environment: context.environment)
        var declared: [String] = []
        if let node = file.node("arguments") {
            guard let mapping = node.mapping else {
                problems.add("\"arguments\" must be a mapping: {name: default}", at: node.place(in: path))
                return substitution
            }
            for (key, value) in mapping {
                let name = key.scalar?.string ?? ""
                guard isWord(name), name != "launch_dir" else {
                    problems.add(
                        "\"\(name)\" cannot be an argument's name: use letters, digits and \"_\"",
                        at: key.place(in: path))
                    continue
                }
                declared.append(name)
                let value =
                    given.first { $0.key == name }?.value
                    ?? defaultValue(of: name, value, place: key.place(in: path), substitution)
                substitution.define(name, as: value)
            }
        }
        for argument in given where !declared.contains(argument.key) {
            let known = declared.isEmpty ? "it has none" : "it has: \(declared.joined(separator: ", "))"
            problems.add(
                "\(path) has no argument \"\(argument.key)\"\(suggestion(for: argument.key, among: declared)) (\(known))",
                at: argument.place)
        }
        return substitution
    }

    /// Returns an empty text for a missing value, so that one mistake is reported as one problem.
    private func defaultValue(of name: String, _ node: Node, place: Place, _ substitution: Substitution) -> String {
        let wrapped = Node([(Node("default"), node)], Tag(.map))
        let entry = node.mapping == nil ? wrapped : node
        guard
            let section = YAMLSection(
                entry, what: "argument \"\(name)\"", keys: ["default", "description"], file: place.file,
                problems: problems)
        else { return "" }
        if section.node("default") == nil {
            let description = section.string("description", substitution).map { " (\($0))" } ?? ""
            problems.add(
                "the argument \"\(name)\"\(description) has no default: give it as \(name):=VALUE", at: place)
        }
        return section.string("default", substitution) ?? ""
    }

    // MARK: Includes and nodes

    private mutating func readInclude(_ item: Node, path: String, substitution: Substitution, scope: Scope) {
        guard
            let include = YAMLSection(
                item, what: "an include", keys: Self.includeKeys, file: path, problems: problems)
        else { return }
        let wanted = include.bool("when", substitution) ?? true
        let given = include.pairs("arguments", substitution)
        var scope = scope
        if let namespace = name("namespace", of: include, substitution) {
            scope.namespace.append(namespace)
        }
        guard let file = include.required("file", substitution).map({ resolved($0, relativeTo: folder(of: path)) })
        else { return }
        guard wanted else {
            // The problems of a file left out by `when` are dropped with its reader; the file may not even exist.
            var reader = LaunchFileReader(context: context, isWanted: false)
            reader.readFile(file, given: given, scope: scope, from: include.place(of: "file"))
            leftOut.formUnion(reader.leftOut)
            return
        }
        readFile(file, given: given, scope: scope, from: include.place(of: "file"))
    }

    /// Returns a node's name on the bus: its namespaces, outermost first, followed by its name.
    static func fullName(_ namespace: [String], _ name: String) -> String {
        (namespace + [name]).joined(separator: "-")
    }

    private mutating func readNode(_ item: Node, path: String, substitution: Substitution, scope: Scope) {
        let label = item.mapping?["name"]?.scalar.map { "node \"\($0.string)\"" } ?? "a node"
        guard
            let section = YAMLSection(item, what: label, keys: Self.nodeKeys, file: path, problems: problems)
        else { return }
        if section.node("name") == nil {
            problems.add("\(label) has no \"name\"", at: section.place)
        }
        let name = name("name", of: section, substitution)
        guard isWanted else {
            if let name { leftOut.insert(Self.fullName(scope.namespace, name)) }
            return
        }
        let executable = section.required("executable", substitution)
        var environment = scope.environment
        environment += self.environment(of: section, substitution)
        let required = section.bool("required", substitution) ?? false
        let restart = restartPolicy(of: section, substitution)
        let wanted = section.bool("when", substitution) ?? true
        let fullName = Self.fullName(scope.namespace, name ?? "")
        if fullName.utf8.count > Self.maximumNameLength {
            problems.add(
                "the name \"\(fullName)\" is \(fullName.utf8.count) bytes with its namespaces, and the bus allows "
                    + "\(Self.maximumNameLength): shorten it", at: section.place(of: "name"))
        }
        let remaps = self.remaps(of: section, scope, substitution)
        let arguments = commandLine(of: section, name: fullName, path: path, wanted: wanted, remaps, substitution)
        let readiness = self.readiness(
            of: section, (name, fullName), remaps, isRequired: required, substitution)
        let watchdog = self.watchdog(of: section, substitution)
        let settings = self.settings(of: section, substitution)
        let after = section.words("after", substitution)
        guard name != nil, let executable else { return }
        guard wanted else {
            leftOut.insert(fullName)
            return
        }

        if let other = places[fullName] {
            let where_ = other.line.map { "\(other.file):\($0)" } ?? other.file
            problems.add(
                "the name \"\(fullName)\" is taken by the node at \(where_): two nodes cannot share a name",
                at: section.place(of: "name"))
            return
        }
        places[fullName] = section.place(of: "name")
        guard nodes.count < Self.maximumNodes else {
            problems.add("more than \(Self.maximumNodes) nodes", at: section.place)
            return
        }
        switch context.executable(executable, relativeTo: folder(of: path)) {
        case .success(let resolved):
            let place = section.place(of: "after")
            references += after.map {
                Reference(node: nodes.count, to: $0, namespace: scope.namespace, label: section.what, place: place)
            }
            nodes.append(
                LaunchNode(
                    name: fullName, executable: resolved, arguments: arguments, environment: environment,
                    required: required, restart: restart, readiness: readiness, settings: settings,
                    watchdog: watchdog))
        case .failure(let failure):
            let why = failure.exists ? "is not an executable file: chmod +x it" : "does not exist"
            let message =
                failure.looked.count == 1
                ? "\(failure.looked[0]) \(why)"
                : "there is no executable \"\(executable)\" in \(failure.looked.joined(separator: " or on ")): "
                    + "build or install it, or give its path"
            problems.add("\(label): \(message)", at: section.place(of: "executable"))
        }
    }

    private func commandLine(
        of section: YAMLSection, name: String, path: String, wanted: Bool, _ remaps: [(from: String, to: String)],
        _ substitution: Substitution
    ) -> [String] {
        var words = section.strings("args", substitution)
        let isBusNode = section.bool("bus", substitution) ?? true
        if isBusNode {
            words += ["--name", name]
        }
        for key in ["remaps", "ready_when"] where !isBusNode && section.node(key) != nil {
            problems.add("\(section.what) has \(key), but \"bus: false\"", at: section.place(of: key))
        }
        if let config = section.string("config", substitution) {
            let file = absolute(resolved(config, relativeTo: folder(of: path)))
            if wanted, !exists(file) {
                problems.add("\(section.what): there is no config file \(file)", at: section.place(of: "config"))
            } else if wanted, file.hasSuffix(".yaml") || file.hasSuffix(".yml"),
                let text = contents(of: file, from: section.place(of: "config"))
            {
                _ = parse(text, path: file, emptyMessage: nil)
            }
            words += ["--config", file]
        }
        for (key, value, place) in section.pairs("set", substitution) {
            if key.isEmpty || key.contains("=") {
                problems.add("\"\(key)\" in \"set\" of \(section.what) is not a parameter's name", at: place)
            }
            words += ["--set", "\(key)=\(value)"]
        }
        if isBusNode {
            for remap in remaps { words += ["--remap", "\(remap.from):=\(remap.to)"] }
        }
        return words
    }

    // MARK: Parts that files and nodes share

    private func environment(of section: YAMLSection, _ substitution: Substitution) -> [EnvironmentVariable] {
        section.pairs("env", substitution).map { key, value, place in
            if key.isEmpty || key.contains("=") {
                problems.add("\"\(key)\" in \"env\" of \(section.what) is not a variable's name", at: place)
            }
            return EnvironmentVariable(key, value)
        }
    }

    private func remaps(of section: YAMLSection, _ substitution: Substitution) -> [(from: String, to: String)] {
        section.pairs("remaps", substitution).map { key, value, place in
            for topic in [key, value] where !Names.isTopic(topic) {
                problems.add(
                    "\"\(topic)\" in \"remaps\" of \(section.what) is not a topic: write /word/word", at: place)
            }
            warnOfUnknownTopic(key, in: "\"remaps\" of \(section.what)", at: place)
            return (key, value)
        }
    }

    /// Returns the remaps of a file or a node and the inherited ones; its own take precedence.
    private func remaps(
        of section: YAMLSection, _ scope: Scope, _ substitution: Substitution
    ) -> [(from: String, to: String)] {
        let own = remaps(of: section, substitution)
        return scope.remaps.filter { outer in !own.contains { $0.from == outer.from } } + own
    }

    /// Reads a node name or a namespace, which must be valid as a folder's name in the registry.
    private func name(_ key: String, of section: YAMLSection, _ substitution: Substitution) -> String? {
        guard let name = section.string(key, substitution) else { return nil }
        guard name.utf8.count <= Self.maximumNameLength, !name.isEmpty, name.utf8.allSatisfy(isNameByte) else {
            problems.add(
                "\"\(name)\" cannot be the \(key) of \(section.what): use up to \(Self.maximumNameLength) of a-z, 0-9, \"_\" and "
                    + "\"-\"",
                at: section.place(of: key))
            return nil
        }
        return name
    }
}

private func isWord(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.count <= 64 && text.utf8.allSatisfy(isWordByte)
}

private func isNameByte(_ byte: UInt8) -> Bool {
    isWordByte(byte) && !(UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) || byte == UInt8(ascii: "-")
}

private func isWordByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
        return true
    default:
        return false
    }
}
