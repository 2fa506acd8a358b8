import Glibc
import NavBus
import NavLaunch
import NavTestKit
import Testing

/// The readiness probe with real bus nodes in this process.
@Suite struct BusReadinessProbeTests {
    let scratch = Scratch()

    func node(_ conditions: [Readiness.Condition]) -> LaunchNode {
        LaunchNode(name: "nav", executable: "/bin/true", readiness: Readiness(conditions))
    }

    func join(_ name: String = "nav", domain: String = "0") throws -> BusNode {
        try BusNode(
            name: name, configuration: BusConfiguration(directory: BusDirectory(path: scratch.path, domain: domain)))
    }

    func probe(_ conditions: [Readiness.Condition], domain: String = "0") -> BusReadinessProbe {
        BusReadinessProbe(
            [node(conditions)], environment: ["NAVBUS_DIR": scratch.path, "NAVBUS_DOMAIN": domain])
    }

    static let topic = TopicDescription(
        name: "/nav/state", typeName: "navbus.v1.NavigationState", schemaFingerprint: 1, qos: .keepLast(4),
        maximumPayloadSize: 1_024)

    func first(_ run: Int = 1) -> [AwaitedNode] { [AwaitedNode(index: 0, run: run)] }

    @Test func nodeIsReadyOnceItsTopicIsAnnounced() throws {
        var probe = probe([.topic("/nav/state")])
        #expect(probe.missing(first())[0]?.contains("no node named nav") == true)
        let bus = try join()
        defer { bus.close() }
        #expect(probe.missing(first()) == ["the topic /nav/state"])
        _ = try bus.advertise(Self.topic)
        #expect(probe.missing(first()) == [nil])
    }

    @Test func nodeOfAnotherDomainIsIgnored() throws {
        let bus = try join(domain: "other")
        defer { bus.close() }
        _ = try bus.advertise(Self.topic)
        var here = probe([.topic("/nav/state")])
        #expect(here.missing(first())[0] != nil)
        var there = probe([.topic("/nav/state")], domain: "other")
        #expect(there.missing(first()) == [nil])
    }

    /// The node's environment sets the folder that contains the bus directory, unlike the launcher's.
    @Test(arguments: ["XDG_RUNTIME_DIR", "TMPDIR"]) func busFolderFollowsTheNodesEnvironment(variable: String) throws {
        let path = variable == "TMPDIR" ? "\(scratch.path)/navbus-\(geteuid())" : scratch.path + "/navbus"
        let bus = try BusNode(
            name: "nav", configuration: BusConfiguration(directory: BusDirectory(path: path)))
        defer { bus.close() }
        _ = try bus.advertise(Self.topic)
        var nav = node([.topic("/nav/state")])
        nav.environment = [EnvironmentVariable(variable, scratch.path)]
        var probe = BusReadinessProbe([nav], environment: [:])
        #expect(probe.missing(first()) == [nil])
    }

    @Test func announcementsOfAnEarlierRunAreIgnored() throws {
        var probe = probe([.topic("/nav/state")])
        let bus = try join()
        _ = try bus.advertise(Self.topic)
        #expect(probe.missing(first()) == [nil])
        #expect(probe.missing(first(2))[0] != nil)
        bus.close()
        let again = try join()
        defer { again.close() }
        _ = try again.advertise(Self.topic)
        #expect(probe.missing(first(2)) == [nil])
    }

    @Test func aMessageMustComeFromTheNodeItself() throws {
        var probe = probe([.message("/nav/state")])
        defer { probe.rest() }
        let other = try join("other")
        let bus = try join()
        defer {
            other.close()
            bus.close()
        }
        let publications = [try other.advertise(Self.topic), try bus.advertise(Self.topic)]
        #expect(probe.missing(first()) == ["a message on /nav/state"])
        // Long enough for the messages of the other publisher to arrive, too.
        for _ in 0..<50 {
            try other.publish([1], on: publications[0], stampNanoseconds: 0)
            _ = try other.poll(timeout: .milliseconds(1))
            _ = try bus.poll(timeout: .milliseconds(1))
            #expect(probe.missing(first()) == ["a message on /nav/state"])
        }
        try until("the message", pause: 1) {
            try bus.publish([1], on: publications[1], stampNanoseconds: 0)
            _ = try bus.poll(timeout: .milliseconds(1))
            return probe.missing(first()) == [nil]
        }
    }

    @Test func theNodeServiceMustAnswerWithOK() throws {
        var probe = probe([.service("navbus.v1.Node"), .service("navbus.v1.Navigation")])
        defer { probe.rest() }
        let bus = try join()
        defer { bus.close() }
        nonisolated(unsafe) var isRight = false
        let node = ServiceDescription(name: "navbus.v1.Node", methods: [MethodDescription("GetInfo")])
        try bus.serve(node) { call in
            if isRight {
                call.finish([])
            } else {
                call.finish(CallStatus(.unavailable, "not yet"))
            }
        }
        try until("the refusal", pause: 1) {
            try bus.runServices(timeout: .milliseconds(1))
            return probe.missing(first())[0]?.contains("not yet") == true
        }
        isRight = true
        try until("the answer", pause: 1) {
            try bus.runServices(timeout: .milliseconds(1))
            return probe.missing(first()) == ["the service navbus.v1.Navigation"]
        }
        try bus.serve(ServiceDescription(name: "navbus.v1.Navigation", methods: [])) { _ in }
        #expect(probe.missing(first()) == [nil])
    }

    @Test func invalidBusDirectoryIsReported() {
        var probe = BusReadinessProbe([node([.topic("/a")])], environment: ["NAVBUS_DIR": "relative"])
        #expect(probe.missing(first())[0]?.contains("relative") == true)
    }
}

/// A probe for which a node is ready when a file exists.
struct FileProbe: ReadinessProbe {
    let paths: [String]

    mutating func missing(_ nodes: [AwaitedNode]) -> [String?] {
        nodes.map { access(paths[$0.index], F_OK) == 0 ? nil : "the file \(paths[$0.index])" }
    }

    mutating func rest() {}
}
