import Foundation
import NavBag
import NavGeo
import NavHTTPServer
import NavKit
import Synchronization

/// A publish-only server of Foxglove's WebSocket protocol, version 1.
final class FoxgloveBridge: WebService {
    static let mostChannels = 4_096
    /// The shortest time between two notices of dropped messages.
    private static let noticeInterval = Duration.seconds(1)
    /// The maximum number of subscriptions of one client.
    private static let mostSubscriptions = 4_096

    private struct Channel {
        var id: UInt32
        var channel: RecordChannel
        var isLatched: Bool
        var last: Record?
    }

    private struct Client {
        /// The channel ids by the client's subscription ids.
        var subscriptions: [UInt32: UInt32] = [:]
        /// The number of messages dropped since the client was last notified.
        var missed = 0
        /// The time of the client's last notice of dropped messages.
        var notified: MonotonicInstant?
    }

    private struct State {
        /// The channels by topic.
        var channels: [String: Channel] = [:]
        var lastID: UInt32 = 0
        var clients: [WebClient: Client] = [:]
    }

    private struct Advertisement: Encodable {
        var id: UInt32
        var topic: String
        var encoding: String
        var schemaName: String
        var schema: String
        var schemaEncoding: String
    }

    private struct Advertise: Encodable {
        var op = "advertise"
        var channels: [Advertisement]
    }

    private struct Unadvertise: Encodable {
        var op = "unadvertise"
        var channelIds: [UInt32]
    }

    private struct ServerInfo: Encodable {
        var op = "serverInfo"
        var name = "navbus"
        /// Empty: clients can neither publish nor call services nor set parameters.
        var capabilities: [String] = []
        var supportedEncodings: [String] = []
        var metadata: [String: String] = [:]
        var sessionId: String
    }

    private struct Status: Encodable {
        enum Level: Int, Encodable { case info, warning, error }

        var op = "status"
        var level: Level
        var message: String
    }

    private struct Request: Decodable {
        struct Subscription: Decodable {
            var id: UInt32
            var channelId: UInt32
        }

        var op: String
        var subscriptions: [Subscription]?
        var subscriptionIds: [UInt32]?
    }

    let subprotocols = ["foxglove.sdk.v1", "foxglove.websocket.v1"]
    let origins: [String]
    private let state = Mutex(State())
    private let session = UUID().uuidString

    /// Creates a bridge.
    ///
    /// - Parameter origins: the origins of pages that may connect, in addition to Foxglove's web page and desktop program.
    init(origins: [String]) { self.origins = ["https://app.foxglove.dev", "file://"] + origins }

    // MARK: The bus

    /// Advertises a channel unless its topic is already advertised.
    func advertise(_ channel: RecordChannel, isLatched: Bool) {
        state.withLock { state in
            guard state.channels[channel.topic] == nil, state.channels.count < Self.mostChannels else { return }
            state.lastID += 1
            let entry = Channel(id: state.lastID, channel: channel, isLatched: isLatched)
            state.channels[channel.topic] = entry
            let text = Self.text(Advertise(channels: [Self.advertisement(entry)]))
            for client in state.clients.keys { client.send(text) }
        }
    }

    /// Withdraws a channel and all subscriptions to it.
    func withdraw(_ topic: String) {
        state.withLock { state in
            guard let id = state.channels.removeValue(forKey: topic)?.id else { return }
            let text = Self.text(Unadvertise(channelIds: [id]))
            for (client, content) in state.clients {
                client.send(text)
                state.clients[client]?.subscriptions = content.subscriptions.filter { $0.value != id }
            }
        }
    }

    /// Sends a message to the clients that subscribe to its channel.
    func send(_ record: Record) {
        state.withLock { state in
            guard let channel = state.channels[record.channel.topic] else { return }
            if channel.isLatched { state.channels[record.channel.topic]?.last = record }
            for (client, content) in state.clients {
                for (subscription, id) in content.subscriptions where id == channel.id {
                    Self.offer(record, subscription, to: client, &state)
                }
            }
        }
    }

    private static func offer(_ record: Record, _ subscription: UInt32, to client: WebClient, _ state: inout State) {
        guard client.offer(message(record, subscription)) else {
            state.clients[client]?.missed += 1
            return
        }
        guard let content = state.clients[client], content.missed > 0 else { return }
        let now = MonotonicClock.now()
        if let notified = content.notified, now - notified < noticeInterval { return }
        let notice = "\(content.missed) messages were dropped: this client is too slow"
        guard client.offer(text: text(Status(level: .warning, message: notice))) else { return }
        state.clients[client]?.missed = 0
        state.clients[client]?.notified = now
    }

    // MARK: Clients

    func reply(to path: String) -> WebReply {
        .text(426, "this is a WebSocket of the protocol \(subprotocols.joined(separator: " or ")): open it in Foxglove")
    }

    func joined(_ client: WebClient, path: String) {
        state.withLock { state in
            state.clients[client] = Client()
            client.send(Self.text(ServerInfo(sessionId: session)))
            let channels = state.channels.values.sorted { $0.id < $1.id }
            client.send(Self.text(Advertise(channels: channels.map(Self.advertisement))))
        }
    }

    func left(_ client: WebClient) { _ = state.withLock { $0.clients.removeValue(forKey: client) } }

    func received(_ text: [UInt8], from client: WebClient) {
        guard let request = try? JSONDecoder().decode(Request.self, from: Data(text)) else {
            return client.send(Self.text(Status(level: .error, message: "the message is not of this protocol")))
        }
        switch request.op {
        case "subscribe": subscribe(client, request.subscriptions ?? [])
        case "unsubscribe":
            state.withLock { state in
                for id in request.subscriptionIds ?? [] { state.clients[client]?.subscriptions[id] = nil }
            }
        default:
            let message = "'\(request.op.prefix(40))' is not supported: this bridge only publishes"
            client.send(Self.text(Status(level: .warning, message: message)))
        }
    }

    private func subscribe(_ client: WebClient, _ subscriptions: [Request.Subscription]) {
        state.withLock { state in
            for wanted in subscriptions {
                guard let known = state.clients[client]?.subscriptions else { return }
                guard let channel = state.channels.values.first(where: { $0.id == wanted.channelId }),
                    known[wanted.id] == nil, !known.values.contains(wanted.channelId),
                    known.count < Self.mostSubscriptions
                else {
                    let message = "subscription \(wanted.id) to channel \(wanted.channelId) is not possible"
                    client.send(Self.text(Status(level: .error, message: message)))
                    continue
                }
                state.clients[client]?.subscriptions[wanted.id] = wanted.channelId
                if let last = channel.last { Self.offer(last, wanted.id, to: client, &state) }
            }
        }
    }

    // MARK: Messages

    private static func advertisement(_ entry: Channel) -> Advertisement {
        Advertisement(
            id: entry.id, topic: entry.channel.topic, encoding: entry.channel.messageEncoding,
            schemaName: entry.channel.schemaName, schema: Data(entry.channel.schemaData).base64EncodedString(),
            schemaEncoding: entry.channel.schemaEncoding)
    }

    private static func text(_ value: some Encodable) -> [UInt8] { Array((try? JSONEncoder().encode(value)) ?? Data()) }

    /// Returns a message frame: opcode, subscription, time, payload.
    private static func message(_ record: Record, _ subscription: UInt32) -> [UInt8] {
        var bytes: [UInt8] = [1]
        bytes.reserveCapacity(13 + record.data.count)
        withUnsafeBytes(of: subscription.littleEndian) { bytes += $0 }
        withUnsafeBytes(of: record.publishTime.littleEndian) { bytes += $0 }
        return bytes + record.data
    }
}
