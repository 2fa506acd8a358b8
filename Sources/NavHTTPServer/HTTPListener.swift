import Glibc
package import NIOCore
import NIOPosix
package import NavKit
import Synchronization

/// A TCP port that accepts HTTP connections on one thread, up to a limit; further ones are closed at once.
package final class HTTPListener: Sendable {
    /// The user-visible names of the settings, for error messages.
    package struct Settings: Sendable {
        /// The option or key of the address.
        var address: String
        /// The option or key that allows addresses reachable from other machines.
        var permission: String

        package init(address: String, permission: String) { (self.address, self.permission) = (address, permission) }
    }

    /// The address of the listener, HOST:PORT.
    package let address: String
    private let group: MultiThreadedEventLoopGroup
    private let channel: any Channel
    private let connections: Connections

    /// The number of connections refused because there were too many.
    package var refusedCount: Int { connections.refused.load(ordering: .relaxed) }

    /// Starts to listen.
    ///
    /// - Parameters:
    ///   - text: HOST:PORT.
    ///   - connections: the most connections at a time.
    ///   - configure: sets up the pipeline of a connection; called on the listener's thread.
    package init(
        _ text: String, allowsRemote: Bool, connections limit: Int, _ settings: Settings,
        configure: @escaping @Sendable (any Channel) throws -> Void
    ) throws(NodeError) {
        guard let listen = ListenAddress(text: text) else {
            throw NodeError(.usage, "\(settings.address) '\(text)' is not HOST:PORT, such as 127.0.0.1:8090")
        }
        guard listen.isLoopback || allowsRemote else {
            throw NodeError(
                .usage,
                "\(settings.address) '\(text)' is reachable from other machines; use 127.0.0.1, or allow it with "
                    + settings.permission)
        }
        let connections = Connections()
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let bootstrap = ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 64)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.maxMessagesPerRead, value: 1)
            .childChannelInitializer { channel in
                guard connections.enter(channel, limit: limit) else { return channel.close() }
                let number = ObjectIdentifier(channel)
                channel.closeFuture.whenComplete { _ in connections.leave(number) }
                return channel.eventLoop.makeCompletedFuture { try configure(channel) }
            }
        do {
            channel = try bootstrap.bind(host: listen.host, port: listen.port).wait()
        } catch {
            try? group.syncShutdownGracefully()
            // An IOError's text names only the library call, so use the system's reason.
            let reason = (error as? IOError).map { String(cString: strerror($0.errnoCode)) } ?? "\(error)"
            throw NodeError(.system, "cannot listen on \(text): \(reason); is the port in use?")
        }
        (self.group, self.connections) = (group, connections)
        let host = listen.host.contains(":") ? "[\(listen.host)]" : listen.host
        address = "\(host):\(channel.localAddress?.port ?? listen.port)"
    }

    /// Closes all connections and ends the thread.
    ///
    /// - Parameter wait: called before the thread ends, to wait for work that still needs it.
    package func stop(_ wait: () -> Void = {}) {
        try? channel.close().wait()
        for connection in connections.all {
            // A WebSocket sends its close frame first.
            connection.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
            try? connection.close().wait()
        }
        wait()
        try? group.syncShutdownGracefully()
    }
}

/// The open connections of a listener.
private final class Connections: Sendable {
    let refused = Atomic<Int>(0)
    private let open = Mutex<[ObjectIdentifier: any Channel]>([:])

    var all: [any Channel] { open.withLock { Array($0.values) } }

    /// Adds a connection; false when there are too many.
    func enter(_ connection: any Channel, limit: Int) -> Bool {
        let isTaken = open.withLock { open in
            guard open.count < limit else { return false }
            open[ObjectIdentifier(connection)] = connection
            return true
        }
        if !isTaken { refused.add(1, ordering: .relaxed) }
        return isTaken
    }

    func leave(_ number: ObjectIdentifier) { open.withLock { $0[number] = nil } }
}
