import Glibc

/// Standard error output whose failures never end the program.
public enum StandardError {
    /// The number of bytes that a pipe which polls writable accepts without blocking.
    private static let piece = 4_096

    /// The number of bytes written, and the error that stopped the writing.
    package struct Outcome: Equatable {
        package var written = 0
        /// The errno of the failed write; 0 when the whole text was written.
        package var error: Int32 = 0
    }

    /// Writes a text; up to 4 KiB go in a single write.
    ///
    /// - Parameter patience: the longest wait for a stalled reader, in milliseconds; then the error is `EAGAIN`.
    @discardableResult
    public static func write(_ text: String, patience: Int32 = 1_000) -> Bool {
        write(Array(text.utf8), to: STDERR_FILENO, patience: patience).error == 0
    }

    package static func write(_ bytes: [UInt8], to descriptor: Int32, patience: Int32) -> Outcome {
        var outcome = Outcome()
        while outcome.written < bytes.count {
            var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            let ready = poll(&request, 1, patience)
            if ready == 0 {
                outcome.error = EAGAIN
                return outcome
            }
            let end = min(bytes.count, outcome.written + piece)
            let count = bytes[outcome.written..<end].withUnsafeBytes {
                Glibc.write(descriptor, $0.baseAddress, $0.count)
            }
            if count > 0 {
                outcome.written += count
            } else if count == 0 || errno != EINTR {
                outcome.error = count == 0 ? EIO : errno
                return outcome
            }
        }
        return outcome
    }
}
