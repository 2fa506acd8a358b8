import Glibc

/// Prints a line immediately.
func say(_ line: String) {
    print(line)
    fflush(nil)
}

/// Returns whether the test has closed its end of the standard input: it has ended, or requests the end of this
/// process.
func isOrphaned() -> Bool {
    var entry = pollfd(fd: 0, events: Int16(POLLIN), revents: 0)
    return poll(&entry, 1, 0) > 0 && entry.revents & Int16(POLLHUP) != 0
}
