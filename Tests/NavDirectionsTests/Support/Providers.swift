import Foundation
import NavTestKit
import NavTestSupport
import NavTestSystem

/// `osrm-routed` and `valhalla_service` on an extract, which run for the lifetime of this object.
final class Providers {
    /// Python with osrm-bindings and pyvalhalla.
    static let python = ProcessInfo.processInfo.environment["NAVBUS_PYTHON_PEERS"]
    /// The extract of the tests: a small one, unless the environment names another one of the shared data.
    static let map = ProcessInfo.processInfo.environment["NAVBUS_DIRECTIONS_MAP"] ?? "andorra"
    /// The number of pairs of places to request.
    static let pairs = ProcessInfo.processInfo.environment["NAVBUS_DIRECTIONS_PAIRS"].flatMap { Int($0) } ?? 40

    /// Whether all prerequisites are available.
    static let areThere = python != nil && RealMap.path(map) != nil

    let osrm: String
    let valhalla: String
    private let process = Process()
    private let input = Pipe()
    private let folder: TemporaryFolder

    init() throws {
        guard let python = Providers.python, let map = RealMap.path(Providers.map) else {
            throw Failure("NAVBUS_PYTHON_PEERS is not set, or the extract '\(Providers.map)' is missing")
        }
        folder = try TemporaryFolder()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: python)
        process.arguments = ["\(TestData.project)/Tests/Peers/directions.py", map, folder.path]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        // The script ends or prints a line with "ready", so reading does not block for longer than it runs.
        var text = ""
        while !text.contains("ready") {
            let data = output.fileHandleForReading.availableData
            if data.isEmpty { break }
            text += String(decoding: data, as: UTF8.self)
        }
        let places = text.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        guard let osrm = places.first(where: { $0.first == "osrm" })?.last,
            let valhalla = places.first(where: { $0.first == "valhalla" })?.last, text.contains("ready")
        else {
            try? input.fileHandleForWriting.close()
            process.waitUntilExit()
            throw Failure("the providers did not start: \(text)")
        }
        (self.osrm, self.valhalla) = (osrm, valhalla)
    }

    /// Ends both servers and waits until they have exited.
    deinit {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }
}
