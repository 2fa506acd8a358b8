import Foundation
import Glibc
import NavKit
import Synchronization

/// A progress bar on a terminal, and nothing in a pipe.
final class ProgressBar: Sendable {
    private let isShown = isatty(STDERR_FILENO) == 1
    private let width = 32
    private let shown = Mutex("")
    private let start = Date()

    /// Shows a share of work, 0 ... 1, with a word for what is being done. Work that ends within a second shows nothing.
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

/// Standard output in large pieces.
struct Output {
    private var buffer: [UInt8] = []

    mutating func line(_ text: String) {
        buffer.append(contentsOf: text.utf8)
        buffer.append(10)
        if buffer.count > 1 << 16 { flush() }
    }

    /// Adds text as it is.
    mutating func text(_ text: String) { buffer.append(contentsOf: text.utf8) }

    /// Writes what is there; a reader that has gone away ends the program quietly.
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

/// A value as JSON on one line, keys sorted.
func json(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(value), as: UTF8.self)
}
