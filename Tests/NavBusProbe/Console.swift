import Glibc

/// Prints a line immediately.
func say(_ line: String) {
    print(line)
    fflush(nil)
}

/// True once the test's end of the standard input is closed: the test has ended, or wants this process to end.
func isOrphaned() -> Bool {
    var entry = pollfd(fd: 0, events: Int16(POLLIN), revents: 0)
    return poll(&entry, 1, 0) > 0 && entry.revents & Int16(POLLHUP) != 0
}
