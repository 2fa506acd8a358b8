import Dispatch
import NIOCore
import NIOHTTP1
import NavHTTPServer
import NavKit
import Synchronization

/// A server of tiles to web maps over HTTP/1.1, on the loopback address unless configured otherwise.
///
/// It has one thread and a bounded number of connections. A client that stalls, or sends or reads too slowly, is
/// disconnected.
final class TileServer: Sendable {
    private let listener: HTTPListener
    private let tally = TileServerTally()

    /// The address that it listens on, HOST:PORT.
    var address: String { listener.address }
    /// Requests answered since the start.
    var requestCount: Int { tally.requests.load(ordering: .relaxed) }
    /// Connections closed at once because there were too many.
    var refusedCount: Int { listener.refusedCount }

    init(_ keys: TileServerKeys, lookup: TileLookup) throws(NodeError) {
        let answers = TileAnswers(lookup: lookup, patience: Int64(keys.idle * 1e9))
        let tally = tally
        listener = try HTTPListener(
            keys.listen, allowsRemote: keys.allowsRemote, connections: keys.connections,
            HTTPListener.Settings(address: "http.listen", permission: "http.allow_remote=true")
        ) { channel in
            let pipeline = channel.pipeline.syncOperations
            try pipeline.configureHTTPServerPipeline(withErrorHandling: true)
            try pipeline.addHandler(
                HTTPConnection(
                    TileConnection(answers, keys, tally), idle: keys.idle, longestBody: TileConnection.longestBody))
        }
    }

    /// Closes all connections and ends the thread.
    ///
    /// Pending answers are cancelled and awaited first, since a thread that has ended could not deliver them.
    func stop() { listener.stop { tally.answers.wait() } }
}

final class TileServerTally: Sendable {
    let requests = Atomic<Int>(0)
    /// The pending answers.
    let answers = DispatchGroup()
}

/// The requests of a connection.
private final class TileConnection: HTTPResponder {
    /// The maximum size of a request's body, bytes.
    static let longestBody = 4_096

    private let answers: TileAnswers
    private let keys: TileServerKeys
    private let tally: TileServerTally
    /// The task that answers the current request.
    private var answering: Task<Void, Never>?

    init(_ answers: TileAnswers, _ keys: TileServerKeys, _ tally: TileServerTally) {
        self.answers = answers
        self.keys = keys
        self.tally = tally
    }

    func connectionEnded() { answering?.cancel() }

    func respond(to request: ServedRequest) {
        tally.requests.add(1, ordering: .relaxed)
        let (head, context) = (request.head, request.context)
        switch head.method {
        case .GET, .HEAD: break
        case .OPTIONS:
            return write(
                TileReply(204, [("Access-Control-Allow-Methods", "GET, HEAD"), ("Access-Control-Max-Age", "86400")]),
                request)
        default: return write(TileReply(405, [("Allow", "GET, HEAD, OPTIONS")]), request)
        }
        guard let tile = TileRequest(path: head.uri) else {
            return write(.text(404, "not found; this server has /{tileset}.json and /{tileset}/{z}/{x}/{y}"), request)
        }
        let encodings = head.headers[canonicalForm: "accept-encoding"]
        let conditions = TileAnswers.Conditions(
            known: head.headers[canonicalForm: "if-none-match"].map(String.init),
            encodings: head.headers.contains(name: "accept-encoding") ? encodings.joined(separator: ",") : nil,
            host: host(head, context))
        let loop = context.eventLoop
        let bound = NIOLoopBound((self, request), eventLoop: loop)
        tally.answers.enter()
        answering = Task { [answers, tally] in
            let reply = await answers.answer(tile, conditions)
            loop.execute {
                let (handler, request) = bound.value
                handler.answering = nil
                if request.context.channel.isActive { handler.write(reply, request) }
            }
            tally.answers.leave()
        }
    }

    /// Returns the address at which the client reached this server: its Host field, if that is a valid address.
    private func host(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) -> String {
        let own = context.channel.localAddress.map { "\($0.ipAddress ?? keys.listen):\($0.port ?? 0)" } ?? keys.listen
        guard let hostHeader = head.headers.first(name: "host"), (1...255).contains(hostHeader.utf8.count),
            hostHeader.utf8.allSatisfy({ byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: ".-:[]".utf8.contains(byte)
                }
            })
        else { return own }
        return hostHeader
    }

    private func write(_ reply: TileReply, _ request: ServedRequest) {
        var headers = HTTPHeaders(reply.headers.map { ($0.name, $0.value) })
        if !keys.origin.isEmpty {
            headers.add(name: "Access-Control-Allow-Origin", value: keys.origin)
            headers.add(name: "Access-Control-Expose-Headers", value: "ETag")
        }
        request.answer(reply.status, headers, reply.body)
    }
}
