import NIOCore
import NIOHTTP1
import NIOWebSocket
package import NavKit

/// The answer of a ``WebService`` to a request.
package enum WebReply: Sendable {
    case content(status: Int, type: String, [UInt8])
    /// A stream of server-sent events that the client joins.
    case events

    package static func text(_ status: Int, _ text: String) -> WebReply {
        .content(status: status, type: "text/plain", Array((text + "\n").utf8))
    }
}

/// The content of a ``WebServer``; called on the server's thread.
package protocol WebService: AnyObject, Sendable {
    /// The supported WebSocket subprotocols, in order of preference; empty for a server without WebSockets.
    var subprotocols: [String] { get }
    /// The origins of pages that may send requests, in addition to those of this machine.
    var origins: [String] { get }
    func reply(to path: String) -> WebReply
    func joined(_ client: WebClient, path: String)
    func received(_ text: [UInt8], from client: WebClient)
    func left(_ client: WebClient)
}

/// A small HTTP/1.1 server with server-sent events and WebSockets, on the loopback address unless more is allowed.
///
/// It answers GET and HEAD without a body. It refuses requests that a browser sends for a page of another site: see
/// ``RequestRule``.
package final class WebServer: Sendable {
    /// The most connections at a time.
    package static let mostConnections = 32

    private let listener: HTTPListener

    /// The address of the server, HOST:PORT.
    package var address: String { listener.address }

    /// Starts to listen.
    ///
    /// - Parameter listen: HOST:PORT from the option `--listen`.
    package init(_ listen: String, allowsRemote: Bool, _ service: any WebService) throws(NodeError) {
        let rule = RequestRule(
            isLoopback: ListenAddress(text: listen)?.isLoopback ?? true, origins: Set(service.origins))
        listener = try HTTPListener(
            listen, allowsRemote: allowsRemote, connections: Self.mostConnections,
            HTTPListener.Settings(address: "--listen", permission: "--allow-remote")
        ) { channel in
            try Self.configure(channel, service, rule)
        }
    }

    /// Closes all connections and ends the thread.
    package func stop() { listener.stop() }

    private static func configure(_ channel: any Channel, _ service: any WebService, _ rule: RequestRule) throws {
        let upgrader = NIOWebSocketServerUpgrader(
            maxFrameSize: WebSocketConnection.longestMessage,
            shouldUpgrade: { channel, head in
                let offered = head.headers[canonicalForm: "sec-websocket-protocol"].map(String.init)
                guard rule.refusal(of: head) == nil,
                    let spoken = service.subprotocols.first(where: { offered.contains($0) })
                else { return channel.eventLoop.makeSucceededFuture(nil) }
                return channel.eventLoop.makeSucceededFuture(HTTPHeaders([("Sec-WebSocket-Protocol", spoken)]))
            },
            upgradePipelineHandler: { channel, head in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers(
                        UnmaskedFrameGuard(),
                        NIOWebSocketFrameAggregator(
                            minNonFinalFragmentSize: 0, maxAccumulatedFrameCount: 64,
                            maxAccumulatedFrameSize: WebSocketConnection.longestMessage),
                        WebSocketConnection(service, channel, path: head.uri))
                }
            })
        let handler = WebConnection(service, rule)
        let bound = NIOLoopBound(handler, eventLoop: channel.eventLoop)
        let pipeline = channel.pipeline.syncOperations
        try pipeline.configureHTTPServerPipeline(
            withServerUpgrade: (
                upgraders: service.subprotocols.isEmpty ? [] : [upgrader],
                completionHandler: { context in
                    context.pipeline.syncOperations.removeHandler(bound.value, promise: nil)
                }
            ), withErrorHandling: true)
        try pipeline.addHandler(handler)
    }
}

/// A connection: requests, until one becomes a stream of events.
private final class WebConnection: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    /// The longest time for a request, for its answer, and between two requests, seconds.
    private static let idle: Int64 = 30

    private let service: any WebService
    private let rule: RequestRule
    private var head: HTTPRequestHead?
    private var client: WebClient?
    private var deadline: Scheduled<Void>?

    init(_ service: any WebService, _ rule: RequestRule) { (self.service, self.rule) = (service, rule) }

    func handlerAdded(context: ChannelHandlerContext) { expect(context) }

    func handlerRemoved(context: ChannelHandlerContext) {
        deadline?.cancel()
        if let client { service.left(client) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // A refused WebSocket request is answered like any other.
        if !(error is NIOWebSocketUpgradeError) { context.close(promise: nil) }
    }

    /// Closes the connection unless a request or an answer completes in time.
    private func expect(_ context: ChannelHandlerContext) {
        deadline?.cancel()
        let channel = context.channel
        deadline = context.eventLoop.scheduleTask(in: .seconds(Self.idle)) { channel.close(promise: nil) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): self.head = head
        case .body: context.close(promise: nil)
        case .end:
            guard let head, client == nil else { return }
            self.head = nil
            respond(head, context)
        }
    }

    private func respond(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        if let refusal = rule.refusal(of: head) { return write(.text(403, refusal), head, context) }
        guard head.method == .GET || head.method == .HEAD else {
            return write(.text(405, "this server is read-only"), head, context)
        }
        write(service.reply(to: head.uri), head, context)
    }

    private func write(_ reply: WebReply, _ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        var headers = HTTPHeaders([
            ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"), ("X-Frame-Options", "DENY"),
        ])
        guard case .content(let status, let type, let bytes) = reply else { return stream(head, headers, context) }
        headers.add(name: "Content-Type", value: type + "; charset=utf-8")
        headers.add(name: "Content-Length", value: String(bytes.count))
        if status == 405 { headers.add(name: "Allow", value: "GET, HEAD") }
        if !head.isKeepAlive { headers.add(name: "Connection", value: "close") }
        let responseHead = HTTPResponseHead(
            version: head.version, status: HTTPResponseStatus(statusCode: status), headers: headers)
        context.write(wrapOutboundOut(.head(responseHead)), promise: nil)
        if head.method != .HEAD, !bytes.isEmpty {
            context.write(
                wrapOutboundOut(.body(.byteBuffer(context.channel.allocator.buffer(bytes: bytes)))), promise: nil)
        }
        expect(context)
        let channel = context.channel
        let isLast = !head.isKeepAlive
        context.writeAndFlush(wrapOutboundOut(.end(nil))).whenComplete { _ in
            if isLast { channel.close(promise: nil) }
        }
    }

    private func stream(_ head: HTTPRequestHead, _ headers: HTTPHeaders, _ context: ChannelHandlerContext) {
        guard head.method == .GET else { return write(.text(405, "an event stream supports no HEAD"), head, context) }
        deadline?.cancel()
        var headers = headers
        headers.add(name: "Content-Type", value: "text/event-stream")
        let responseHead = HTTPResponseHead(version: head.version, status: .ok, headers: headers)
        context.writeAndFlush(wrapOutboundOut(.head(responseHead)), promise: nil)
        let client = WebClient(context.channel, isSocket: false)
        self.client = client
        service.joined(client, path: head.uri)
    }
}

/// A handler that ends a connection whose client sends an unmasked frame, as RFC 6455, 5.1 requires.
private final class UnmaskedFrameGuard: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias InboundOut = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard unwrapInboundIn(data).maskKey == nil else { return context.fireChannelRead(data) }
        context.endWebSocket(.protocolError)
    }
}

extension ChannelHandlerContext {
    /// Sends a close frame with a reason, and closes the connection once it is sent.
    fileprivate func endWebSocket(_ reason: WebSocketErrorCode) {
        var code = channel.allocator.buffer(capacity: 2)
        code.write(webSocketErrorCode: reason)
        let channel = channel
        writeAndFlush(NIOAny(WebSocketFrame(fin: true, opcode: .connectionClose, data: code)))
            .whenComplete { _ in channel.close(promise: nil) }
    }
}

/// A WebSocket after its handshake.
private final class WebSocketConnection: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    /// The longest message of a client, bytes.
    static let longestMessage = 1 << 20

    private let service: any WebService
    private let client: WebClient
    private let path: String

    init(_ service: any WebService, _ channel: any Channel, path: String) {
        (self.service, self.path) = (service, path)
        client = WebClient(channel, isSocket: true)
    }

    func handlerAdded(context: ChannelHandlerContext) { service.joined(client, path: path) }

    func handlerRemoved(context: ChannelHandlerContext) { service.left(client) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent { context.endWebSocket(.goingAway) }
        context.fireUserInboundEventTriggered(event)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        var bytes = frame.unmaskedData
        switch frame.opcode {
        case .text: service.received(bytes.readBytes(length: bytes.readableBytes) ?? [], from: client)
        case .ping: client.send(bytes.readBytes(length: bytes.readableBytes) ?? [], .pong)
        case .connectionClose: context.endWebSocket(.normalClosure)
        case .binary, .pong: break
        default: context.endWebSocket(.protocolError)
        }
    }
}
