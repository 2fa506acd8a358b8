import Testing

/// Tests of each rule on examples that it must find and examples that it must accept.
@Suite struct RuleTests {
    func file(_ text: String, _ path: String = "Sources/NavGeo/A.swift") -> SourceFile {
        SourceFile(path: path, text: text)
    }

    func texts(_ findings: [Finding]) -> [String] { findings.map(\.description) }

    @Test func importsOfPureTargetsAreFound() {
        let found = Rules.imports([
            file("import Glibc\npublic import NavMap\ninternal import Foundation\n"),
            file("internal import CNavProto\nimport Foundation\n", "Sources/NavBag/B.swift"),
            file("import struct CZlib.z_stream\n", "Sources/NavTileCache/C.swift"),
        ])
        #expect(
            texts(found) == [
                "Sources/NavGeo/A.swift:2: NavGeo must not import NavMap",
                "Sources/NavGeo/A.swift:3: NavGeo must not import Foundation",
                "Sources/NavTileCache/C.swift:1: NavTileCache must not import CZlib",
            ])
        #expect(Rules.imports([file("// import Foundation\nlet text = \"import Foundation\"\n")]).isEmpty)
    }

    @Test func socketsAndProcessesInPureTestsAreFound() {
        let text = "import NavGeo\nimport NavTestSystem\n"
        let found = Rules.testImports(
            ["NavGeoTests/A.swift", "NavTestSupport/B.swift"].map { file(text, "Tests/" + $0) })
        #expect(
            texts(found) == [
                "Tests/NavGeoTests/A.swift:2: NavGeoTests must not import NavTestSystem",
                "Tests/NavTestSupport/B.swift:2: NavTestSupport must not import NavTestSystem",
            ])
        #expect(Rules.testImports([file(text, "Tests/NavBusTests/A.swift")]).isEmpty)
    }

    @Test(arguments: [
        "let now = Date()", "let x = Double.random(in: 0...1)", "print(x)", "let clock = ContinuousClock()",
        "clock_gettime(CLOCK_MONOTONIC, &t)", "let t = time(nil)", "let f = fopen(path, \"r\")",
        "let f = open(path, O_RDONLY)", "var g = SystemRandomNumberGenerator()", "let text = \"\\(Date())\"",
        "Task { await x() }", "items.shuffle()", "fputs(\"x\", stderr)",
    ])
    func impureCodeIsFound(line: String) {
        #expect(Rules.purity([file("func f() {\n\(line)\n}")]).map(\.line) == [2])
        #expect(Rules.purity([file(line, "Sources/NavKit/A.swift")]).isEmpty)
    }

    @Test(arguments: [
        "// print(x)", "/* a /* Date() */ print(1) */", "let text = \"print(x)\"", "let raw = #\"Date() \"x\" \\(y)\"#",
        "let long = \"\"\"\n  print(x) \"quoted\"\n  \"\"\"", "func print(_ x: Int) {}", "let a = blueprint(x)",
        "validDate(x)", "let b = travel.time(of: step)", "let c = time(of: step)", "var openTiles = 1", "item.print(1)",
        "let d = TimedDate(x)", "heap.open(node)", "let environment = 1",
    ])
    func pureCodeIsNotReported(line: String) {
        #expect(texts(Rules.purity([file(line)])) == [])
    }

    @Test func missingDocumentationOfTheExportedProductIsFound() {
        let text = "public import Glibc\n/// A.\n@frozen\npublic struct A {\n    public var b = 1\n    var c = 2\n}\n"
        let found = Rules.documentation([file(text), file(text, "Sources/NavMap/B.swift")])
        #expect(texts(found) == ["Sources/NavGeo/A.swift:5: public without documentation: public var b = 1"])
    }

    @Test func publicDeclarationsOutsideTheProductAreFound() {
        let text =
            "public import NavGeo\n// public struct B\npublic struct A {\n    package var b = C.public\n    public let c = 1\n}\n"
        #expect(Rules.access([file(text, "Sources/NavBag/A.swift")]).map(\.line) == [3, 5])
        #expect(Rules.access([file(text), file(text, "Sources/NavRouting/B.swift")]).isEmpty)
    }

    @Test func namesOfTheGlossaryThatDoNotExistAreFound() {
        let rows = "| term | meaning | in code | on the wire |\n|---|---|---|---|\n| fix | one | `Fix` | `GnssFix` |\n"
        let table = file(rows + "| step | two | `Step`, `Fix.none` | `RouteStep` |\n", Rules.glossary)
        let found = Rules.glossaryNames([table, file("struct Fix {}"), file("message GnssFix {", "Proto/gnss.proto")])
        #expect(found.map(\.message) == ["Step does not exist", "Fix.none does not exist", "RouteStep does not exist"])
        #expect(found.map(\.line) == [4, 4, 4])
    }

    @Test func topicNamesOutsideTheirTableAreFound() {
        let table = file("let fix = Topic<GnssFix>(\n    \"/gnss/fix\", .latest)", Rules.topicTable)
        let names = "/// \"/gnss/fix\"\nlet a = \"/gnsses/fix\"\nlet b = [\"/gnss/fix\"]\n"
        let uses = file(names + "let c = [\"/gnss/*\", \"/gnss/\\(d)\"]\nlet e = \"/gnss/fix is late\"")
        #expect(Rules.topicNames([table, uses]).map(\.line) == [3, 4, 4])
        #expect(Rules.topicNames([uses]).count == 1, "a missing table is a finding")
    }

    @Test(arguments: [
        "let x = try! f()", "let y = z as! Int", "fatalError(\"no\")", "final class A: @unchecked Sendable {}",
    ])
    func trapsAreFound(line: String) {
        #expect(Rules.soundness([file("\n" + line)]).map(\.line) == [2])
        #expect(Rules.soundness([file("// " + line)]).isEmpty)
        #expect(Rules.soundness([file(line, "Tests/NavGeoTests/A.swift")]).isEmpty)
    }

    @Test func anUncheckedSendableWithAReasonIsAllowed() {
        #expect(Rules.soundness([file("// Guarded by its lock.\nfinal class A: @unchecked Sendable {}")]).isEmpty)
    }

    @Test func unfinishedWorkIsFoundInCommentsToo() {
        let mark = "TO" + "DO"
        #expect(Rules.finished([file("// \(mark): later", "launch/demo")]).count == 1)
        #expect(Rules.finished([file("let \(mark)S = 1")]).isEmpty)
    }

    @Test(arguments: [
        "// let x = 1", "    // var y: Int = 2", "// if x {", "// }", "// buffer.append(x)", "// try writer.close()",
        "// import Foundation", "// x += 1;",
    ])
    func commentedOutCodeIsFound(line: String) {
        #expect(Rules.commentedOutCode([file(line)]).count == 1)
    }

    @Test(arguments: [
        "// Let the reader go first.", "// if the heap is empty, stop", "/// let x = 1", "// O(n)", "// let it be",
        "// See Newson and Krumm (2009)", "// import order matters here", "//", "// 1.5 (measured)",
    ])
    func proseIsNotReported(line: String) {
        #expect(texts(Rules.commentedOutCode([file(line)])) == [])
    }

    @Test func longFilesAreFoundUnlessGenerated() {
        let fits = String(repeating: "x\n", count: Rules.maximumLines)
        #expect(Rules.fileLength([file(fits)]).isEmpty)
        #expect(Rules.fileLength([file(fits + "x\n")]).count == 1)
        #expect(Rules.fileLength([file(fits + fits, "Sources/CNavProto/generated/navbus.pb-c.c")]).isEmpty)
        #expect(Rules.fileLength([file(fits + fits, "Tests/Fixtures/drive.csv")]).isEmpty)
    }

    @Test func machinePathsAndRegistriesAreFound() {
        #expect(Rules.foreignWords([file("cd /wo" + "rk/project", "launch/test")]).map(\.line) == [1])
        #expect(Rules.foreignWords([file("https://pypi" + ".org/simple", "README.md")]).count == 1)
        #expect(Rules.foreignWords([file("a/network/b, https://github.com/x/y")]).isEmpty)
    }

    @Test func handwrittenGeneratorsAreFound() {
        let text = "state = state &* 6_364_136_" + "223_846_793_005 &+ 1\n\nstate *= 63641362238467" + "93005\n"
        #expect(Rules.generators([file(text, "Tests/NavBusTests/A.swift")]).map(\.line) == [1, 3])
        #expect(Rules.generators([file("var random = SeededRandom(seed: 7)\n")]).isEmpty)
    }

    @Test func unknownTopLevelNamesAndBuildProductsAreFound() {
        let found = Rules.layout([
            "Package.swift", ".ci/run", ".gitignore", "notes.txt", "tools/x", "Sources/A/a.o", "Package.resolved",
            "Tests/Peers/__pycache__/a.pyc", "launch/demo",
        ])
        #expect(
            found.map(\.path) == [
                "Package.resolved", "notes.txt", "tools", "Sources/A/a.o", "Package.resolved",
                "Tests/Peers/__pycache__/a.pyc",
            ])
    }
}
