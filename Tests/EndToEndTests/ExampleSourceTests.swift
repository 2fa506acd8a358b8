import Foundation
import NavTestKit
import NavTestSystem
import Testing

/// The example sources, compiled like a package that depends on the exported product: as copies without `package`
/// declarations.
@Suite(.enabled(if: Project.find("swiftc") != nil, "needs swiftc in PATH"))
struct ExampleSourceTests {
    @Test(arguments: [
        ["launch/policy/DepotPolicy.swift", "launch/policy/main.swift"], ["Tests/NavKitTests/SpeedWatch.swift"],
    ])
    func exampleCompilesInAnotherPackage(files: [String]) async throws {
        try await withSandbox { box in
            var copies: [String] = []
            for file in files {
                let text = try #require(readFile("\(Project.root)/\(file)"), "\(file) is missing")
                let product = try Self.productModules()
                let imports = text.matches(of: #/(?m)^import (\w+)$/#).map { String($0.1) }
                #expect(product.isSuperset(of: imports), "\(file) imports \(imports), the product contains \(product)")
                copies.append(try box.write((file as NSString).lastPathComponent, text))
            }
            if files.count == 1 {
                copies.append(try box.write("main.swift", "import NavKit\n\nSpeedWatch.runAndExit()\n"))
            }
            let compiler = try #require(Project.find("swiftc"))
            let run = try await box.run(
                compiler,
                ["-typecheck", "-package-name", "elsewhere", "-swift-version", "6", "-module-name", "Example"]
                    + Self.searchPaths() + copies)
            #expect(run.status == 0, "\(run.errors)")
        }
    }

    /// The modules of the product exported by `Package.swift`.
    private static func productModules() throws -> Set<String> {
        let package = try #require(readFile(Project.root + "/Package.swift"))
        let product = try #require(package.firstMatch(of: #/\.library\(name: "NavBus", targets: \[([^\]]*)\]/#))
        return Set(product.1.split(separator: ",").map { $0.trimmingCharacters(in: .init(charactersIn: " \"\n")) })
    }

    /// Returns the options with which the compiler finds the built modules and the C modules that they import.
    private static func searchPaths() throws -> [String] {
        func below(_ folder: String, _ path: String) throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: folder).sorted().map { "\(folder)/\($0)/\(path)" }
                .filter { FileManager.default.fileExists(atPath: $0) }
        }
        let system =
            try below(Project.root + "/Sources", "module.modulemap")
            + below(Project.root + "/Sources", "include/module.modulemap")
        let made = try below(Programs.folder, "module.modulemap")
        let yaml = Project.root + "/.build/checkouts/Yams/Sources/CYaml/include"
        return ["-I", Programs.folder + "/Modules", "-I", yaml]
            + system.flatMap { ["-I", ($0 as NSString).deletingLastPathComponent] }
            + made.flatMap { ["-Xcc", "-fmodule-map-file=" + $0] }
    }
}
