import Foundation
import Glibc
import NavKit
import Synchronization

/// A progress bar on a terminal; no output in a pipe.
final class ProgressBar: Sendable {
    private let isShown = isatty(STDERR_FILENO) == 1
    private let width = 32
    private let shown = Mutex("")
    private let start = Date()

    /// Shows the completed share, 0 ... 1, with the name of the phase; work that ends within a second shows no bar.
    func show(_ fraction: Double, _ phase: String) {
        guard isShown, Date().timeIntervalSince(start) > 1 else { return }
        let share = fraction.isFinite ? min(max(fraction, 0), 1) : 0
        let filled = Int(share * Double(width))
        let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled)
        let line = "\r\(bar) \(Int(share * 100)) % \(phase)\u{1b}[K"
        shown.withLock { shown in
            guard line != shown else { return }
            shown = line
            StandardError.write(line)
        }
    }

    func finish() {
        shown.withLock { shown in
            guard !shown.isEmpty else { return }
            shown = ""
            StandardError.write("\r\u{1b}[K")
        }
    }
}

/// Buffered standard output.
struct Output {
    private var buffer: [UInt8] = []

    mutating func line(_ text: String) {
        buffer.append(contentsOf: text.utf8)
        buffer.append(10)
        if buffer.count > 1 << 16 { flush() }
    }

    /// Adds text unchanged.
    mutating func text(_ text: String) { buffer.append(contentsOf: text.utf8) }

    /// Writes the buffer; if the reader has closed the pipe, the program ends silently.
    mutating func flush() {
        var offset = 0
        while offset < buffer.count {
            let written = buffer.withUnsafeBytes {
                write(STDOUT_FILENO, $0.baseAddress?.advanced(by: offset), $0.count - offset)
            }
            if written < 0 {
                if errno == EINTR { continue }
                if errno == EPIPE { exit(0) }
                Console.note("standard output cannot be written: \(String(cString: strerror(errno)))")
                exit(1)
            }
            offset += written
        }
        buffer.removeAll(keepingCapacity: true)
    }
}

/// Returns a value as JSON on one line with sorted keys, and control characters escaped.
func json(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return Console.escaped(json: String(decoding: try encoder.encode(value), as: UTF8.self))
}
