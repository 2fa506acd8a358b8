import Dispatch
import NIOCore
import NIOHTTP1
import NavHTTPServer
import NavKit
import Synchronization

/// A server of tiles to web maps over HTTP/1.1, on the loopback address unless more is allowed.
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
            try pipeline.addHandler(TileConnection(answers, keys, tally))
        }
    }

    /// Closes all connections and ends the thread.
    ///
    /// Pending answers are cancelled and awaited first, since they could not be delivered to a thread that has ended.
    func stop() { listener.stop { tally.answers.wait() } }
}

final class TileServerTally: Sendable {
    let requests = Atomic<Int>(0)
    /// The pending answers.
    let answers = DispatchGroup()
}

/// A connection, which handles one request after the other.
///
/// It belongs to its event loop.
private final class TileConnection: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    /// The minimum rate at which a client must read, bytes per second.
    private static let slowestRate = 16_384.0
    /// The most bytes of a request after its head.
    private static let longestBody = 4_096

    private let answers: TileAnswers
    private let keys: TileServerKeys
    private let tally: TileServerTally
    private var head: HTTPRequestHead?
    private var bodySize = 0
    private var deadline: Scheduled<Void>?
    /// The task that answers the current request.
    private var answering: Task<Void, Never>?

    init(_ answers: TileAnswers, _ keys: TileServerKeys, _ tally: TileServerTally) {
        self.answers = answers
        self.keys = keys
        self.tally = tally
    }

    func channelActive(context: ChannelHandlerContext) {
        expect(within: keys.idle, context)
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        deadline?.cancel()
        answering?.cancel()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    /// Closes the connection unless something happens in time.
    private func expect(within seconds: Double, _ context: ChannelHandlerContext) {
        deadline?.cancel()
        let channel = context.channel
        deadline = context.eventLoop.scheduleTask(in: .nanoseconds(Int64(seconds * 1e9))) {
            channel.close(promise: nil)
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
            bodySize = 0
        case .body(let buffer):
            bodySize += buffer.readableBytes
            if bodySize > Self.longestBody { context.close(promise: nil) }
        case .end:
            guard let head else { return }
            self.head = nil
            deadline?.cancel()
            tally.requests.add(1, ordering: .relaxed)
            respond(head, context)
        }
    }

    private func respond(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        switch head.method {
        case .GET, .HEAD: break
        case .OPTIONS:
            return write(
                TileReply(204, [("Access-Control-Allow-Methods", "GET, HEAD"), ("Access-Control-Max-Age", "86400")]),
                head, context)
        default: return write(TileReply(405, [("Allow", "GET, HEAD, OPTIONS")]), head, context)
        }
        guard let request = TileRequest(path: head.uri) else {
            return write(
                .text(404, "not found; this server has /{tileset}.json and /{tileset}/{z}/{x}/{y}"), head, context)
        }
        let encodings = head.headers[canonicalForm: "accept-encoding"]
        let conditions = TileAnswers.Conditions(
            known: head.headers[canonicalForm: "if-none-match"].map(String.init),
            encodings: head.headers.contains(name: "accept-encoding") ? encodings.joined(separator: ",") : nil,
            host: host(head, context))
        let loop = context.eventLoop
        let bound = NIOLoopBound((self, context), eventLoop: loop)
        tally.answers.enter()
        answering = Task { [answers, tally] in
            let reply = await answers.answer(request, conditions)
            loop.execute {
                let (handler, context) = bound.value
                handler.answering = nil
                if context.channel.isActive { handler.write(reply, head, context) }
            }
            tally.answers.leave()
        }
    }

    /// Returns the address by which the client knows this server: its Host field, if that is a possible address.
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

    private func write(_ reply: TileReply, _ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        var headers = HTTPHeaders(reply.headers.map { ($0.name, $0.value) })
        if !keys.origin.isEmpty {
            headers.add(name: "Access-Control-Allow-Origin", value: keys.origin)
            headers.add(name: "Access-Control-Expose-Headers", value: "ETag")
        }
        headers.add(name: "X-Content-Type-Options", value: "nosniff")
        if reply.status != 204, reply.status != 304 {
            headers.add(name: "Content-Length", value: String(reply.body.count))
        }
        if !head.isKeepAlive { headers.add(name: "Connection", value: "close") }
        let status = HTTPResponseStatus(statusCode: reply.status)
        context.write(
            wrapOutboundOut(.head(HTTPResponseHead(version: head.version, status: status, headers: headers))),
            promise: nil)
        if head.method != .HEAD, !reply.body.isEmpty {
            context.write(
                wrapOutboundOut(.body(.byteBuffer(context.channel.allocator.buffer(bytes: reply.body)))), promise: nil)
        }
        // A client that reads too slowly is disconnected.
        expect(within: keys.idle + Double(reply.body.count) / Self.slowestRate, context)
        let isLast = !head.isKeepAlive
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        context.writeAndFlush(wrapOutboundOut(.end(nil))).whenComplete { _ in
            let (handler, context) = bound.value
            if isLast {
                context.close(promise: nil)
            } else if handler.head == nil {
                handler.expect(within: handler.keys.idle, context)
            }
        }
    }
}
