internal import DequeModule
internal import Glibc

/// A writer of lines with an aligned name prefix that never waits for its reader.
///
/// Unread output is buffered up to a limit. Beyond it, and on a full disk, whole lines are dropped and counted per node.
///
/// A flooding node takes at most half of the buffer, and a quarter is reserved for lines of the launch itself.
struct OutputWriter {
    private static let maximumPending = 1 << 20
    private static let colors = ["36", "33", "32", "35", "34", "96", "93", "92", "95", "94"]
    /// The number of bytes that a pipe which polls writable accepts without blocking.
    private static let pipeGuarantee = 4_096

    let descriptor: Int32
    private let prefixes: [[UInt8]]
    private let launchPrefix: [UInt8]
    private var pending: [UInt8] = []
    /// The owners of the bytes in `pending`, piece by piece; nil for the launch itself.
    private var pieces: Deque<(node: Int?, length: Int)> = []
    /// The number of bytes in `pending` by node.
    private var shares: [Int]
    private var dropped: [Int]
    private var isBroken = false

    init(descriptor: Int32, names: [String], colored: Bool) {
        self.descriptor = descriptor
        let own = "launch"
        let width = (names + [own]).map(\.count).max() ?? 0
        func prefix(_ name: String, _ color: String) -> [UInt8] {
            let text = name + String(repeating: " ", count: width - name.count) + " | "
            return Array((colored ? "\u{1B}[\(color)m\(text)\u{1B}[0m" : text).utf8)
        }
        prefixes = names.enumerated().map { prefix($1, Self.colors[$0 % Self.colors.count]) }
        launchPrefix = prefix(own, "1")
        shares = Array(repeating: 0, count: names.count)
        dropped = shares
    }

    var hasPending: Bool { !pending.isEmpty }

    /// Adds a line of a node, or of the launch itself when `node` is nil.
    mutating func line(_ text: some Collection<UInt8>, of node: Int?) {
        guard !isBroken else { return }
        guard let node else {
            if pending.count + text.count < Self.maximumPending { append(text, of: nil) }
            return
        }
        let room = Self.maximumPending / 4 * 3 - pending.count
        guard text.count < room, shares[node] < Self.maximumPending / 2 else {
            dropped[node] += 1
            return
        }
        reportDropped(node)
        append(text, of: node)
    }

    /// Reports the dropped lines that were not reported yet.
    mutating func reportDropped() {
        for node in dropped.indices { reportDropped(node) }
    }

    private mutating func reportDropped(_ node: Int) {
        guard dropped[node] > 0, !isBroken else { return }
        append("[\(dropped[node]) lines dropped: the output is too slow]".utf8, of: node)
        dropped[node] = 0
    }

    private mutating func append(_ text: some Collection<UInt8>, of node: Int?) {
        let before = pending.count
        pending += node.map { prefixes[$0] } ?? launchPrefix
        pending += text
        pending.append(UInt8(ascii: "\n"))
        let length = pending.count - before
        pieces.append((node, length))
        if let node { shares[node] += length }
    }

    mutating func flush() {
        var written = 0
        while written < pending.count {
            var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            guard poll(&request, 1, 0) > 0 else { break }
            let end = min(pending.count, written + Self.pipeGuarantee)
            let count = pending[written..<end].withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 {
                if errno == EINTR { continue }
                if errno != EAGAIN {
                    // A full disk may have room again; a closed pipe stays closed.
                    isBroken = errno == EPIPE || errno == EBADF
                    for case let (node?, _) in pieces { dropped[node] += 1 }
                    written = pending.count
                }
                break
            }
            written += count
        }
        pending.removeFirst(written)
        while written > 0, let piece = pieces.first {
            let part = min(written, piece.length)
            written -= part
            if let node = piece.node { shares[node] -= part }
            if part == piece.length { pieces.removeFirst() } else { pieces[0].length -= part }
        }
    }
}
