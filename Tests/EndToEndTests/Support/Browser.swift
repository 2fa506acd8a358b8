import Foundation
import NavTestSystem

/// Headless Chromium.
enum Browser {
    /// The path of the program; nil if it is not installed.
    static let path = Project.find("chromium") ?? Project.find("chromium-browser")

    /// Opens a page and returns its document after its script has run, with the console output.
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

    /// Opens a page and waits for each condition in turn, a JavaScript expression. Needs Python with websockets.
    ///
    /// - Parameter options: options of browser.py.
    static func follow(
        _ address: String, _ options: [String] = [], until conditions: [String], in box: Sandbox
    ) throws -> Program {
        guard let path else { throw Failure("Chromium is not installed") }
        return try box.start(
            Project.python,
            ["\(Project.root)/Tests/EndToEndTests/browser.py"] + options + [path, "\(box.path)/browser", address]
                + conditions)
    }

    /// The final state of a page loaded with `follow`.
    struct Page: Decodable {
        struct Times: Decodable {
            /// The time to the first contentful paint, ms.
            var paint: Double?
            /// The time until the drive is drawn, ms.
            var drawn: Double?
            /// Whether a frame showed the drive as text before the script read the data.
            var isTextFirst: Bool
        }

        var document: String
        var console: [String]
        var times: Times
    }
}
