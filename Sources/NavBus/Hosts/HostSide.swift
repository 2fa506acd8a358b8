/// The part of a ``BusNode`` that other hosts see, and by which it sees them.
///
/// It has a ZeroMQ context of its own, and so an I/O thread of its own: encryption and strangers that connect do not
/// delay what passes between the nodes of this host.
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

    /// True when there may be something to do that no descriptor tells of.
    var isDirty: Bool { peers.isDirty || listener?.isDirty ?? false }

    /// Takes what arrived from other hosts, calls and announcements alike.
    func run(
        _ now: Int64, _ budget: inout Int, _ server: ServiceServer, _ client: ServiceClient
    ) throws(ZeroMQError) {
        if let listener, listener.isDirty { try listener.run(now, &budget, server) }
        if peers.isDirty || now >= peers.nextTick { try peers.run(now, &budget, client) }
    }

    /// The moment when ``run(_:_:_:_:)`` is needed at the latest, monotonic nanoseconds.
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
