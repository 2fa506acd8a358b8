import Foundation
import NavTestSystem

/// Chromium without a window.
enum Browser {
    /// Its program; nil where it is not installed.
    static let path = Project.find("chromium") ?? Project.find("chromium-browser")

    /// Opens a page and returns its document after its script has run, and what it said on the console.
    ///
    /// - Parameter seconds: how long the page runs; nil for five seconds of its own time, which pass at once.
    static func open(
        _ address: String, in box: Sandbox, seconds: Int? = nil
    ) async throws -> (document: String, console: [String]) {
        guard let path else { throw Failure("Chromium is not installed") }
        let result = try await box.succeed(
            path,
            [
                "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                "--disable-background-networking", "--user-data-dir=\(box.path)/browser", "--enable-logging=stderr",
                "--window-size=1400,900", seconds.map { "--timeout=\($0 * 1_000)" } ?? "--virtual-time-budget=5000",
                "--dump-dom", address,
            ])
        let console = result.errors.split(separator: "\n").filter {
            $0.contains(":CONSOLE:") || $0.contains("CONSOLE(")
        }
        return (result.output, console.map(String.init))
    }
}
