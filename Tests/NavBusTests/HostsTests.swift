import CZeroMQ
import Foundation
import NavBus
import NavTestKit
import Testing

/// Nodes of two hosts over loopback; each has a separate directory, so that they are connected only over TCP.
@Suite struct HostsTests {
    @Test(arguments: [false, true])
    func topicsCrossHostsBothWaysInOrderWithoutLoss(plain: Bool) throws {
        let hosts = try TwoHosts(plain: plain)
        let publication = try hosts.server.advertise(topic("/nav/progress", .keepLast(2000)))
        _ = try hosts.client.subscribe(to: "/nav/progress", qos: .keepLast(2000), maximumPayloadSize: 1000)
        try hosts.turn("the subscription") { try hosts.server.subscriberCount(of: publication) == 1 }
        for value in 0..<500 as Range<Int64> {
            try hosts.server.publish([UInt8(value % 256)], on: publication, stampNanoseconds: value)
        }
        for value in 0..<500 as Range<Int64> {
            let message = try receive(hosts.client, while: [hosts.server])
            #expect(message.header.stampNanoseconds == value && message.header.bootID == hosts.server.bootID)
        }
        #expect(hosts.client.statistics[topic: "/nav/progress"]?.lost == 0)
        #expect(hosts.client.peerAnnouncements.map(\.node) == ["server"])
        #expect(hosts.client.hostStatistics.peersPresent == 1 && hosts.server.hostStatistics.watchers == 1)
        #expect(hosts.server.hostStatistics.denied == 0 && hosts.server.hostStatistics.refused == 0)
    }

    @Test func lateJoinersOfAnyHostGetTheLatchedValueOnce() throws {
        let hosts = try TwoHosts()
        let publication = try hosts.server.advertise(topic("/nav/state", .latched))
        let local = try hosts.vehicle.node("local", nil)
        _ = try local.subscribe(to: "/nav/state", qos: .latched, maximumPayloadSize: 100)
        try waitForSubscribers(1, of: publication, on: hosts.server, while: [local])
        try hosts.server.publish([7], on: publication, stampNanoseconds: 1)
        _ = try hosts.client.subscribe(to: "/nav/state", qos: .latched, maximumPayloadSize: 100)
        #expect(try receive(hosts.client, while: [hosts.server]).payload.bytes == [7])
        #expect(try receive(local).payload.bytes == [7])
        #expect(try local.poll(timeout: .zero) == nil)
    }

    @Test func filterFindsLaterTopicsOfAnotherHost() throws {
        let hosts = try TwoHosts()
        _ = try hosts.client.subscribe(matching: TopicFilter(), qos: .keepLast(8), maximumPayloadSize: 100)
        try hosts.turn("the peer") { hosts.client.hostStatistics.peersPresent == 1 }
        for name in ["/a/one", "/a/two", "/a/three"] {
            let publication = try hosts.server.advertise(topic(name, .latched))
            try hosts.server.publish([1], on: publication, stampNanoseconds: 1)
        }
        var seen: Set<String> = []
        for _ in 0..<3 { seen.insert(try receive(hosts.client, while: [hosts.server]).topic) }
        #expect(seen == ["/a/one", "/a/two", "/a/three"])
    }

    @Test func callsAndStreamsWorkAcrossHostsWithDeadlinesAndEnds() throws {
        let hosts = try TwoHosts()
        var held: ServerCall?
        try hosts.meet()
        try hosts.server.serve(ServiceConformanceTests.service) { call in
            switch call.method {
            case "Say": call.finish(call.request.bytes.reversed())
            case "Wait": held = call
            default:
                for value in 0..<20 { call.send([UInt8(value)]) }
                call.finish(.ok)
            }
        }
        try hosts.turn("the announcement") { hosts.client.peerAnnouncements.contains { !$0.services.isEmpty } }
        let say = try call(hosts, "Say", [1, 2, 3])
        #expect(say.status == .ok && say.responses == [[3, 2, 1]])
        let stream = try call(hosts, "Count", [])
        #expect(stream.status == .ok && stream.responses == (0..<20).map { [UInt8($0)] })
        // The node is addressed by its name, with and without its address.
        for node in ["server", "server@127.0.0.1:\(try #require(hosts.server.listeningEndpoint).port)"] {
            #expect(try call(hosts, "Say", [9], node: node).status == .ok)
        }
        #expect(try call(hosts, "Say", [9], node: "serve").status.code == .unavailable)
        #expect(try call(hosts, "Wait", [], timeout: .milliseconds(300)).status.code == .deadlineExceeded)
        try hosts.turn("the server's cancellation") { held?.isCancelled == true }
    }

    @Test func localServerIsPreferred() throws {
        let hosts = try TwoHosts()
        let local = try hosts.desk.node("zz-server", nil)
        for (node, name) in [(hosts.server, UInt8(1)), (local, 2)] {
            try node.serve(ServiceConformanceTests.service) { $0.finish([name]) }
        }
        try hosts.meet()
        var response: [UInt8]?
        _ = try hosts.client.call(
            ServiceConformanceTests.service.name, "Say", [], options: CallOptions(timeout: .seconds(30))
        ) {
            if case .response(let payload) = $0 { response = payload.bytes }
        }
        try hosts.turn("the answer") {
            try local.runServices(timeout: .milliseconds(1))
            return response != nil
        }
        #expect(response == [2])
    }

    @Test func departedPeerEndsItsCallsAndIsFoundAfterARestart() throws {
        let hosts = try TwoHosts()
        let endpoint = try #require(hosts.server.listeningEndpoint)
        let publication = try hosts.server.advertise(topic("/t"))
        try hosts.server.serve(ServiceConformanceTests.service) { _ in }
        _ = try hosts.client.subscribe(to: "/t")
        try hosts.turn("the subscription") { try hosts.server.subscriberCount(of: publication) == 1 }
        var status: CallStatus?
        _ = try hosts.client.call(
            ServiceConformanceTests.service.name, "Wait", [], options: CallOptions(timeout: .seconds(50))
        ) {
            if case .end(let end) = $0 { status = end }
        }
        try hosts.turn("the call") { hosts.server.serviceStatistics.serving == 1 }
        let firstLife = hosts.server.bootID
        hosts.server.close()
        try until("the end of the call") {
            try hosts.client.runServices(timeout: .milliseconds(5))
            return status != nil && hosts.client.peerAnnouncements.isEmpty
        }
        #expect(status?.code == .unavailable)

        let next = try hosts.vehicle.listener("server", allowing: [hosts.desk.keys.publicKey], at: endpoint)
        let again = try next.advertise(topic("/t"))
        try until("the subscription to the next life") {
            try hosts.client.runServices(timeout: .milliseconds(5))
            return try next.subscriberCount(of: again) == 1
        }
        try next.publish([5], on: again, stampNanoseconds: 5)
        let message = try receive(hosts.client, while: [next])
        #expect(message.header.bootID == next.bootID && message.header.bootID != firstLife)
        try until("the next life's announcement") {
            for node in [next, hosts.client] { try node.runServices(timeout: .milliseconds(2)) }
            return hosts.client.hostStatistics.peersPresent == 1
        }
        let found = hosts.desk.events.all.compactMap { event -> UInt64? in
            if case .peerFound(_, "server", let bootID) = event { bootID } else { nil }
        }
        #expect(found == [firstLife, next.bootID])
        #expect(hosts.desk.events.all.contains { if case .peerLost = $0 { true } else { false } })
    }

    @Test func silentPeerIsDroppedAndItsTopicsResumeOnReturn() throws {
        let hosts = try TwoHosts()
        let publication = try hosts.server.advertise(topic("/t"))
        _ = try hosts.client.subscribe(to: "/t")
        try hosts.turn("the subscription") { try hosts.server.subscriberCount(of: publication) == 1 }
        // The server's thread stops polling, but its sockets stay open.
        try until("the silence") {
            _ = try hosts.client.poll(timeout: .milliseconds(20))
            return hosts.client.peerAnnouncements.isEmpty
        }
        try hosts.server.publish([1], on: publication, stampNanoseconds: 1)
        #expect(try receive(hosts.client).payload.bytes == [1])
        try hosts.turn("the peer's return") { hosts.client.hostStatistics.peersPresent == 1 }
    }

    @Test(arguments: [false, true])
    func peerIsReceivedAgainAfterAnOversizedFrame(plain: Bool) throws {
        let hosts = try TwoHosts(plain: plain, maximumMessageSize: 10_000)
        let large = try hosts.server.advertise(topic("/large"))
        let small = try hosts.server.advertise(topic("/small"))
        _ = try hosts.client.subscribe(to: "/large")
        _ = try hosts.client.subscribe(to: "/small")
        try hosts.turn("the subscriptions") {
            try hosts.server.subscriberCount(of: large) == 1 && hosts.server.subscriberCount(of: small) == 1
        }
        for round in UInt8(1)...2 {
            try hosts.server.publish([UInt8](repeating: 1, count: 50_000), on: large, stampNanoseconds: 0)
            try until("a small message after the large one") {
                try hosts.server.publish([round], on: small, stampNanoseconds: 0)
                _ = try hosts.server.poll(timeout: .zero)
                // Messages of the first round may still arrive in the second.
                while let delivery = try hosts.client.poll(timeout: .milliseconds(20)) {
                    if delivery.payload.withUnsafeBytes({ $0.first }) == round { return true }
                }
                return false
            }
        }
        #expect(hosts.client.statistics.cutConnections == 2)
        #expect(hosts.client.statistics[topic: "/large"]?.received == 0)
        // The messages published while the connection was cut are lost.
        #expect(try #require(hosts.client.statistics[topic: "/small"]).lost > 0)
        #expect(hosts.client.hostStatistics.peersPresent == 1)
    }

    @Test func peerIsFoundAgainAfterAFailedHandshakeBeforeItsTimeout() throws {
        let (vehicle, desk) = (try TestHost(), try TestHost())
        let former = try vehicle.listener("server", allowing: nil)
        // Closing the node frees its ports.
        let endpoint = try #require(former.listeningEndpoint)
        former.close()
        let client = try desk.node("client", peer: endpoint, key: nil, plain: true)
        _ = try client.subscribe(to: "/t")
        var raw: RawPeer? = try RawPeer(port: endpoint.port)
        let json = """
            {"format": 1, "node": "server", "pid": 1, "boot_id": "1", "topics": [],
             "endpoints": {"pub": "tcp://*:\(endpoint.publisherPort)"}}
            """
        try until("the peer") {
            try raw?.answer(json)
            try client.runServices(timeout: .milliseconds(2))
            return client.hostStatistics.peersPresent == 1
        }
        // The peer disappears without an end message, and a node that requires encryption replaces it at once.
        raw = nil
        let encrypted = try listener(of: vehicle, at: endpoint, allowing: [desk.keys.publicKey])
        try until("the refusal and the absence") {
            for node in [encrypted, client] { try node.runServices(timeout: .milliseconds(2)) }
            return client.hostStatistics.peersPresent == 0
                && desk.events.all.contains { if case .peerRefused = $0 { true } else { false } }
        }
        encrypted.close()
        let plain = try listener(of: vehicle, at: endpoint, allowing: nil)
        try until("the peer's return") {
            for node in [plain, client] { try node.runServices(timeout: .milliseconds(2)) }
            return client.hostStatistics.peersPresent == 1
        }
    }

    /// Returns the node `server`, created as soon as its ports are free.
    private func listener(
        of host: TestHost, at endpoint: TCPEndpoint, allowing allowed: Set<CurvePublicKey>?
    ) throws -> BusNode {
        var node: BusNode?
        try until("the ports", pause: 5) {
            node = try? host.listener("server", allowing: allowed, at: endpoint)
            return node != nil
        }
        return try #require(node)
    }

    @Test func publishingNodeIsFoundAndCallersWaitForItToPoll() throws {
        let hosts = try TwoHosts()
        let publication = try hosts.server.advertise(topic("/t"))
        try hosts.server.serve(ServiceConformanceTests.service) { $0.finish([3]) }
        _ = try hosts.client.subscribe(to: "/t")
        var response: [UInt8]?
        try until("a message") {
            try hosts.server.publish([1], on: publication, stampNanoseconds: 1)
            return try hosts.client.poll(timeout: .milliseconds(2)) != nil
        }
        _ = try hosts.client.call(
            ServiceConformanceTests.service.name, "Say", [], options: CallOptions(timeout: .seconds(50))
        ) {
            if case .response(let payload) = $0 { response = payload.bytes }
        }
        for _ in 0..<100 {
            try hosts.server.publish([1], on: publication, stampNanoseconds: 1)
            _ = try hosts.client.poll(timeout: .milliseconds(2))
        }
        #expect(response == nil)
        try until("the answer") {
            try hosts.server.runServices(timeout: .milliseconds(1))
            _ = try hosts.client.poll(timeout: .milliseconds(1))
            return response != nil
        }
        #expect(response == [3])
    }

    @Test func peerListWithTheNodeItselfBringsNoDuplicates() throws {
        let host = try TestHost()
        let first = try host.listener("first", allowing: [host.keys.publicKey])
        let endpoint = try #require(first.listeningEndpoint)
        let second = try host.node("second", peer: endpoint, key: host.keys.publicKey)
        let publication = try first.advertise(topic("/t"))
        _ = try second.subscribe(to: "/t")
        try until("the peer") {
            for node in [first, second] { try node.runServices(timeout: .milliseconds(2)) }
            return try second.hostStatistics.peersPresent == 1 && first.subscriberCount(of: publication) == 1
        }
        for value in 0..<20 as Range<UInt8> { try first.publish([value], on: publication, stampNanoseconds: 0) }
        for value in 0..<20 as Range<UInt8> { #expect(try receive(second, while: [first]).payload.bytes == [value]) }
        #expect(second.statistics[topic: "/t"]?.duplicates == 0)
        #expect(try first.subscriberCount(of: publication) == 1)
    }

    @Test func inspectionReportsPeerTopicsAndAbsentPeers() throws {
        let hosts = try TwoHosts()
        _ = try hosts.server.advertise(topic("/nav/route", .latched))
        let endpoint = try #require(hosts.server.listeningEndpoint)
        let key = hosts.vehicle.keys.publicKey
        let nobody = try TCPEndpoint("tcp://127.0.0.1:1")
        let configuration = HostConfiguration(
            peers: [.init(endpoint: endpoint, key: key), .init(endpoint: nobody, key: key)],
            security: .curve(hosts.desk.keys, allowed: []))
        let answer = Box<RegistrySnapshot>()
        DispatchQueue.global().async { answer.set(try? configuration.inspect(timeout: .seconds(3))) }
        try until("the inspection") {
            try hosts.server.runServices(timeout: .milliseconds(5))
            return answer.isSet
        }
        let snapshot = answer.value
        #expect(snapshot?.nodes.map(\.node) == ["server"])
        #expect(snapshot?.topics.map(\.topic.name) == ["/nav/route"])
        #expect(snapshot?.problems.count == 1)
    }

    private func call(
        _ hosts: TwoHosts, _ method: String, _ request: [UInt8], node: String? = nil, timeout: Duration = .seconds(30)
    ) throws -> (responses: [[UInt8]], status: CallStatus) {
        var options = CallOptions(timeout: timeout)
        options.node = node
        var (responses, status) = ([[UInt8]](), CallStatus?.none)
        _ = try hosts.client.call(ServiceConformanceTests.service.name, method, request, options: options) {
            switch $0 {
            case .response(let payload): responses.append(payload.bytes)
            case .end(let end): status = end
            }
        }
        try hosts.turn("the end of \(method)") { status != nil }
        return (responses, try #require(status))
    }
}
