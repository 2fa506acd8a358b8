package import NIOCore
package import NIOHTTP1
import NIOWebSocket

/// The responder to the requests of one connection; called on its event loop.
package protocol HTTPResponder: AnyObject {
    /// Answers a request, now or later.
    func respond(to request: ServedRequest)
    func connectionEnded()
}

/// A request to be answered; it belongs to its connection's event loop.
package struct ServedRequest {
    package let head: HTTPRequestHead
    package let context: ChannelHandlerContext
    let connection: HTTPConnection

    /// Sends the answer.
    ///
    /// - Parameter headers: The header fields in addition to those of every answer.
    package func answer(_ status: Int, _ headers: HTTPHeaders, _ body: [UInt8]) {
        var headers = headers
        headers.add(name: "X-Content-Type-Options", value: "nosniff")
        if status != 204, status != 304 { headers.add(name: "Content-Length", value: String(body.count)) }
        if !head.isKeepAlive { headers.add(name: "Connection", value: "close") }
        let status = HTTPResponseStatus(statusCode: status)
        var last = HTTPServerResponsePart.head(
            HTTPResponseHead(version: head.version, status: status, headers: headers))
        if head.method != .HEAD, !body.isEmpty {
            context.write(NIOAny(last), promise: nil)
            last = .body(.byteBuffer(context.channel.allocator.buffer(bytes: body)))
        }
        connection.expect(within: connection.idle + Double(body.count) / HTTPConnection.slowestRate, context)
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        // The end of an answer admits the next pipelined request. It waits until the client has accepted the answer, so that a client that
        // reads nothing has at most one answer in memory.
        context.writeAndFlush(NIOAny(last)).whenComplete { _ in
            // Not at once: the next request may already be there, and answers inside answers would exhaust the stack.
            bound.eventLoop.execute { bound.value.finish() }
        }
    }

    private func finish() {
        // Before the end, which may admit a request that has arrived already and has no such deadline.
        if head.isKeepAlive { connection.expect(within: connection.idle, context) }
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        context.writeAndFlush(NIOAny(HTTPServerResponsePart.end(nil))).whenComplete { _ in
            if !bound.value.head.isKeepAlive { bound.value.context.close(promise: nil) }
        }
    }
}

/// An HTTP/1.1 connection, which handles its requests one by one. A client that stalls, or sends or reads too slowly, is
/// disconnected.
///
/// It belongs to its event loop.
package final class HTTPConnection: ChannelInboundHandler, RemovableChannelHandler {
    package typealias InboundIn = HTTPServerRequestPart
    package typealias OutboundOut = HTTPServerResponsePart

    /// The minimum rate at which a client must read, bytes per second.
    fileprivate static let slowestRate = 16_384.0

    private let responder: any HTTPResponder
    fileprivate let idle: Double
    private let longestBody: Int
    private var head: HTTPRequestHead?
    private var bodySize = 0
    private var deadline: Scheduled<Void>?
    private var isUpgraded = false

    /// - Parameters:
    ///   - idle: The longest time for a request, and between two requests, seconds.
    ///   - longestBody: The most bytes of a request after its head.
    package init(_ responder: any HTTPResponder, idle: Double, longestBody: Int) {
        (self.responder, self.idle, self.longestBody) = (responder, idle, longestBody)
    }

    package func handlerAdded(context: ChannelHandlerContext) { expect(within: idle, context) }

    package func handlerRemoved(context: ChannelHandlerContext) {
        takeOver()
        responder.connectionEnded()
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // A refused WebSocket request is answered like any other.
        if !(error is NIOWebSocketUpgradeError) { context.close(promise: nil) }
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
            bodySize = 0
        case .body(let buffer):
            bodySize += buffer.readableBytes
            if bodySize > longestBody { context.close(promise: nil) }
        case .end:
            guard let head, !isUpgraded else { return }
            self.head = nil
            deadline?.cancel()
            responder.respond(to: ServedRequest(head: head, context: context, connection: self))
        }
    }

    /// Hands the connection over to another handler, without a deadline.
    func takeOver() {
        isUpgraded = true
        deadline?.cancel()
    }

    /// Closes the connection unless there is activity in time.
    fileprivate func expect(within seconds: Double, _ context: ChannelHandlerContext) {
        guard !isUpgraded else { return }
        deadline?.cancel()
        let channel = context.channel
        deadline = context.eventLoop.scheduleTask(in: .nanoseconds(Int64(seconds * 1e9))) {
            channel.close(promise: nil)
        }
    }
}
