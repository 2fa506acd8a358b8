import NIOCore
import NIOHTTP1
import NIOWebSocket
import Synchronization

/// A client of a ``WebServer`` that receives messages over server-sent events or a WebSocket.
///
/// Its queue is bounded. The client is disconnected when there is no room for a mandatory message, or when it has accepted
/// nothing for half a minute while optional messages were dropped.
package final class WebClient: Sendable, Hashable {
    /// The most queued bytes for which an optional message is accepted, unless it is the only one.
    package static let longestQueue = 4 << 20
    /// The most queued bytes for which a mandatory message is accepted. The difference is reserved for mandatory messages, so that they
    /// do not disconnect a merely slow client.
    private static let limit = 2 * longestQueue
    private static let patience = TimeAmount.seconds(30)

    private let channel: any Channel
    private let isSocket: Bool
    private let waiting = Atomic<Int>(0)
    /// The last time at which the client accepted data, or had none queued; ns of NIO's clock.
    private let lastProgress = Atomic<UInt64>(0)

    init(_ channel: any Channel, isSocket: Bool) { (self.channel, self.isSocket) = (channel, isSocket) }

    package static func == (left: WebClient, right: WebClient) -> Bool { left === right }
    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }

    /// Sends a mandatory text: lines of server-sent events, or a WebSocket text message.
    package func send(_ text: [UInt8]) { send(text, .text) }

    func send(_ bytes: [UInt8], _ opcode: WebSocketOpcode) {
        if !offer(bytes, opcode, limit: Self.limit) { disconnect() }
    }

    /// Sends a binary WebSocket message if there is room for it.
    ///
    /// - Returns: whether there was room.
    package func offer(_ message: [UInt8]) -> Bool { offer(message, .binary) }

    /// Sends a WebSocket text message if there is room for it.
    ///
    /// - Returns: whether there was room.
    package func offer(text: [UInt8]) -> Bool { offer(text, .text) }

    private func offer(_ message: [UInt8], _ opcode: WebSocketOpcode) -> Bool {
        if offer(message, opcode, limit: Self.longestQueue) { return true }
        if NIODeadline.now().uptimeNanoseconds > lastProgress.load(ordering: .relaxed)
            + UInt64(Self.patience.nanoseconds)
        {
            disconnect()
        }
        return false
    }

    private func offer(_ bytes: [UInt8], _ opcode: WebSocketOpcode, limit: Int) -> Bool {
        let queued = waiting.load(ordering: .relaxed)
        guard queued == 0 || queued + bytes.count <= limit else { return false }
        if queued == 0 { noteProgress() }
        waiting.add(bytes.count, ordering: .relaxed)
        // Always asynchronous, even on the channel's own thread: a failed write or a close notifies the service of the client's
        // end, and the caller may hold the service's lock.
        channel.eventLoop.execute { [self] in
            let buffer = channel.allocator.buffer(bytes: bytes)
            let written =
                isSocket
                ? channel.writeAndFlush(WebSocketFrame(fin: true, opcode: opcode, data: buffer))
                : channel.writeAndFlush(HTTPServerResponsePart.body(.byteBuffer(buffer)))
            written.whenComplete { [self] _ in
                waiting.subtract(bytes.count, ordering: .relaxed)
                noteProgress()
            }
        }
        return true
    }

    private func disconnect() { channel.eventLoop.execute { [channel] in channel.close(promise: nil) } }

    private func noteProgress() { lastProgress.store(NIODeadline.now().uptimeNanoseconds, ordering: .relaxed) }
}
