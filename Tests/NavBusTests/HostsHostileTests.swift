import CZeroMQ
import Foundation
import NavBus
import NavSimulation
import NavTestKit
import Testing

/// Hostile clients at the TCP ports, which are denied and counted without an effect on admitted clients.
@Suite struct HostsHostileTests {
    @Test func clientWithoutAllowedKeyIsDeniedReportedAndInformed() throws {
        let (vehicle, desk, stranger) = (try TestHost(), try TestHost(), try TestHost())
        let server = try vehicle.listener("server", allowing: [desk.keys.publicKey])
        let publication = try server.advertise(topic("/t", .latched))
        try server.publish([1], on: publication, stampNanoseconds: 1)
        let endpoint = try #require(server.listeningEndpoint)
        let intruder = try stranger.node("intruder", peer: endpoint, key: vehicle.keys.publicKey)
        _ = try intruder.subscribe(to: "/t")
        try until("the denial") {
            try server.runServices(timeout: .milliseconds(2))
            try intruder.runServices(timeout: .milliseconds(2))
            return server.hostStatistics.denied >= 2 && server.hostStatistics.refused >= 1
                && !stranger.events.all.isEmpty
        }
        #expect(intruder.peerAnnouncements.isEmpty && intruder.statistics.topics.allSatisfy { $0.received == 0 })
        let denials = vehicle.events.all.compactMap { event -> (CurvePublicKey, String)? in
            if case .denied(let key, let address) = event { (key, address) } else { nil }
        }
        // Denials are logged once but always counted.
        #expect(denials.count == 1)
        #expect(denials.first?.0 == stranger.keys.publicKey && denials.first?.1 == "127.0.0.1")
        #expect(vehicle.events.all.contains { $0.description.contains("'\(stranger.keys.publicKey)'") })
        #expect(stranger.events.all.contains { $0.description.contains("denies this host's key") })
        #expect(server.hostStatistics.watchers == 0)

        // Once the server restarts with the client's key in its list, it admits the client without a restart of the
        // client.
        server.close()
        let next = try vehicle.listener(
            "server", allowing: [desk.keys.publicKey, stranger.keys.publicKey], at: endpoint)
        let again = try next.advertise(topic("/t", .latched))
        try next.publish([2], on: again, stampNanoseconds: 1)
        #expect(try receive(intruder, while: [next]).payload.bytes == [2])
    }

    @Test func inspectionReportsWhyAPeerRefuses() throws {
        let (vehicle, desk, stranger) = (try TestHost(), try TestHost(), try TestHost())
        let server = try vehicle.listener("server", allowing: [desk.keys.publicKey])
        let endpoint = try #require(server.listeningEndpoint)
        let (right, wrong) = (vehicle.keys.publicKey, try CurveKeyPair.generate().publicKey)
        for (keys, key, reason) in [
            (stranger.keys, right, "denies this host's key"), (desk.keys, wrong, "check its public key"),
        ] {
            let configuration = HostConfiguration(
                peers: [.init(endpoint: endpoint, key: key)], security: .curve(keys, allowed: []))
            let answer = Box<RegistrySnapshot>()
            DispatchQueue.global().async { answer.set(try? configuration.inspect(timeout: .seconds(60))) }
            try until("the inspection") {
                try server.runServices(timeout: .milliseconds(5))
                return answer.isSet
            }
            let problems = try #require(answer.value?.problems)
            #expect(problems.count == 1 && problems.allSatisfy { $0.contains(reason) && $0.contains("\(endpoint)") })
        }
    }

    @Test func changesOfTheKeyFileApplyToTheNextConnection() throws {
        let (vehicle, desk) = (try TestHost(), try TestHost())
        let folder = try TemporaryFolder()
        let path = folder.path + "/allowed"
        func allow(_ keys: [CurvePublicKey]) throws {
            try keys.map { "\($0)\n" }.joined().write(toFile: path, atomically: true, encoding: .utf8)
            chmod(path, 0o644)
        }
        try allow([vehicle.keys.publicKey])
        var hosts = HostConfiguration(
            listen: try TCPEndpoint("tcp://127.0.0.1:0"), security: .curve(vehicle.keys, allowed: []))
        hosts.allowedKeysFile = path
        let server = try vehicle.node("server", hosts)
        let endpoint = try #require(server.listeningEndpoint)
        let first = try desk.node("first", peer: endpoint, key: vehicle.keys.publicKey)
        _ = try first.subscribe(to: "/t")
        func turn(_ what: String, _ node: BusNode, _ condition: () -> Bool) throws {
            try until(what) {
                for node in [server, node] { try node.runServices(timeout: .milliseconds(2)) }
                return condition()
            }
        }
        try turn("the denial", first) { server.hostStatistics.denied >= 1 }
        #expect(first.peerAnnouncements.isEmpty)

        try allow([vehicle.keys.publicKey, desk.keys.publicKey])
        try turn("the admission", first) { !first.peerAnnouncements.isEmpty }
        #expect(vehicle.events.all.contains(.allowedKeysChanged(path: path, count: 2)))

        try allow([vehicle.keys.publicKey])
        let denied = server.hostStatistics.denied
        let second = try desk.node("second", peer: endpoint, key: vehicle.keys.publicKey)
        _ = try second.subscribe(to: "/t")
        try turn("the second denial", second) { server.hostStatistics.denied > denied }
        #expect(second.peerAnnouncements.isEmpty)
    }

    @Test func clientsWithWrongKeyOrWithoutEncryptionReceiveNothing() throws {
        let (vehicle, desk) = (try TestHost(), try TestHost())
        let server = try vehicle.listener("server", allowing: [desk.keys.publicKey])
        let publication = try server.advertise(topic("/t", .latched))
        try server.publish([1], on: publication, stampNanoseconds: 1)
        let endpoint = try #require(server.listeningEndpoint)
        let mistaken = try desk.node("mistaken", peer: endpoint, key: try CurveKeyPair.generate().publicKey)
        let plain = try desk.node("plain", peer: endpoint, key: nil, plain: true)
        let bare = try ZeroMQSocket(.subscriber, in: ZeroMQContext())
        try bare.set(ZMQ_SUBSCRIBE, [])
        try bare.connect("tcp://127.0.0.1:\(endpoint.publisherPort)")
        for node in [mistaken, plain] { _ = try node.subscribe(to: "/t") }
        try until("the refusals") {
            for node in [server, mistaken, plain] { try node.runServices(timeout: .milliseconds(2)) }
            return server.hostStatistics.refused >= 6 && desk.events.all.count >= 2
        }
        #expect(mistaken.peerAnnouncements.isEmpty && plain.peerAnnouncements.isEmpty)
        #expect(try server.subscriberCount(of: publication) == 0)
        var message = zmq_msg_t()
        zmq_msg_init(&message)
        #expect(try withUnsafeMutablePointer(to: &message) { try bare.receive(into: $0) } == false)
        #expect(vehicle.events.all.contains { if case .refused = $0 { true } else { false } })
        #expect(server.hostStatistics.denied == 0)
    }

    @Test(arguments: [false, true])
    func invalidBytesOnBothPortsDoNotAffectAdmittedClients(plain: Bool) throws {
        let hosts = try TwoHosts(plain: plain)
        let publication = try hosts.server.advertise(topic("/t", .keepLast(100)))
        _ = try hosts.client.subscribe(to: "/t", qos: .keepLast(100), maximumPayloadSize: 100)
        try hosts.turn("the subscription") { try hosts.server.subscriberCount(of: publication) == 1 }
        let endpoint = try #require(hosts.server.listeningEndpoint)
        var random = SeededRandom(seed: 1)
        let greeting: [UInt8] = [0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 0]
        let mechanism = Array((plain ? "NULL" : "CURVE").utf8) + [UInt8](repeating: 0, count: plain ? 16 : 15)
        let openings: [[UInt8]] = [
            (0..<4096).map { _ in random.next() },
            Array("GET / HTTP/1.1\r\nHost: x\r\n\r\n".utf8),
            greeting + mechanism + [UInt8](repeating: 0, count: 32) + (0..<500).map { _ in random.next() },
            // A frame of one gigabyte, and one of 2^63 bytes.
            greeting + mechanism + [UInt8](repeating: 0, count: 32) + [2, 0, 0, 0, 0, 0x40, 0, 0, 0, 1, 2, 3],
            greeting + mechanism + [UInt8](repeating: 0, count: 32) + [6, 0x80, 0, 0, 0, 0, 0, 0, 0, 1],
            Array(greeting.prefix(7)),
        ]
        for round in 0..<3 as Range<UInt8> {
            for opening in openings {
                for port in [endpoint.port, endpoint.publisherPort] { try BareConnection(port: port).send(opening) }
            }
            try hosts.server.publish([round], on: publication, stampNanoseconds: 1)
            #expect(try receive(hosts.client, while: [hosts.server]).payload.bytes == [round])
        }
        try hosts.turn("the count") { hosts.server.hostStatistics.connections >= 38 }
        try hosts.turn("the refusals") { hosts.server.hostStatistics.refused == 36 }
        #expect(hosts.client.statistics[topic: "/t"]?.lost == 0)
        #expect(hosts.client.hostStatistics.peersPresent == 1)
    }

    @Test func malformedMessagesOfAnAdmittedClientAreCountedUnanswered() throws {
        let (vehicle, desk) = (try TestHost(), try TestHost())
        let server = try vehicle.listener("server", allowing: nil)
        let endpoint = try #require(server.listeningEndpoint)
        let dealer = try ZeroMQSocket(.dealer, in: ZeroMQContext())
        try dealer.connect("tcp://127.0.0.1:\(endpoint.port)")
        var random = SeededRandom(seed: 2)
        var messages: [[[UInt8]]] = [
            [[]], [[8]], [[8, 9], [], []], [[8, 200], []], [[8, 10], [1, 2, 3]], [[8, 2], []],
            Array(repeating: [1], count: 200),
        ]
        for _ in 0..<200 {
            let count = Int.random(in: 0...80, using: &random)
            messages.append([[1] + (0..<count).map { _ in random.next() }, []])
        }
        for frames in messages {
            for (index, frame) in frames.enumerated() {
                #expect(frame.withUnsafeBytes { dealer.send($0, more: index < frames.count - 1) } == nil)
            }
        }
        try until("the count") {
            try server.runServices(timeout: .milliseconds(2))
            return server.serviceStatistics.malformed >= 100
        }
        #expect(server.hostStatistics.watchers == 0)
        // A subsequent valid request is served.
        let client = try desk.node("client", peer: endpoint, key: nil, plain: true)
        _ = try client.subscribe(to: "/t")
        try until("the peer") {
            for node in [server, client] { try node.runServices(timeout: .milliseconds(2)) }
            return client.hostStatistics.peersPresent == 1
        }
    }

    @Test func anInvalidPeerAnnouncementIsCountedAndReportedOnce() throws {
        let desk = try TestHost()
        let peer = try RawPeer()
        let client = try desk.node(
            "client", peer: TCPEndpoint("tcp://127.0.0.1:\(peer.port)"), key: nil, plain: true)
        _ = try client.subscribe(matching: TopicFilter(), qos: .latest, maximumPayloadSize: 10)
        try until("the count") {
            try client.runServices(timeout: .milliseconds(2))
            try peer.answer("{\"format\": 1")
            return client.hostStatistics.malformed >= 2
        }
        #expect(client.peerAnnouncements.isEmpty)
        #expect(desk.events.all.count == 1 && desk.events.all[0].description.contains("not valid JSON"))
    }

    @Test func clientsAreAdmittedWhileTheNodeIsBusy() throws {
        let hosts = try TwoHosts()
        let publication = try hosts.server.advertise(topic("/t", .latched))
        _ = try hosts.client.subscribe(to: "/t")
        // The server's thread does not poll, yet its authenticator still answers.
        try until("the admission") {
            try hosts.client.runServices(timeout: .milliseconds(5))
            return hosts.server.hostStatistics.connections == 1
        }
        for _ in 0..<20 { try hosts.client.runServices(timeout: .milliseconds(5)) }
        #expect(hosts.server.hostStatistics.refused == 0)
        try hosts.turn("the subscription") { try hosts.server.subscriberCount(of: publication) == 1 }
    }

    @Test func missingKeysAndUnusableEndpointsAreRejected() throws {
        let (host, other) = (try TestHost(), try CurveKeyPair.generate())
        let listen = try TCPEndpoint("tcp://127.0.0.1:0")
        let peer = try TCPEndpoint("tcp://127.0.0.1:7600")
        #expect(
            busError { _ = try host.listener("a", allowing: []) }?.description.contains("no host may connect") == true)
        #expect(
            busError { _ = try host.node("a", peer: peer, key: nil) }?.description.contains("public key") == true)
        for unreachable in ["tcp://*:7600", "tcp://10.0.0.1:0"] {
            #expect(
                busError { _ = try host.node("a", peer: TCPEndpoint(unreachable), key: other.publicKey) }?.code
                    == .invalidArgument)
        }
        // The name is free after each failure, and the error for a port in use has advice.
        let first = try host.listener("a", allowing: [other.publicKey], at: listen)
        let taken = try #require(first.listeningEndpoint)
        let error = busError { _ = try host.listener("b", allowing: [other.publicKey], at: taken) }
        #expect(error?.code == .transport && error?.description.contains("are free") == true)
        first.close()
        let second = try host.listener("b", allowing: [other.publicKey], at: taken)
        #expect(second.listeningEndpoint == taken)
    }
}
