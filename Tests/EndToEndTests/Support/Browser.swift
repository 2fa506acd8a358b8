import Foundation
import NavTestSystem

/// Chromium without a window.
enum Browser {
    /// Its program; nil where it is not installed.
    static let path = Project.find("chromium") ?? Project.find("chromium-browser")

    /// Opens a page and returns its document after its script has run, and what it said on the console.
    static func open(_ address: String, in box: Sandbox) async throws -> (document: String, console: [String]) {
        guard let path else { throw Failure("Chromium is not installed") }
        let result = try await box.succeed(
            path,
            [
                "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                "--disable-background-networking", "--user-data-dir=\(box.path)/browser", "--enable-logging=stderr",
                "--window-size=1400,900", "--virtual-time-budget=5000", "--dump-dom", address,
            ])
        let console = result.errors.split(separator: "\n").filter {
            $0.contains(":CONSOLE:") || $0.contains("CONSOLE(")
        }
        return (result.output, console.map(String.init))
    }

    /// Opens a page that is not over, and waits until each condition in turn is true: expressions of JavaScript. Needs Python with
    /// websockets.
    static func follow(_ address: String, until conditions: [String], in box: Sandbox) throws -> Program {
        guard let path else { throw Failure("Chromium is not installed") }
        return try box.start(
            Project.python,
            ["\(Project.root)/Tests/EndToEndTests/browser.py", path, "\(box.path)/browser", address] + conditions)
    }

    /// What a page that was followed shows in the end.
    struct Page: Decodable {
        var document: String
        var console: [String]
    }
}
