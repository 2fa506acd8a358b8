/// The part of a ``BusNode`` that connects it with other hosts, in both directions.
///
/// It has its own ZeroMQ context, and thus its own I/O thread, so that encryption and connection attempts of unknown hosts do not delay
/// traffic between the nodes of this host.
final class HostSide {
    let peers: PeerTable
    let listener: HostListener?

    init(bootID: UInt64, _ configuration: BusConfiguration, _ hosts: HostConfiguration) throws(BusError) {
        let context: ZeroMQContext
        do throws(ZeroMQError) {
            context = try ZeroMQContext()
        } catch {
            throw error.asBusError
        }
        listener =
            if let listen = hosts.listen {
                try HostListener(at: listen, in: context, bootID: bootID, configuration, hosts)
            } else {
                nil
            }
        peers = PeerTable(in: context, bootID: bootID, configuration, hosts)
    }

    /// Whether there may be work that no descriptor signals.
    var isDirty: Bool { peers.isDirty || listener?.isDirty ?? false }

    /// Handles what arrived from other hosts, calls and announcements alike.
    func run(
        _ now: Int64, _ budget: inout Int, _ server: ServiceServer, _ client: ServiceClient
    ) throws(ZeroMQError) {
        if let listener, listener.isDirty { try listener.run(now, &budget, server) }
        if peers.isDirty || now >= peers.nextTick { try peers.run(now, &budget, client) }
    }

    /// The latest time at which ``run(_:_:_:_:)`` must be called, in monotonic nanoseconds.
    var nextTick: Int64 { peers.nextTick }

    var statistics: HostStatistics {
        var statistics = listener?.statistics ?? HostStatistics()
        peers.add(to: &statistics)
        return statistics
    }

    func close() {
        peers.close()
        listener?.close()
    }
}
