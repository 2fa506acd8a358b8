/// The rules of this repository, each of which reads files and returns its findings.
enum Rules {
    /// Targets without IO, clock, randomness and Foundation, and the modules that each may import in addition to the
    /// standard library.
    static let pureImports: [String: Set<String>] = [
        "NavGeo": ["Glibc"],
        "NavMap": ["Glibc", "NavGeo", "CZlib", "Synchronization"],
        "NavRouting": ["Glibc", "NavGeo", "NavMap", "HeapModule", "Synchronization"],
        "NavMatching": ["Glibc", "NavGeo", "NavMap", "NavRouting", "HeapModule"],
        "NavGuidance": ["Glibc", "NavGeo", "NavMap", "NavRouting"],
        "NavPositioning": ["Glibc", "NavGeo", "NavMap", "NavRouting", "NavMatching"],
        "NavNavigator": ["Glibc", "NavGeo", "NavMap", "NavRouting", "NavMatching", "NavPositioning", "NavGuidance"],
        "NavSimulation": ["Glibc", "NavGeo", "NavMap", "NavRouting", "NavMatching", "NavPositioning"],
        // Of NavStorage it may use only the error of a store: see `impure`.
        "NavTileCache": ["Glibc", "NavGeo", "NavDigest", "NavRemote", "NavStorage", "HeapModule"],
        "NavRemote": [],
    ]

    /// Finds forbidden imports of pure targets. Package.swift states the imports of other targets, which the build
    /// enforces.
    static func imports(_ files: [SourceFile]) -> [Finding] {
        files.filter(\.isSwift).flatMap { file -> [Finding] in
            guard let target = file.target, let allowed = pureImports[target] else { return [] }
            return numbered(file.codeLines).compactMap { number, line in
                guard let module = SwiftCode.importedModule(line), !allowed.contains(module) else { return nil }
                return Finding(path: file.path, line: number, message: "\(target) must not import \(module)")
            }
        }
    }

    /// Test targets without sockets and processes: the tests of targets without IO, and their map drawings.
    private static let quietTests = Set(pureImports.keys.map { $0 + "Tests" }).union([
        "NavTestSupport", "ScenarioTests", "SimWorldTests",
    ])

    static func testImports(_ files: [SourceFile]) -> [Finding] {
        files.filter(\.isSwift).flatMap { file -> [Finding] in
            let parts = file.path.split(separator: "/")
            guard parts.count > 2, parts[0] == "Tests", quietTests.contains(String(parts[1])) else { return [] }
            return numbered(file.codeLines).compactMap { number, line in
                guard SwiftCode.importedModule(line) == "NavTestSystem" else { return nil }
                return Finding(path: file.path, line: number, message: "\(parts[1]) must not import NavTestSystem")
            }
        }
    }

    private static let impure = [
        "Date(", "Date.now", "ContinuousClock", "SuspendingClock", "DispatchTime", "SystemRandomNumberGenerator",
        ".random(", ".randomElement(", ".shuffled()", ".shuffle()", "arc4random(", "drand48(", "rand(", "random()",
        "print(", "debugPrint(", "dump(", "puts(", "printf(", "clock_gettime(", "gettimeofday(", "time(nil", "time(&",
        "fopen(", "O_RDONLY", "O_WRONLY", "O_RDWR", "O_CREAT", "mmap(", "pread(", "getenv(", "environ", "sleep(",
        "usleep(", "nanosleep(", "pthread_create(", "DispatchQueue", "Task {", "Task.detached", "FileManager",
        "FileHandle", "ProcessInfo", "stdout", "stderr", "CommandLine", "Files.",
    ]

    static func purity(_ files: [SourceFile]) -> [Finding] {
        files.filter { $0.isSwift && $0.target.map { pureImports[$0] != nil } ?? false }.flatMap { file in
            numbered(file.codeLines).flatMap { number, line in
                impure.filter { SwiftCode.contains($0, in: line) }.map { word in
                    Finding(
                        path: file.path, line: number,
                        message: "\"\(word)\" in a target without IO, clock and randomness")
                }
            }
        }
    }

    /// The file with the table of topics.
    static let topicTable = "Sources/NavMessages/TopicCatalogue.swift"

    /// Finds topic names, their prefixes and patterns outside the table: a literal may name a missing topic, or
    /// assume a wrong type.
    static func topicNames(_ files: [SourceFile]) -> [Finding] {
        let table = files.first { $0.path == topicTable }?.text ?? ""
        let names = Set(table.matches(of: /Topic<\w+>\(\s*"([^"]+)"/).map(\.1))
        guard !names.isEmpty else { return [Finding(path: topicTable, line: nil, message: "no table of topics")] }
        // "/nav/" of "/nav/route"; "/clock" has none.
        let levels = Set(names.compactMap { name in name.dropFirst().firstIndex(of: "/").map { name[...$0] } })
        return files.filter { $0.target != nil && $0.isSwift && !$0.isGenerated && $0.path != topicTable }.flatMap {
            file in
            numbered(file.lines).flatMap { number, line in
                guard line.contains("\"/"), !line.drop(while: { $0 == " " }).hasPrefix("//") else {
                    return [Finding]()
                }
                // Up to the end of the literal or an interpolation; text may begin with a topic.
                return line.matches(of: /"(\/[^"\\ ]*)["\\]/).map(\.1).filter { text in
                    names.contains(text) || levels.contains { text.hasPrefix($0) }
                }.map { Finding(path: file.path, line: number, message: "\"\($0)\": take it from Topics") }
            }
        }
    }

    /// The table of terms.
    static let glossary = "Sources/navbus/navbus.docc/Glossary.md"

    /// Finds names of the glossary that are missing in the sources, the schema and the keys.
    static func glossaryNames(_ files: [SourceFile]) -> [Finding] {
        let code = files.filter { $0.isSwift && $0.target != nil }.map(\.text).joined()
        let wire = files.filter { $0.path.hasPrefix("Proto/") || $0.path.hasSuffix("/ConfigurationKeys.md") }
        let wireText = wire.map(\.text).joined() + code
        let types = Set(code.matches(of: /(?:struct|class|enum|protocol|actor|typealias) (\w+)/).map(\.1))
        guard let table = files.first(where: { $0.path == glossary }) else { return [] }
        return numbered(table.lines).flatMap { number, line -> [Finding] in
            let cells = line.split(separator: "|", omittingEmptySubsequences: false)
            guard cells.count == 6, !line.hasPrefix("| term") else { return [] }
            let names = { (cell: Substring) in cell.matches(of: /`([^`]+)`/).map(\.1) }
            let missing =
                names(cells[3]).filter { name in
                    let parts = name.split(separator: ".")
                    return !types.contains(parts[0]) || !parts.dropFirst().allSatisfy { code.contains($0) }
                } + names(cells[4]).filter { !wireText.contains($0) }
            return missing.map { Finding(path: glossary, line: number, message: "\($0) does not exist") }
        }
    }

    private static let unsafe = ["try!", "as!", "fatalError(", "@unchecked Sendable"]

    /// Finds traps and unsafe constructs. `@unchecked Sendable` needs a reason in a comment on or above its line.
    static func soundness(_ files: [SourceFile]) -> [Finding] {
        files.filter { $0.isSwift && $0.target != nil && !$0.isGenerated }.flatMap { file -> [Finding] in
            let lines = file.lines
            return numbered(file.codeLines).flatMap { number, code -> [Finding] in
                unsafe.filter { word in
                    guard SwiftCode.contains(word, in: code) else { return false }
                    let nearby = lines[max(0, number - 4)..<number]
                    return word != "@unchecked Sendable" || !nearby.contains { $0.contains("//") }
                }.map { Finding(path: file.path, line: number, message: "\"\($0)\" in sources") }
            }
        }
    }

    /// Marks of unfinished work, split so that this file does not contain them.
    private static let unfinished = ["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"]

    static func finished(_ files: [SourceFile]) -> [Finding] {
        files.filter { !$0.isGenerated && !$0.path.hasPrefix("Tests/Fixtures/") && $0.path != "LICENSE" }.flatMap {
            file in
            numbered(file.lines).flatMap { number, line in
                unfinished.filter { SwiftCode.contains($0, in: line) }.map {
                    Finding(path: file.path, line: number, message: "\"\($0)\": finish it or remove it")
                }
            }
        }
    }

    static func commentedOutCode(_ files: [SourceFile]) -> [Finding] {
        files.filter { $0.isSwift && !$0.isGenerated }.flatMap { file in
            numbered(file.lines).compactMap { number, line in
                let trimmed = line.drop { $0 == " " }
                guard trimmed.hasPrefix("//"), !trimmed.hasPrefix("///") else { return nil }
                let comment = trimmed.dropFirst(2).drop { $0 == " " }
                guard looksLikeCode(comment) else { return nil }
                return Finding(path: file.path, line: number, message: "code in a comment: \(comment)")
            }
        }
    }

    private static func looksLikeCode(_ comment: Substring) -> Bool {
        if comment == "}" || comment == "{" || comment.hasSuffix(";") { return true }
        let words = comment.split(separator: " ")
        guard let first = words.first else { return false }
        if ["let", "var"].contains(first), words.count > 2 {
            return words[2] == "=" || words[1].hasSuffix(":")
        }
        let block: Set<Substring> = ["if", "guard", "for", "while", "switch", "func", "do", "else", "struct", "class"]
        if block.contains(first), comment.hasSuffix("{") { return true }
        if first == "import", words.count == 2, words[1].first?.isUppercase == true { return true }
        // A single word that is a method call: buffer.append(x), try writer.close().
        let call = first == "try" || first == "await" || first == "return" ? words.dropFirst() : words[...]
        guard call.count == 1, let word = call.first, word.hasSuffix(")"), let open = word.firstIndex(of: "(") else {
            return false
        }
        return word[..<open].contains(".") && word.first?.isLowercase == true
    }

    /// The targets of the exported product.
    private static let exported: Set<String> = ["NavBus", "NavKit", "NavMessages", "NavConfig", "NavGeo"]

    /// Finds undocumented public declarations of the exported product. Elsewhere a name may suffice.
    static func documentation(_ files: [SourceFile]) -> [Finding] {
        files.filter { $0.isSwift && !$0.isGenerated && $0.target.map(exported.contains) ?? false }.flatMap {
            file -> [Finding] in
            let lines = file.lines.map { $0.drop { $0 == " " } }
            return numbered(lines).compactMap { number, line in
                guard line.hasPrefix("public "), SwiftCode.importedModule(line) == nil else { return nil }
                // An attribute may span several lines, the last of which ends with a parenthesis.
                let above = lines[..<(number - 1)].last { !$0.hasPrefix("@") } ?? ""
                guard !above.hasPrefix("///"), !above.hasSuffix(")") else { return nil }
                return Finding(path: file.path, line: number, message: "public without documentation: \(line)")
            }
        }
    }

    /// Targets outside the exported product with public declarations: the optimizer inlines only these across modules,
    /// and each fix and route search uses them.
    private static let inlined: Set<String> = ["NavMap", "NavRouting", "NavMatching", "NavPositioning", "NavGuidance"]

    /// Finds public declarations in targets that only this package uses. Imports may be public, which is required if
    /// their types get a conformance.
    static func access(_ files: [SourceFile]) -> [Finding] {
        files.filter { file in
            file.isSwift && file.target.map { !exported.contains($0) && !inlined.contains($0) } ?? false
        }.flatMap { file in
            numbered(file.codeLines).compactMap { number, line in
                guard SwiftCode.contains("public ", in: line), SwiftCode.importedModule(line) == nil else { return nil }
                return Finding(
                    path: file.path, line: number, message: "public in a target that no product shows: write package")
            }
        }
    }

    static let maximumLines = 700

    static func fileLength(_ files: [SourceFile]) -> [Finding] {
        files.filter { !$0.isGenerated && isHandwritten($0.path) }.compactMap { file in
            let count = file.lines.count - (file.text.hasSuffix("\n") ? 1 : 0)
            guard count > maximumLines else { return nil }
            return Finding(
                path: file.path, line: nil,
                message: "\(count) lines, more than \(maximumLines): split the file")
        }
    }

    private static func isHandwritten(_ path: String) -> Bool {
        [".swift", ".c", ".h", ".proto", ".py", ".md", ".yaml"].contains { path.hasSuffix($0) }
    }

    /// Paths of a machine and package registries, which must not occur; split for the same reason.
    private static let foreign = [
        "/wo" + "rk/", "pypi" + ".org", "pythonhosted" + ".org", "deb.debian" + ".org", "archive.ubuntu" + ".com",
        "registry." + "npmjs", "index.crates" + ".io", "proxy.golang" + ".org",
    ]

    static func foreignWords(_ files: [SourceFile]) -> [Finding] {
        files.flatMap { file in
            numbered(file.lines).flatMap { number, line in
                foreign.filter { line.contains($0) }.map {
                    Finding(
                        path: file.path, line: number, message: "\"\($0)\" is a path or registry of one machine")
                }
            }
        }
    }

    /// The multiplier of the usual handwritten generator, split for the same reason.
    private static let multipliers = ["6364136223" + "846793005", "6_364_136_223" + "_846_793_005"]

    /// Finds handwritten random number generators: with the shared generator each seeded run can be repeated.
    static func generators(_ files: [SourceFile]) -> [Finding] {
        files.filter(\.isSwift).flatMap { file in
            numbered(file.lines).compactMap { number, line in
                guard multipliers.contains(where: { line.contains($0) }) else { return nil }
                return Finding(path: file.path, line: number, message: "a handwritten generator: use SeededRandom")
            }
        }
    }

    private static let topLevel: Set<String> = [
        "Package.swift", "Sources", "Proto", "Tests", "launch", "README.md", "LICENSE",
    ]

    /// Finds unknown names at the top level, and files that must not be committed.
    static func layout(_ paths: [String]) -> [Finding] {
        let visible = Set(paths.map { String($0.split(separator: "/")[0]) }).filter { !$0.hasPrefix(".") }
        let unknown = visible.subtracting(topLevel).sorted().map {
            Finding(path: $0, line: nil, message: "unknown name at the top level")
        }
        let built = paths.filter { path in
            let parts = path.split(separator: "/")
            return parts.contains { $0 == ".build" || $0 == "__pycache__" || $0 == ".venv" || $0 == "Package.resolved" }
                || [".o", ".a", ".so", ".pyc"].contains { path.hasSuffix($0) }
        }
        return unknown + built.map { Finding(path: $0, line: nil, message: "a build product is committed") }
    }

    private static func numbered(_ lines: [Substring]) -> [(Int, Substring)] {
        lines.enumerated().map { ($0 + 1, $1) }
    }
}
