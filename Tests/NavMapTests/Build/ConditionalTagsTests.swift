import NavMap
import NavMapBuild
import NavTestSupport
import Testing

@Suite("Conditional tags, countries and goods vehicles")
struct ConditionalTagsTests {
    private func road(_ tags: [String: String], country: String = "") -> RoadAttributes? {
        RoadTags.attributes(of: ["highway": "primary"].merging(tags) { $1 }, country: country).forward
    }

    @Test("values and conditions are separated, with and without brackets")
    func clauses() {
        typealias Clause = ConditionalTags.Clause
        #expect(
            ConditionalTags.clauses("no @ (Mo-Fr 07:00-09:00; Sa 08:00-10:00); destination @ (22:00-06:00)") == [
                Clause(value: "no", time: "Mo-Fr 07:00-09:00; Sa 08:00-10:00"),
                Clause(value: "destination", time: "22:00-06:00"),
            ])
        #expect(ConditionalTags.clauses("no @ Mo-Fr 07:00-09:00") == [Clause(value: "no", time: "Mo-Fr 07:00-09:00")])
        #expect(ConditionalTags.clauses("no @ (weight>7.5)") == [Clause(value: "no", weight: 7.5)])
        #expect(
            ConditionalTags.clauses("60 @ (22:00-06:00 AND weight > 3.5 t)") == [
                Clause(value: "60", time: "22:00-06:00", weight: 3.5)
            ])
        #expect(ConditionalTags.clauses("no @ wet") == [Clause(value: "no", isUnderstood: false)])
        #expect(ConditionalTags.clauses("no") == [] && ConditionalTags.clauses("") == [])
        #expect(ConditionalTags.clauses(String(repeating: "no @ x;", count: 1_000)).allSatisfy { !$0.isUnderstood })
        #expect(ConditionalTags.clauses(String(repeating: "no @ (24/7);", count: 80)).count == 16)
    }

    @Test("time conditions of access and speed are stored with the road")
    func kept() {
        let attributes = road([
            "motor_vehicle:conditional": "no @ (Mo-Fr 07:00-19:00)", "bus": "yes",
            "maxspeed:conditional": "30 @ (22:00-06:00); 80 @ wet", "hgv:conditional": "no @ (22:00-06:00)",
        ])
        #expect(
            attributes?.conditions == [
                RoadCondition(.access(.none), vehicles: [.car, .truck, .taxi], time: "Mo-Fr 07:00-19:00"),
                RoadCondition(.access(.none), vehicles: .truck, time: "22:00-06:00"),
                RoadCondition(.speedLimit(30 / 3.6), time: "22:00-06:00"),
            ])
        #expect(attributes?.flags.contains(.conditional) == true)
        #expect(attributes?.access.contains(.car) == true)
    }

    @Test("a road with opening times is in the map and closed by default")
    func opening() {
        let attributes = road(["motor_vehicle": "no", "motor_vehicle:conditional": "destination @ (18:00-09:00)"])
        #expect(attributes?.access.isDisjoint(with: [.car, .truck]) == true)
        #expect(attributes?.conditions.first?.effect == .access(.destination))
        #expect(road(["motor_vehicle": "no", "motor_vehicle:conditional": "no @ (18:00-09:00)"]) == nil)
        #expect(road(["motor_vehicle": "no", "motor_vehicle:conditional": "yes @ snow"]) == nil)
    }

    @Test(
        "a pedestrian street that a vehicle tag opens at times is in the map, closed by default",
        arguments: [
            (
                ["motor_vehicle": "no", "motor_vehicle:conditional": "delivery @ (06:00-10:00)"],
                [.car, .truck, .bus, .taxi]
            ),
            (["motor_vehicle:conditional": "delivery @ (06:00-10:00)"], [.car, .truck, .bus, .taxi]),
            (["access": "no", "vehicle:conditional": "delivery @ (06:00-10:00)"], [.car, .truck, .bus, .taxi]),
            (["hgv:conditional": "delivery @ (06:00-10:00)"], .truck),
            (["motor_vehicle:conditional": "no @ (06:00-10:00)"], nil),
            (["access:conditional": "yes @ (06:00-10:00)"], nil),
            (["access": "no", "access:conditional": "destination @ (06:00-10:00)"], nil),
            (["motor_vehicle": "no", "vehicle:conditional": "delivery @ (06:00-10:00)"], nil),
        ] as [([String: String], VehicleAccess?)])
    func openingForPedestrians(tags: [String: String], vehicles: VehicleAccess?) {
        for highway in ["pedestrian", "path", "track"] {
            let attributes = road(tags.merging(["highway": highway]) { $1 })
            #expect(attributes?.conditions.map(\.vehicles) == vehicles.map { [$0] })
            #expect(attributes?.conditions.allSatisfy { $0.effect == .access(.destination) } != false)
            #expect(attributes?.access.isDisjoint(with: [.car, .truck]) != false)
        }
    }

    @Test(
        "a conditional tag does not apply to vehicles with a more specific plain tag",
        arguments: [
            (["motor_vehicle": "no", "access:conditional": "yes @ (08:00-20:00)"], false),
            (["vehicle": "no", "access:conditional": "yes @ (08:00-20:00)"], false),
            (["motor_vehicle": "no", "vehicle:conditional": "yes @ (08:00-20:00)"], false),
            (["motor_vehicle:forward": "no", "access:conditional": "yes @ (08:00-20:00)"], false),
            (["vehicle:forward": "no", "access:conditional": "yes @ (08:00-20:00)"], false),
            (["access": "no", "access:conditional": "yes @ (08:00-20:00)"], true),
            (["access": "no", "vehicle:conditional": "yes @ (08:00-20:00)"], true),
            (["vehicle": "no", "vehicle:conditional": "yes @ (08:00-20:00)"], true),
            (["vehicle": "no", "motor_vehicle:conditional": "yes @ (08:00-20:00)"], true),
            (["vehicle:backward": "no", "access": "no", "access:conditional": "yes @ (08:00-20:00)"], true),
            (["motor_vehicle": "sometimes", "access": "no", "access:conditional": "yes @ (08:00-20:00)"], true),
        ] as [([String: String], Bool)])
    func precedence(tags: [String: String], opens: Bool) {
        #expect((road(tags) != nil) == opens)
        #expect(road(tags)?.conditions.map(\.vehicles) == (opens ? [[.car, .truck, .bus, .taxi]] : nil))
    }

    @Test("conditional size restrictions become limits")
    func sizes() {
        #expect(road(["hgv:conditional": "no @ (weight>7.5)"])?.maximumWeight == 7.5)
        #expect(road(["maxweight": "5", "hgv:conditional": "no @ (weight>7.5)"])?.maximumWeight == 5)
        #expect(road(["motor_vehicle:conditional": "no @ (length>12)"])?.maximumLength == 12)
        #expect(road(["motor_vehicle": "yes", "access:conditional": "no @ (weight>7.5)"])?.maximumWeight == 7.5)
        #expect(road(["maxspeed:conditional": "60 @ (weight>7.5)"])?.truckSpeedLimit == 60 / 3.6)
    }

    @Test(
        "a size condition for destination or private access closes the road to through goods vehicles",
        arguments: [
            (["hgv:conditional": "destination @ (weight>7.5)"], true),
            (["hgv:conditional": "delivery @ (weight>7.5 AND length>12)"], true),
            (["motor_vehicle:conditional": "private @ (weight>7.5)"], true),
            (["access:conditional": "destination @ (weight>7.5)"], true),
            (["hgv": "yes", "access:conditional": "destination @ (weight>7.5)"], false),
            (["motorcar:conditional": "destination @ (weight>3.5)"], false),
            (["hgv:conditional": "yes @ (weight>7.5)"], false),
        ] as [([String: String], Bool)])
    func sizesOfVisitors(tags: [String: String], isBarred: Bool) {
        let attributes = road(tags)
        #expect(attributes?.flags == (isBarred ? .truckDestinationOnly : []))
        #expect(attributes?.access.contains([.car, .truck]) == true && attributes?.conditions == [])
        #expect(attributes?.maximumWeight == nil && attributes?.maximumLength == nil)
    }

    @Test("a one-way condition closes the other direction at its times")
    func oneway() {
        let both = RoadTags.attributes(of: ["highway": "primary", "oneway:conditional": "yes @ (07:00-09:00)"])
        #expect(both.forward?.conditions == [])
        #expect(both.backward?.conditions.map(\.effect) == [.access(.none)])
    }

    @Test("goods vehicles have separate limits")
    func trucks() {
        let attributes = road(["maxspeed": "100", "maxspeed:hgv": "60", "maxaxleload": "11.5 t", "hazmat": "no"])
        #expect(attributes?.truckSpeedLimit == 60 / 3.6 && attributes?.speedLimit == 100 / 3.6)
        #expect(attributes?.maximumAxleLoad == 11.5)
        #expect(attributes?.flags.contains(.noDangerousGoods) == true)
        #expect(road(["hgv": "destination"])?.flags.contains(.truckDestinationOnly) == true)
        #expect(road(["hgv": "destination"])?.flags.contains(.destinationOnly) == false)
        #expect(road(["toll": "yes", "toll:motorcar": "no"])?.flags == .truckToll)
    }

    @Test(
        "of several limits for goods vehicles the lowest applies",
        arguments: [
            ["maxspeed:hgv": "80", "maxspeed:hgv:conditional": "60 @ (weight>7.5)"],
            ["maxspeed:hgv": "60", "maxspeed:conditional": "80 @ (weight>3.5)"],
            ["maxspeed:hgv:forward": "80", "maxspeed:forward:conditional": "60 @ (weight>7.5)"],
            ["maxspeed:conditional": "80 @ (weight>3.5); 60 @ (weight>7.5)"],
            ["maxspeed:conditional": "60 @ (weight>7.5); 80 @ (weight>3.5)"],
            ["maxspeed:conditional": "80 @ (weight>3.5)", "maxspeed:hgv:conditional": "60 @ (weight>12)"],
        ])
    func truckLimits(tags: [String: String]) {
        #expect(road(tags)?.truckSpeedLimit == 60 / 3.6)
    }

    @Test(
        "default speed limits follow the country where its rules are unambiguous",
        arguments: [
            ("motorway", "PT", 120), ("motorway", "AD", 90), ("residential", "FR", 50), ("living_street", "DE", 7),
            ("living_street", "NL", 15), ("residential", "GB-WLS", 32.19), ("primary", "DE", nil),
            ("motorway_link", "PT", nil), ("motorway", "", nil), ("residential", "XX", nil),
        ] as [(String, String, Float?)])
    func implied(highway: String, country: String, expected: Float?) {
        let attributes = road(["highway": highway], country: country)
        #expect(attributes?.flags.contains(.taggedSpeedLimit) == false)
        #expect(((attributes?.speedLimit ?? 0) * 3.6 - (expected ?? 0)).magnitude < 0.02)
    }

    @Test("a German motorway is unlimited; a Portuguese motor road has the default limit of its class")
    func impliedOthers() {
        #expect(road(["highway": "motorway"], country: "DE")?.flags.contains(.unlimitedSpeed) == true)
        let motorroad = road(["motorroad": "yes"], country: "PT")
        #expect(motorroad?.speedLimit == 100 / 3.6 && motorroad?.flags.contains(.motorroad) == true)
    }

    @Test("a speed zone tag determines the country of its road")
    func country() {
        #expect(road([:], country: "PT")?.country == "PT")
        #expect(road(["source:maxspeed": "ES:rural"], country: "PT")?.country == "ES")
        #expect(road(["maxspeed:type": "UK:nsl_dual"])?.country == "GB")
        #expect(road(["maxspeed": "50"])?.country == "")
        #expect(Countries.keepsLeft("GB") && !Countries.keepsLeft("PT") && !Countries.keepsLeft(""))
        #expect(["CC", "CK", "CX", "NF", "NU", "PN", "TK"].allSatisfy(Countries.keepsLeft))
    }

    @Test("destinations per lane, per direction and by street are read")
    func signs() {
        let attributes = road([
            "oneway": "yes", "destination:lanes": "A|B;C", "destination:ref:to": "I 5",
            "destination:street": "Main Street",
        ])
        #expect(attributes?.destinationLanes == "A|B;C" && attributes?.destinationReferenceTo == "I 5")
        #expect(attributes?.destination == "Main Street")
        let forward = road(["destination:lanes:forward": "A|B", "destination:lanes": "ignored"])
        #expect(forward?.destinationLanes == "A|B")
    }

    @Test(
        "barriers stop goods vehicles by access tags, and all vehicles by size",
        arguments: [
            (["barrier": "height_restrictor", "maxheight": "2.1"], NodeFlags.sizeLimited),
            (["barrier": "height_restrictor"], .truckImpassable),
            (["barrier": "height_restrictor", "maxheight": "default"], []),
            (["barrier": "gate", "hgv": "no"], [.gate, .truckImpassable]),
            (["barrier": "bollard", "motor_vehicle": "yes", "maxwidth": "2"], .sizeLimited),
            (["barrier": "bollard", "maxwidth": "2"], .impassable),
            (["barrier": "height_restrictor", "maxheight": "2.1", "hgv": "yes"], .sizeLimited),
            (["barrier": "height_restrictor", "hgv": "yes"], []),
            (["hgv": "no"], .truckImpassable), (["highway": "crossing", "hgv": "no"], [.crossing, .truckImpassable]),
            (["maxweight": "7.5"], .sizeLimited), (["maxweight": "7.5", "traffic_sign": "DE:262"], []),
            (["maxheight": "2.1", "amenity": "parking_entrance"], .sizeLimited),
            (["maxheight": "1.8", "hgv": "no", "amenity": "parking"], []),
            (["maxheight": "3.7", "barrier": "gate", "traffic_sign": "maxheight"], [.gate, .sizeLimited]),
            (["barrier": "gate", "locked": "yes"], [.gate, .impassable]),
            (["barrier": "gate", "access": "private", "hgv": "no"], [.gate, .privateGate, .truckImpassable]),
            (["barrier": "gate", "access": "private", "hgv": "yes"], [.gate, .privateGate]),
            (["barrier": "gate", "hgv": "private"], [.gate, .truckPrivateGate]),
            (["barrier": "gate", "access": "private", "motor_vehicle": "yes"], .gate),
        ] as [([String: String], NodeFlags)])
    func barriers(tags: [String: String], expected: NodeFlags) {
        #expect(NodeTags.flags(of: tags) == expected)
    }
}
