import Foundation
import NavTestSystem
import Testing

extension Trait where Self == ConditionTrait {
    /// The test needs a browser and the Python package that ``Browser`` drives it with.
    static var needsBrowser: Self {
        .enabled(
            if: Browser.path != nil && Python.has("websockets"),
            "SKIPPED: needs Chromium (Debian's package chromium) and Python with websockets")
    }
}

/// Headless Chromium, driven by Python with websockets; see ``needsBrowser``.
enum Browser {
    /// The path of the program; nil if it is not installed.
    static let path = Project.find("chromium") ?? Project.find("chromium-browser")

    /// Opens a page of a drive and returns it once it is drawn.
    static func open(_ address: String, in box: Sandbox) async throws -> Page {
        try await show(address, until: ["document.documentElement.dataset.ready === 'true'"], in: box)
    }

    /// Opens a page, waits for each condition in turn, a JavaScript expression, and returns the page.
    ///
    /// - Parameter options: options of browser.py.
    static func show(
        _ address: String, _ options: [String] = [], until conditions: [String], in box: Sandbox
    ) async throws -> Page {
        try await page(of: follow(address, options, until: conditions, in: box))
    }

    /// Starts to open a page, for a test that acts until its conditions are met; see ``show(_:_:until:in:)``.
    static func follow(
        _ address: String, _ options: [String] = [], until conditions: [String], in box: Sandbox
    ) throws -> Program {
        guard let path else { throw Failure("Chromium is not installed") }
        return try box.start(
            Project.python,
            ["\(Project.root)/Tests/EndToEndTests/browser.py"] + options + [path, "\(box.path)/browser", address]
                + conditions)
    }

    /// Waits for the conditions of ``follow(_:_:until:in:)`` and returns the page.
    static func page(of browser: Program) async throws -> Page {
        let result = try await browser.wait()
        guard result.status == 0 else { throw Failure("Chromium does not show the page: \(result.errors)") }
        return try JSONDecoder().decode(Page.self, from: Data(result.output.utf8))
    }

    /// The final state of a page.
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
