internal import Foundation
internal import Glibc

/// The machine on which the figures were measured.
package enum Machine {
    /// Lines for the head of a report: processors, kernel, load and the build.
    package static var description: [String] {
        var lines = ["machine  \(processor), \(ProcessInfo.processInfo.activeProcessorCount) processors, \(memory)"]
        lines.append("kernel   \(kernel)")
        lines.append("load     \(loadAverage)")
        lines.append("build    \(build)")
        return lines
    }

    /// The load averages of 1, 5 and 15 minutes; figures from a busy machine have little meaning.
    package static var loadAverage: String {
        var loads = [0.0, 0.0, 0.0]
        guard getloadavg(&loads, 3) == 3 else { return "unknown" }
        return loads.map { String(format: "%.2f", $0) }.joined(separator: " ")
    }

    private static var processor: String {
        guard let text = try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8) else { return "unknown" }
        let line = text.split(separator: "\n").first { $0.hasPrefix("model name") || $0.hasPrefix("Model") }
        let name = line?.split(separator: ":").last.map { $0.drop { $0 == " " } }
        return name.map(String.init) ?? "unknown"
    }

    private static var memory: String { "\(ProcessInfo.processInfo.physicalMemory >> 20) MiB" }

    private static var kernel: String {
        var name = utsname()
        guard uname(&name) == 0 else { return "unknown" }
        return [text(&name.sysname), text(&name.release), text(&name.machine)].joined(separator: " ")
    }

    private static func text<Tuple>(_ field: inout Tuple) -> String {
        withUnsafeBytes(of: &field) { bytes in String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self) }
    }

    private static var build: String {
        #if DEBUG
            "debug: these figures mean nothing, build with -c release"
        #else
            "release"
        #endif
    }
}
