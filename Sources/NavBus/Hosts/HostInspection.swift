internal import Glibc

extension HostConfiguration {
    /// Asks the peers for their announcements, without joining the bus.
    ///
    /// - Parameter timeout: the longest wait for an answer; peers that have not answered by then are reported as
    ///   problems.
    public func inspect(timeout: Duration = .seconds(2)) throws(BusError) -> RegistrySnapshot {
        try check()
        let configuration = BusConfiguration(directory: try BusDirectory(path: "/"))
        let context: ZeroMQContext
        do throws(ZeroMQError) {
            context = try ZeroMQContext()
        } catch {
            throw error.asBusError
        }
        let poller = try Poller()
        let peers = PeerTable(in: context, bootID: 0, configuration, self)
        peers.attach(poller, tag: 0)
        defer { peers.close() }
        try peers.lookAround()
        let deadline = Clocks.monotonic() + timeout.boundedNanoseconds
        while true {
            let now = Clocks.monotonic()
            do throws(ZeroMQError) {
                var budget = 4096
                repeat { try peers.run(now, &budget, nil) } while peers.isDirty && budget > 0
            } catch {
                throw error.asBusError
            }
            if peers.absentees.isEmpty || now >= deadline { break }
            var entry = pollfd(fd: poller.fileDescriptor, events: Int16(POLLIN), revents: 0)
            let wait = max(0, min(deadline, peers.nextTick) - now)
            _ = Glibc.poll(&entry, 1, Int32(clamping: wait / 1_000_000 + 1))
        }
        return RegistrySnapshot(
            nodes: peers.announcements(excluding: []),
            problems: peers.absentees.map {
                "the peer at \($0) does not answer: check that it is running and that the keys are right"
            })
    }
}
