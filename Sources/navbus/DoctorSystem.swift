import Foundation
import Glibc
import NavBus
import NavConfig
import NavSpelling
import NavGeo
import NavKit
import NavMessages

/// The checks of the installation and the machine.
enum SystemChecks {
    static func libraries() -> [Finding] {
        let zeroMQ = "libzmq \(ZeroMQLibrary.version)"
        return [
            Finding("navbus", .ok, "version \(NavbusVersion.full), \(SchemaPool.builtIn.messages.count) message types"),
            ZeroMQLibrary.hasCurve
                ? Finding("libzmq", .ok, "\(zeroMQ) with CURVE")
                : Finding(
                    "libzmq", .warn,
                    "\(zeroMQ) without CURVE: connections between hosts cannot be encrypted; install one built with "
                        + "libsodium"),
            Finding("protobuf-c", .ok, ProtobufLibrary.version),
        ]
    }

    // MARK: Limits

    /// The number of open files that a node needs: sockets of libzmq, its own files, and a connection for each
    /// publisher.
    private static let wantedFiles: UInt64 = 1024

    static func limits() -> [Finding] {
        var findings: [Finding] = []
        var files = rlimit()
        if getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &files) == 0 {
            let text = "\(files.rlim_cur) per process"
            findings.append(
                files.rlim_cur >= wantedFiles
                    ? Finding("open files", .ok, text)
                    : Finding("open files", .warn, "\(text): raise it with ulimit -n \(wantedFiles)"))
        }
        var cores = rlimit()
        if getrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &cores) == 0 {
            let text =
                cores.rlim_cur == 0
                ? "off: a crash leaves no core dump (ulimit -c unlimited turns them on)"
                : "on, a crash leaves a core dump"
            findings.append(Finding("core dumps", .ok, text))
        }
        findings.append(inotify("max_user_instances", "inotify instances", used: used().instances))
        findings.append(inotify("max_user_watches", "inotify watches", used: used().watches))
        return findings
    }

    /// Checks an inotify limit: a subscribing node takes one instance, and a watch for each node of its domain; 50 nodes should fit.
    private static func inotify(_ name: String, _ check: String, used: Int) -> Finding {
        let path = "/proc/sys/fs/inotify/\(name)"
        guard let text = try? String(contentsOfFile: path, encoding: .utf8),
            let limit = Int(text.trimmingCharacters(in: .whitespacesAndNewlines))
        else { return Finding(check, .warn, "\(path) cannot be read: changes of the bus may be seen up to 1 s late") }
        let wanted = name == "max_user_instances" ? 64 : 64 * 64
        let said = "\(used) of \(limit) in use by this user"
        if used >= limit {
            return Finding(
                check, .fail, "\(said): nodes see changes of the bus late; sysctl fs.inotify.\(name)=\(2 * limit)")
        }
        return limit - used >= wanted
            ? Finding(check, .ok, said)
            : Finding(
                check, .warn, "\(said): too few are left for many nodes; sysctl fs.inotify.\(name)=\(used + wanted)")
    }

    /// Returns the inotify instances and watches of this user's processes.
    private static func used() -> (instances: Int, watches: Int) {
        var result = (instances: 0, watches: 0)
        let files = FileManager.default
        for process in (try? files.contentsOfDirectory(atPath: "/proc")) ?? [] where Int(process) != nil {
            var owner = stat()
            guard stat("/proc/\(process)", &owner) == 0, owner.st_uid == geteuid() else { continue }
            for descriptor in (try? files.contentsOfDirectory(atPath: "/proc/\(process)/fd")) ?? [] {
                let target = try? files.destinationOfSymbolicLink(atPath: "/proc/\(process)/fd/\(descriptor)")
                guard target == "anon_inode:inotify" else { continue }
                result.instances += 1
                let info = try? String(contentsOfFile: "/proc/\(process)/fdinfo/\(descriptor)", encoding: .utf8)
                result.watches += info?.split(separator: "\n").count { $0.hasPrefix("inotify ") } ?? 0
            }
        }
        return result
    }

    // MARK: Clocks

    static func clocks() -> [Finding] {
        var findings: [Finding] = []
        let (wall, monotonic) = (WallClock.now(), MonotonicClock.now())
        usleep(100_000)
        let drift = ((WallClock.now() - wall) - (MonotonicClock.now() - monotonic)).inSeconds
        if WallClock.now() < WallClock.earliest {
            findings.append(Finding("wall clock", .fail, "it is before 2025, so all stamps are wrong: set it"))
        } else if abs(drift) > 1e-3 {
            findings.append(
                Finding(
                    "wall clock", .warn,
                    "it moved \(Format.seconds(drift)) against the monotonic clock within 100 ms: is it being set?"))
        } else {
            findings.append(Finding("wall clock", .ok, "steady against the monotonic clock"))
        }
        findings.append(synchronisation())
        return findings
    }

    /// Checks clock synchronisation as reported by the kernel: adjtimex(2) without changes.
    private static func synchronisation() -> Finding {
        // Glibc's module omits sys/timex.h. On 64-bit Linux `maxerror` is at byte 24, `status` at 40.
        typealias Adjust = @convention(c) (UnsafeMutableRawPointer) -> Int32
        guard let symbol = dlsym(nil, "adjtimex") else {
            return Finding("time sync", .warn, "cannot be determined here")
        }
        let adjust = unsafeBitCast(symbol, to: Adjust.self)
        return withUnsafeTemporaryAllocation(byteCount: 512, alignment: 8) { buffer in
            buffer.initializeMemory(as: UInt8.self, repeating: 0)
            guard let base = buffer.baseAddress, adjust(base) >= 0 else {
                return Finding("time sync", .warn, "the kernel does not report it")
            }
            let isUnsynchronised = buffer.load(fromByteOffset: 40, as: Int32.self) & 0x40 != 0
            let error = Double(buffer.load(fromByteOffset: 24, as: Int.self)) * 1e-6
            return isUnsynchronised
                ? Finding(
                    "time sync", .warn,
                    "the clock is not synchronised: run chrony or systemd-timesyncd when several hosts are involved")
                : Finding("time sync", .ok, "synchronised, off by at most \(Format.seconds(error))")
        }
    }
}

/// The checks that other hosts answer: the configured peers on the bus, other hosts on a TCP port.
enum HostReach {
    static func parse(_ text: String) -> (host: String, port: String)? {
        let plain = text.hasPrefix("tcp://") ? String(text.dropFirst(6)) : text
        guard let colon = plain.lastIndex(of: ":"), let port = UInt16(plain[plain.index(after: colon)...]), port > 0
        else { return nil }
        let host = plain[..<colon].trimmingCharacters(in: CharacterSet(charactersIn: "[]"))
        return host.isEmpty ? nil : (host, "\(port)")
    }

    /// Checks the hosts file, and whether its hosts answer; a host that is off is not a fault of this host.
    ///
    /// - Parameter nodes: The live nodes of the domain; if empty, the listening nodes cannot be checked.
    static func hosts(among nodes: [String]) -> [Finding] {
        do throws(NodeError) {
            guard let hosts = try HostOptions.check() else {
                return [Finding("hosts", .ok, "\(HostOptions.variable) is not set: the bus is local to this host")]
            }
            for (node, endpoint) in hosts.listen.sorted(by: { $0.key < $1.key }) {
                guard let address = (try? TCPEndpoint(endpoint))?.address, address != "*", isForeign(address)
                else { continue }
                return [
                    Finding(
                        "hosts", .fail,
                        "\(hosts.path): \(node) cannot listen at \(endpoint), because no interface of this machine has that "
                            + "address")
                ]
            }
            let listening = hosts.listen.sorted { $0.key < $1.key }.map { "\($0.key) at \($0.value)" }
            let text =
                "\(hosts.path): " + (listening.isEmpty ? "no node listens" : listening.joined(separator: ", "))
                + "; \(hosts.peers.count) other host\(hosts.peers.count == 1 ? "" : "s")"
            let finding =
                hosts.isInsecure
                ? Finding(
                    "hosts", .warn, text + "; insecure: true lets everybody on the network read and write the bus")
                : Finding("hosts", .ok, text)
            let absent = nodes.isEmpty ? [] : hosts.listen.keys.sorted().filter { !nodes.contains($0) }
            return [finding]
                + absent.map { name in
                    Finding(
                        "hosts", .warn,
                        "\(hosts.path): no node '\(name)' is running in this domain, so nothing listens at "
                            + "\(hosts.listen[name] ?? "its address")\(suggestion(for: name, among: nodes))")
                }
                + peers()
        } catch {
            return [Finding("hosts", .fail, error.description)]
        }
    }

    /// Contacts the configured peers with the keys of this host, like a node.
    private static func peers() -> [Finding] {
        let (configuration, unanswered): (HostConfiguration, HostConfiguration.Unanswered)
        do throws(NodeError) {
            guard let peers = try HostOptions.peers(), !peers.peers.isEmpty else { return [] }
            configuration = peers
            unanswered = try ToolBus.attempt { () throws(BusError) in try peers.ask().unanswered }
        } catch {
            return [Finding("peer", .fail, error.description)]
        }
        return configuration.peers.map { peer in
            let endpoint = peer.endpoint
            guard let silent = unanswered.first(where: { $0.endpoint == endpoint }) else {
                return Finding("peer", .ok, "\(endpoint) answers")
            }
            if let refusal = silent.refusal {
                return Finding("peer", .fail, "\(endpoint) is not used: \(refusal)")
            }
            let host = endpoint.address.contains(":") ? "[\(endpoint.address)]" : endpoint.address
            let connection = check("tcp://\(host):\(endpoint.port)")
            return connection.state == .ok
                ? Finding(
                    "peer", .fail,
                    "\(endpoint) accepts a connection but does not answer within 2 s: does a node listen there, and does "
                        + "it hang?")
                : Finding("peer", .warn, connection.text)
        }
    }

    /// Whether no interface of this machine has a numeric address.
    private static func isForeign(_ address: String) -> Bool {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_NUMERICHOST
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(address, "0", &hints, &list) == 0, let found = list else { return false }
        defer { freeaddrinfo(list) }
        let socket = Glibc.socket(found.pointee.ai_family, found.pointee.ai_socktype | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { return false }
        defer { close(socket) }
        return bind(socket, found.pointee.ai_addr, found.pointee.ai_addrlen) != 0 && errno == EADDRNOTAVAIL
    }

    /// Tries to connect, for at most a second.
    static func check(_ text: String) -> Finding {
        guard let (host, port) = parse(text) else { return Finding("peer", .fail, "\(text): not HOST:PORT") }
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, port, &hints, &list)
        guard code == 0, let address = list else {
            return Finding("peer", .fail, "\(text): \(String(cString: gai_strerror(code)))")
        }
        defer { freeaddrinfo(list) }
        let socket = Glibc.socket(
            address.pointee.ai_family,
            address.pointee.ai_socktype | Int32(SOCK_NONBLOCK.rawValue)
                | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { return Finding("peer", .fail, "\(text): \(String(cString: strerror(errno)))") }
        defer { close(socket) }
        var failure: Int32 = 0
        if connect(socket, address.pointee.ai_addr, address.pointee.ai_addrlen) != 0 {
            guard errno == EINPROGRESS else {
                return Finding("peer", .fail, "\(text): \(String(cString: strerror(errno)))")
            }
            var entry = pollfd(fd: socket, events: Int16(POLLOUT), revents: 0)
            guard poll(&entry, 1, 1000) == 1 else {
                return Finding(
                    "peer", .fail, "\(text): no answer within 1 s: is the host up, with no firewall in between?")
            }
            var size = socklen_t(MemoryLayout<Int32>.size)
            getsockopt(socket, SOL_SOCKET, SO_ERROR, &failure, &size)
        }
        return failure == 0
            ? Finding("peer", .ok, "\(text) accepts connections")
            : Finding("peer", .fail, "\(text): \(String(cString: strerror(failure))): does a node listen there?")
    }
}
