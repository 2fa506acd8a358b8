import Foundation
import NavBus
import NavTestKit
import Testing

/// The file system as the registry: names, stale files, and hostile files.
@Suite struct RegistryTests {
    @Test func nodeAnnouncesItselfAndCleansUp() throws {
        let bench = try Bench(.zeroMQ)
        let node = try bench.node("gnss")
        _ = try node.advertise(topic("/gnss/fix", .keepLast(16)))
        _ = try node.advertise(topic("/gnss/state", .latched))
        let snapshot = try bench.directory.inspect()
        #expect(snapshot.problems.isEmpty)
        #expect(snapshot.topics.map(\.topic.name) == ["/gnss/fix", "/gnss/state"])
        let announcement = try #require(snapshot.nodes.first)
        #expect(announcement.node == "gnss")
        #expect(announcement.processID == getpid())
        #expect(announcement.bootID == node.bootID)
        #expect(announcement.publisherEndpoint == "ipc://" + bench.directory.publisherPath("gnss"))
        #expect(announcement.topics == [topic("/gnss/fix", .keepLast(16)), topic("/gnss/state", .latched)])
        let lock = try String(contentsOfFile: bench.directory.lockPath("gnss"), encoding: .utf8)
        #expect(lock == "\(getpid())\n")
        let mode = try FileManager.default.attributesOfItem(atPath: bench.directory.nodePath("gnss"))
        #expect(mode[.posixPermissions] as? Int == 0o700)
        node.close()
        #expect(try FileManager.default.contentsOfDirectory(atPath: bench.directory.domainPath) == [])
    }

    /// Clients drop a server whose lock is free, and the sockets still send its last answers while they close.
    @Test func nameIsFreedAfterTheSocketsHaveEnded() throws {
        let bench = try Bench(.zeroMQ)
        let (node, client) = (try bench.node("gnss"), try bench.node("client"))
        var wasHeld: Bool?
        try node.serve(ServiceConformanceTests.service) { [unowned node] _ in
            node.close()
            wasHeld = NodeLock.isHeld("gnss", in: bench.directory)
        }
        _ = try client.call("test.Echo", "Say", [], options: CallOptions(timeout: .seconds(50))) { _ in }
        var error: BusError?
        try until("the end of the node") {
            _ = try client.poll(timeout: .milliseconds(5))
            error = busError { _ = try node.poll(timeout: .milliseconds(5)) }
            return error != nil
        }
        #expect(error?.code == .closed && wasHeld == true)
        #expect(!NodeLock.isHeld("gnss", in: bench.directory))
    }

    @Test func announcementSurvivesTheRoundTrip() throws {
        let bench = try Bench(.zeroMQ)
        let node = try bench.node("n")
        _ = try node.advertise(
            TopicDescription(
                name: "/x", typeName: "a.B", schemaFingerprint: .max, qos: .latest, maximumPayloadSize: 5))
        let announcement = try #require(try bench.directory.inspect().nodes.first)
        #expect(try Announcement(json: announcement.json, node: "n") == announcement)
        let text = String(decoding: try announcement.json, as: UTF8.self)
        #expect(text.contains(#""schema_fingerprint" : "ffffffffffffffff""#))
        #expect(text.contains(#""endpoints""#))
    }

    @Test func usedNameIsReportedWithItsProcess() throws {
        let bench = try Bench(.zeroMQ)
        let node = try bench.node("gnss")
        let error = busError { _ = try bench.node("gnss") }
        #expect(error?.code == .nameBusy)
        #expect(error?.description.contains("process \(getpid())") == true)
        #expect(error?.description.contains(bench.directory.lockPath("gnss")) == true)
        // The rejected node must not have touched the holder's socket.
        let publication = try node.advertise(topic("/x"))
        _ = try node.subscribe(to: "/x")
        try waitForSubscribers(1, of: publication, on: node, while: [node])
    }

    /// A process that checks whether a node is alive may be interrupted while it holds the lock.
    @Test func brieflyHeldLockOnlyDelaysANode() throws {
        let bench = try Bench(.zeroMQ)
        try FileManager.default.createDirectory(
            atPath: bench.directory.nodePath("gnss"), withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        let lock = open(bench.directory.lockPath("gnss"), O_RDWR | O_CREAT, 0o600)
        try #require(lock >= 0 && flock(lock, LOCK_SH | LOCK_NB) == 0)
        Thread.detachNewThread {
            usleep(150_000)
            close(lock)
        }
        _ = try bench.node("gnss")
    }

    @Test func filesOfAKilledNodeAreIgnoredAndRemoved() throws {
        let bench = try Bench(.zeroMQ)
        let other = try bench.node("other")
        for name in ["gnss", "lost"] {
            try FileManager.default.createDirectory(
                atPath: bench.directory.nodePath(name), withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
        }
        let holders = try ["gnss", "lost"].map { try LockHolder(bench.directory.lockPath($0)) }
        let json = try #require(try bench.directory.inspect().nodes.first).json
        let text = String(decoding: json, as: UTF8.self)
        for name in ["gnss", "lost"] {
            try text.replacingOccurrences(of: "other", with: name)
                .write(toFile: bench.directory.announcementPath(name), atomically: false, encoding: .utf8)
            try Data().write(to: URL(fileURLWithPath: bench.directory.publisherPath(name)))
        }
        #expect(try bench.directory.inspect().nodes.map(\.node) == ["gnss", "lost", "other"])
        let refused = busError { _ = try bench.node("gnss") }
        #expect(refused?.description.contains("process \(holders[0].processID)") == true)
        for holder in holders { holder.kill() }
        #expect(try bench.directory.inspect().nodes.map(\.node) == ["other"])
        let reborn = try bench.node("gnss")
        #expect(try bench.directory.inspect().nodes.map(\.node) == ["gnss", "other"])
        #expect(!FileManager.default.fileExists(atPath: bench.directory.nodePath("lost")))
        let publication = try reborn.advertise(topic("/x"))
        _ = try other.subscribe(to: "/x")
        try waitForSubscribers(1, of: publication, on: reborn, while: [other])
    }

    @Test func nodesStartedAtOnceAllJoinADeadDomain() throws {
        let bench = try Bench(.zeroMQ)
        let directory = bench.directory
        let names = (0..<8).map { "n\($0)" }
        for name in names {
            close(try bench.heldDirectory(name))
            try Data().write(to: URL(fileURLWithPath: directory.publisherPath(name)))
        }
        DispatchQueue.concurrentPerform(iterations: names.count) { index in
            do {
                let node = try BusNode(name: names[index], configuration: BusConfiguration(directory: directory))
                #expect(try directory.inspect().nodes.contains { $0.bootID == node.bootID })
            } catch {
                Issue.record(error)
            }
        }
        #expect(try directory.inspect().nodes == [])
    }

    @Test func tooLongSocketPathIsRejectedBeforeCreation() throws {
        let temporary = try TemporaryFolder()
        let long = temporary.path + "/" + String(repeating: "d", count: 100)
        let configuration = BusConfiguration(directory: try BusDirectory(path: long))
        let error = busError { _ = try BusNode(name: "gnss", configuration: configuration) }
        #expect(error?.code == .pathTooLong)
        let length = "\(long)/0/gnss/pub".utf8.count
        #expect(error?.description.contains("\(long)/0/gnss/pub has \(length) bytes") == true)
        #expect(error?.description.contains("NAVBUS_DIR") == true)
        #expect(error?.description.contains("\(length - 107) bytes shorter") == true)
        #expect(!FileManager.default.fileExists(atPath: long))
    }

    @Test func theLongestPathThatFitsWorks() throws {
        let temporary = try TemporaryFolder()
        let rest = 107 - temporary.path.utf8.count - "/".count - "/0/gnss/pub".count
        let path = temporary.path + "/" + String(repeating: "d", count: rest)
        let configuration = BusConfiguration(directory: try BusDirectory(path: path))
        let node = try BusNode(name: "gnss", configuration: configuration)
        let publication = try node.advertise(topic("/x"))
        _ = try node.subscribe(to: "/x")
        try waitForSubscribers(1, of: publication, on: node, while: [node])
    }

    @Test(arguments: [0o777, 0o770, 0o722])
    func worldWritableDirectoryIsRejected(_ mode: Int) throws {
        let bench = try Bench(.zeroMQ)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: bench.directory.path)
        let error = busError { _ = try bench.node("n") }
        #expect(error?.code == .unsafeDirectory)
        #expect(error?.description.contains("chmod 700 \(bench.directory.path)") == true)
    }

    @Test func fileOrLinkInsteadOfADirectoryIsRejected() throws {
        let bench = try Bench(.zeroMQ)
        let elsewhere = try TemporaryFolder()
        try FileManager.default.createSymbolicLink(
            atPath: bench.directory.domainPath, withDestinationPath: elsewhere.path)
        #expect(busError { _ = try bench.node("n") }?.code == .unsafeDirectory)
        try FileManager.default.removeItem(atPath: bench.directory.domainPath)
        try Data().write(to: URL(fileURLWithPath: bench.directory.domainPath))
        #expect(busError { _ = try bench.node("n") }?.code == .unsafeDirectory)
        #expect(busError { _ = try BusDirectory(path: "relative") }?.code == .invalidArgument)
        #expect(busError { _ = try BusDirectory(path: "/tmp", domain: "../etc") }?.code == .invalidName)
    }

    @Test func topicThatCannotBeAnnouncedIsRolledBack() throws {
        let bench = try Bench(.zeroMQ)
        let node = try bench.node("n")
        let obstacle = bench.directory.announcementPath("n") + ".new"
        try FileManager.default.createDirectory(atPath: obstacle, withIntermediateDirectories: false)
        let error = busError { _ = try node.advertise(topic("/x")) }
        #expect(error?.code == .registry)
        #expect(error?.description.contains(obstacle) == true)
        try FileManager.default.removeItem(atPath: obstacle)
        _ = try node.advertise(topic("/x"))
        #expect(try bench.directory.inspect().topics.map(\.topic.name) == ["/x"])
    }

    @Test func hostileAnnouncementsAreReportedWithoutDelay() throws {
        let bench = try Bench(.zeroMQ)
        let (publisher, subscriber) = (try bench.node("p"), try bench.node("s"))
        let valid = try #require(try bench.directory.inspect().nodes.first { $0.node == "p" }).json
        let text = String(decoding: valid, as: UTF8.self).replacingOccurrences(of: "/p/pub", with: "/bad/pub")
            .replacingOccurrences(of: #""node" : "p""#, with: #""node" : "bad""#)
        #expect(throws: Never.self) { try Announcement(json: Array(text.utf8), node: "bad") }
        let contents: [String] = [
            "", "not JSON", "[]", "{}", "\0\0", String(repeating: "[", count: 100_000),
            String(repeating: " ", count: Announcement.maximumSize + 1),
            text.replacingOccurrences(of: "ipc://", with: "tcp://"),
            text.replacingOccurrences(of: "/bad/pub", with: "/other/pub"),
            text.replacingOccurrences(of: #""format" : 1"#, with: #""format" : 2"#),
            text.replacingOccurrences(of: #""format" : 1"#, with: #""format" : 1e400"#),
            text.replacingOccurrences(of: #""node" : "bad""#, with: #""node" : "p""#),
            text.replacingOccurrences(
                of: #""topics" : ["#,
                with: #""topics" : [{"name":"/x\u0000y","type":"t","schema_fingerprint":"0","max_bytes":1,"#
                    + #""qos":{"kind":"latest"}}"#),
            text.replacingOccurrences(
                of: #""topics" : ["#,
                with: #""topics" : [{"name":"/x","type":"t","schema_fingerprint":"0","max_bytes":1,"#
                    + #""qos":{"kind":"keep_last","depth":-1}}"#),
        ]
        let holder = try bench.heldDirectory("bad")
        defer { close(holder) }
        let path = bench.directory.announcementPath("bad")
        _ = try subscriber.subscribe(matching: TopicFilter(), qos: .latest, maximumPayloadSize: 10)
        for content in contents {
            try content.write(toFile: path, atomically: true, encoding: .utf8)
            let snapshot = try bench.directory.inspect()
            #expect(snapshot.nodes.map(\.node) == ["p", "s"], "\(content.prefix(200))")
            #expect(snapshot.problems.count == 1)
            #expect(try subscriber.poll(timeout: .zero) == nil)
        }
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.createSymbolicLink(
            atPath: path, withDestinationPath: bench.directory.announcementPath("p"))
        #expect(try bench.directory.inspect().problems.count == 1)
        try FileManager.default.removeItem(atPath: path)
        mkfifo(path, 0o600)
        #expect(try bench.directory.inspect().problems.count == 1)
        let publication = try publisher.advertise(topic("/x"))
        try waitForSubscribers(1, of: publication, on: publisher, while: [subscriber])
    }

    @Test func vanishedRegistryKeepsConnections() throws {
        let bench = try Bench(.zeroMQ)
        let (publisher, subscriber) = (try bench.node("p"), try bench.node("s"))
        let publication = try publisher.advertise(topic("/x"))
        _ = try subscriber.subscribe(to: "/x")
        try waitForSubscribers(1, of: publication, on: publisher, while: [subscriber])
        try FileManager.default.removeItem(atPath: bench.directory.domainPath)
        for _ in 0..<30 { #expect(try subscriber.poll(timeout: .milliseconds(10)) == nil) }
        try publisher.publish([1], on: publication, stampNanoseconds: 0)
        #expect(try receive(subscriber).payload.bytes == [1])
        // The publisher has not been polled since.
        #expect(try !bench.directory.inspect().nodes.contains { $0.node == "p" })
        #expect(busError { _ = try publisher.advertise(topic("/y")) }?.code == .registry)
    }

    /// The node's files are removed first, which resembles its departure.
    @Test(arguments: [false, true])
    func nodeThatVanishesJustBeforeTheRegistryKeepsItsConnections(onlyItsLock: Bool) throws {
        let bench = try Bench(.zeroMQ)
        let (publisher, subscriber) = (try bench.node("p"), try bench.node("s"))
        let publication = try publisher.advertise(topic("/x"))
        _ = try subscriber.subscribe(to: "/x")
        try waitForSubscribers(1, of: publication, on: publisher, while: [subscriber])
        let first = onlyItsLock ? bench.directory.lockPath("p") : bench.directory.nodePath("p")
        let start = ContinuousClock.now
        try FileManager.default.removeItem(atPath: first)
        #expect(try subscriber.poll(timeout: .milliseconds(30)) == nil)
        try FileManager.default.removeItem(atPath: bench.directory.domainPath)
        // If the machine stalled for a second, the node did depart.
        guard ContinuousClock.now - start < .milliseconds(900) else { return }
        // Longer than the connection to a departed publisher is kept open.
        for _ in 0..<150 {
            #expect(try subscriber.poll(timeout: .milliseconds(10)) == nil)
            _ = try publisher.poll(timeout: .zero)
        }
        try publisher.publish([1], on: publication, stampNanoseconds: 0)
        #expect(try receive(subscriber).payload.bytes == [1])
        #expect(subscriber.statistics[topic: "/x"]?.lost == 0)
    }

    @Test func nodesWhoseFilesWereRemovedRegisterAgainWithoutLosses() throws {
        let bench = try Bench(.zeroMQ)
        var configuration = BusConfiguration(directory: bench.directory)
        configuration.rescanMilliseconds = 10
        let publisher = try BusNode(name: "p", configuration: configuration)
        let subscriber = try BusNode(name: "s", configuration: configuration)
        try publisher.serve(ServiceConformanceTests.service) { $0.finish([7]) }
        let publication = try publisher.advertise(topic("/x"))
        _ = try subscriber.subscribe(to: "/x")
        try waitForSubscribers(1, of: publication, on: publisher, while: [subscriber])
        try FileManager.default.removeItem(atPath: bench.directory.domainPath)
        var (sent, heard) = (0, 0)
        func turn() throws {
            try publisher.publish([1], on: publication, stampNanoseconds: 0)
            sent += 1
            _ = try publisher.poll(timeout: .zero)
            while try subscriber.poll(timeout: .milliseconds(5)) != nil { heard += 1 }
        }
        try until("the nodes") {
            try turn()
            return try bench.directory.inspect().nodes.map(\.node) == ["p", "s"]
        }
        for _ in 0..<150 { try turn() }
        try until("the last message") {
            if try subscriber.poll(timeout: .milliseconds(5)) != nil { heard += 1 }
            return heard == sent
        }
        #expect(subscriber.statistics[topic: "/x"]?.lost == 0)
        #expect(publisher.registryProblem == nil && subscriber.registryProblem == nil)

        let late = try bench.node("late")
        _ = try late.subscribe(to: "/x")
        try waitForSubscribers(2, of: publication, on: publisher, while: [late])
        try publisher.publish([2], on: publication, stampNanoseconds: 0)
        #expect(try receive(late).payload.bytes == [2])
        var end: CallStatus?
        _ = try late.call("test.Echo", "Say", [], options: CallOptions(timeout: .seconds(50))) {
            if case .end(let status) = $0 { end = status }
        }
        try until("the call") {
            _ = try publisher.poll(timeout: .milliseconds(2))
            _ = try late.poll(timeout: .milliseconds(2))
            return end != nil
        }
        #expect(end == .ok)
    }

    @Test func nodeWhoseNameWasTakenReportsItAndLeavesTheFilesUnchanged() throws {
        let bench = try Bench(.zeroMQ)
        var configuration = BusConfiguration(directory: bench.directory)
        configuration.rescanMilliseconds = 10
        let first = try BusNode(name: "gnss", configuration: configuration)
        try FileManager.default.removeItem(atPath: bench.directory.nodePath("gnss"))
        let second = try bench.node("gnss")
        try until("the problem") {
            _ = try first.poll(timeout: .milliseconds(20))
            return first.registryProblem != nil
        }
        #expect(first.registryProblem?.contains("'gnss' is in use by process") == true)
        first.close()
        #expect(try bench.directory.inspect().nodes.map(\.bootID) == [second.bootID])
        #expect(NodeLock.isHeld("gnss", in: bench.directory))
    }
}

extension Bench {
    /// A node's directory with its lock held by this process; close the descriptor to free it.
    func heldDirectory(_ node: String) throws -> Int32 {
        try FileManager.default.createDirectory(
            atPath: directory.nodePath(node), withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        let descriptor = open(directory.lockPath(node), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        #expect(flock(descriptor, LOCK_EX | LOCK_NB) == 0)
        return descriptor
    }
}

/// A process that holds a lock like a node, and that the test kills.
final class LockHolder {
    private let process = Process()

    init(_ path: String) throws {
        let script = """
            use Fcntl ":flock"; $| = 1; open(my $f, "+>", $ARGV[0]) or die; flock($f, LOCK_EX) or die;
            syswrite($f, "$$\\n"); print "ok\\n"; sleep 600;
            """
        process.executableURL = URL(fileURLWithPath: "/usr/bin/perl")
        process.arguments = ["-e", script, path]
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        #expect(pipe.fileHandleForReading.readData(ofLength: 3) == Data("ok\n".utf8))
    }

    deinit { kill() }

    var processID: Int32 { process.processIdentifier }

    /// Sends SIGKILL and waits for the end of the process.
    func kill() {
        guard process.isRunning else { return }
        Foundation.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }
}
