import NavMessages
import Testing

@Suite("Catalogue and schema")
struct CatalogueTests {
    @Test("every topic's type is part of the schema, and names are unique")
    func topics() {
        for topic in TopicCatalogue.all {
            #expect(Schema.type(named: topic.type.fullName) != nil, "\(topic.name)")
            #expect(topic.maxSize > 0 && topic.maxSize <= 64 << 20, "\(topic.name)")
            if case .keepLast(let count) = topic.qos { #expect(count > 0, "\(topic.name)") }
        }
        #expect(Set(TopicCatalogue.all.map { $0.name }).count == TopicCatalogue.all.count)
        #expect(TopicCatalogue.all.count == 28)
    }

    @Test("a health topic matches any node name, and no topic matches by prefix")
    func lookup() throws {
        #expect(TopicCatalogue.topic(named: "/health/gnss-node")?.type.fullName == "navbus.v1.NodeHealth")
        #expect(TopicCatalogue.topic(named: Topics.health(of: "x").name)?.name == "/health/<node>")
        for name in ["/health/", "/health/a/b", "/nav", "/nav/route/x", "/nav/rout", ""] {
            #expect(TopicCatalogue.topic(named: name) == nil, "\(name)")
        }
        #expect(TopicCatalogue.topic(named: "/nav/route")?.type.fullName == "navbus.v1.Route")
        #expect(Topics.route.name == "/nav/route" && Topics.health(of: "x").name == "/health/x")
    }

    @Test("fingerprints are distinct and not zero")
    func fingerprints() {
        let all = MessageRegistry.all.map { $0.schemaFingerprint }
        #expect(Set(all).count == all.count)
        #expect(!all.contains(0))
    }

    @Test("the catalogue has the services and methods of the contract")
    func services() throws {
        let expected = [
            "navbus.v1.Navigation": [
                "CalculateRoute", "SelectPreview", "StartNavigation", "SetRoute", "StopNavigation", "GetState",
                "Reroute", "SelectAlternative", "AcceptFasterRoute", "AdvanceLeg", "SkipWaypoint", "RefreshRoute",
                "Coverage", "GetHorizon", "RepeatInstruction",
            ],
            "navbus.v1.Policy": [
                "ShouldReroute", "RerouteOptions", "AcceptReroute", "ShouldTakeAlternative", "AcceptFasterRoute",
                "ShouldDiscardFix", "ShouldPreventReroutesWhenArriving", "ShouldAdvanceLeg", "ReviseInstruction",
            ],
            "navbus.v1.TileCache": [
                "GetTile", "LoadRegion", "ListRegions", "GetRegion", "RemoveRegion", "UpdateRegion", "CancelLoad",
                "EstimateRegion", "Coverage", "Statistics", "Purge",
            ],
            "navbus.v1.Recorder": ["Snapshot"],
            "navbus.v1.Node": [
                "GetInfo", "GetSchema", "GetParameters", "SetParameters", "Barrier", "Shutdown", "ChangeState",
            ],
        ]
        #expect(ServiceCatalogue.all.count == expected.count)
        for (name, methods) in expected {
            let service = try #require(ServiceCatalogue.service(named: name))
            #expect(service.methods.map { $0.name } == methods)
        }
        let streaming = ServiceCatalogue.all.flatMap { $0.methods }.filter { $0.isServerStreaming }.map { $0.name }
        #expect(streaming.sorted() == ["CalculateRoute", "LoadRegion"])
        let idempotent = NodeService.descriptor.methods.filter { $0.isIdempotent }.map { $0.name }
        #expect(idempotent == ["GetInfo", "GetSchema", "GetParameters", "SetParameters"])
    }

    @Test("tables list every topic and method")
    func tables() {
        let topics = TopicCatalogue.markdownTable()
        for topic in TopicCatalogue.all { #expect(topics.contains("`\(topic.name)`")) }
        #expect(topics.contains("| `/gnss/fix` | GnssFix | keep_last(64) | each fix, 1 to 20 Hz | 16 KiB |"))
        let services = ServiceCatalogue.markdownTable()
        #expect(services.contains("| `navbus.v1.Node` | `Barrier` | one |"))
    }

    @Test("a descriptor set contains exactly the files that a type needs")
    func descriptorSets() throws {
        let fix = try #require(Schema.fileDescriptorSet(for: "navbus.v1.GnssFix"))
        #expect(contains(fix, "google/protobuf/timestamp.proto"))
        #expect(contains(fix, "navbus/v1/gnss.proto"))
        #expect(!contains(fix, "navbus/v1/route.proto"))
        #expect(Schema.fileDescriptorSet(for: "foxglove.GeoJSON").map { $0.count < 200 } == true)
        #expect(Schema.fileDescriptorSet(for: "navbus.v1.Nothing") == nil)
        #expect(Schema.fileDescriptorSet.count > fix.count)
    }

    @Test("the error for an unknown type contains its name")
    func unknownType() {
        #expect(throws: MessageError.unknownType("x.Y")) { try Schema.decode([], as: "x.Y") }
        #expect(throws: MessageError.unknownType("x.Y")) { try MessageJSON.text(decoding: [], as: "x.Y") }
    }

    private func contains(_ bytes: [UInt8], _ text: String) -> Bool {
        let needle = Array(text.utf8)
        return bytes.indices.dropLast(needle.count - 1).contains {
            bytes[$0..<($0 + needle.count)].elementsEqual(needle)
        }
    }
}
