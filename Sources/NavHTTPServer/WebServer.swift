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

/// A small HTTP/1.1 server with server-sent events and WebSockets, on the loopback address unless others are allowed.
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
                        FrameGuard(),
                        NIOWebSocketFrameAggregator(
                            minNonFinalFragmentSize: 0, maxAccumulatedFrameCount: 64,
                            maxAccumulatedFrameSize: WebSocketConnection.longestMessage),
                        WebSocketConnection(service, channel, path: head.uri))
                }
            })
        let handler = HTTPConnection(WebConnection(service, rule), idle: WebConnection.idle, longestBody: 0)
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
private final class WebConnection: HTTPResponder {
    /// The longest time for a request, and between two requests, seconds.
    static let idle = 30.0

    private let service: any WebService
    private let rule: RequestRule
    private var client: WebClient?

    init(_ service: any WebService, _ rule: RequestRule) { (self.service, self.rule) = (service, rule) }

    func connectionEnded() {
        if let client { service.left(client) }
    }

    func respond(to request: ServedRequest) {
        let head = request.head
        if let refusal = rule.refusal(of: head) { return answer(.text(403, refusal), request) }
        guard head.method == .GET || head.method == .HEAD else {
            return answer(.text(405, "this server is read-only"), request)
        }
        answer(service.reply(to: head.uri), request)
    }

    private func answer(_ reply: WebReply, _ request: ServedRequest) {
        var headers = HTTPHeaders([("Cache-Control", "no-store"), ("X-Frame-Options", "DENY")])
        guard case .content(let status, let type, let bytes) = reply else { return stream(request, headers) }
        headers.add(name: "Content-Type", value: type + "; charset=utf-8")
        if status == 405 { headers.add(name: "Allow", value: "GET, HEAD") }
        request.answer(status, headers, bytes)
    }

    private func stream(_ request: ServedRequest, _ headers: HTTPHeaders) {
        let (head, context) = (request.head, request.context)
        guard head.method == .GET else { return answer(.text(405, "an event stream supports no HEAD"), request) }
        request.connection.takeOver()
        var headers = headers
        headers.add(name: "X-Content-Type-Options", value: "nosniff")
        headers.add(name: "Content-Type", value: "text/event-stream")
        let responseHead = HTTPResponseHead(version: head.version, status: .ok, headers: headers)
        context.writeAndFlush(NIOAny(HTTPServerResponsePart.head(responseHead)), promise: nil)
        let client = WebClient(context.channel, isSocket: false)
        self.client = client
        service.joined(client, path: head.uri)
    }
}

/// A handler that ends a connection whose client sends an unmasked frame (RFC 6455, 5.1) or one with bits of an extension, none of which was
/// negotiated (5.2).
private final class FrameGuard: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias InboundOut = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        guard frame.maskKey != nil, !frame.rsv1, !frame.rsv2, !frame.rsv3 else {
            return context.endWebSocket(.protocolError)
        }
        context.fireChannelRead(data)
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
