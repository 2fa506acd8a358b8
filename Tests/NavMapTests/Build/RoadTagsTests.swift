import NavMap
import NavMapBuild
import NavTestSupport
import Testing

@Suite("Road tags")
struct RoadTagsTests {
    private func road(_ tags: [String: String]) -> (forward: RoadAttributes?, backward: RoadAttributes?) {
        RoadTags.attributes(of: tags)
    }

    @Test("the vocabulary uses OSM's spelling")
    func vocabulary() {
        #expect(TagKey.maxspeed__forward.text == "maxspeed:forward")
        #expect(TagKey.motor_vehicle__backward.text == "motor_vehicle:backward")
        #expect(TagKey.destination__ref__forward.text == "destination:ref:forward")
        #expect(Word.motorway_link.text == "motorway_link")
        #expect(Word.minusOne.text == "-1")
        #expect(Word.concrete__plates.text == "concrete:plates")
        #expect(Word.public.text == "public" && Word.private.text == "private" && Word.default.text == "default")
        #expect(Set(Word.allCases.map(\.text)).count == Word.allCases.count)
        #expect(
            TagKey.allCases.allSatisfy { key in
                key.text.withCString {
                    Vocabulary.shared.key(UnsafeRawBufferPointer(start: $0, count: key.text.utf8.count))
                }
                    == key
            })
    }

    @Test("names in other languages are stored if one differs from the signed name")
    func localNames() {
        func names(_ tags: [String: String]) -> LocalNames? {
            road(["highway": "primary"].merging(tags) { $1 }).forward?.localNames
        }
        let mixed = names(["name": "中山路", "name:zh": "中山路", "name:en": "Zhongshan Road", "int_name": "Zhongshan Lu"])
        #expect(
            mixed?["en"] == "Zhongshan Road" && mixed?["zh"] == "中山路"
                && mixed?[LocalNames.international] == "Zhongshan Lu")
        #expect(mixed?["fi"] == nil && mixed?["e"] == nil)
        #expect(names(["name": "Aleksanterinkatu", "name:fi": "Aleksanterinkatu"]) == LocalNames.none)
        #expect(
            names(["name": "Leicester Square", "name:pronunciation": "ˈlɛstə skwɛə"])?[LocalNames.pronunciation]
                == "ˈlɛstə skwɛə")
        #expect(names(["name:en": "Nameless"]) == LocalNames.none)
        #expect(names(["name": "A", "name:en": "B\u{1f}fi=C"]) == LocalNames.none)
    }

    @Test(
        "the highway value determines class, link flag and layer",
        arguments: [
            ("motorway", RoadClass.motorway, false), ("motorway_link", .motorway, true), ("trunk_link", .trunk, true),
            ("primary", .primary, false), ("secondary_link", .secondary, true), ("tertiary", .tertiary, false),
            ("unclassified", .unclassified, false), ("road", .unclassified, false),
            ("residential", .residential, false), ("living_street", .livingStreet, false),
            ("service", .service, false), ("winter_road", .unclassified, false), ("ice_road", .unclassified, false),
        ])
    func classes(highway: String, roadClass: RoadClass, isLink: Bool) {
        let attributes = road(["highway": highway]).forward
        #expect(attributes?.roadClass == roadClass)
        #expect(attributes?.flags.contains(.link) == isLink)
    }

    @Test(
        "ways that are not roads for vehicles are ignored",
        arguments: [
            ["highway": "footway"], ["highway": "steps"], ["highway": "construction"], ["highway": "proposed"],
            ["highway": "pedestrian"], ["highway": "track"], ["highway": "track", "tracktype": "grade4"],
            ["highway": "residential", "area": "yes"], ["highway": "residential", "access": "no"],
            ["highway": "residential", "motor_vehicle": "no"], ["highway": "service", "service": "emergency_access"],
            ["highway": "unclassified", "motor_vehicle": "agricultural;forestry"], ["building": "yes"],
            ["highway": "primary", "impassable": "yes"], ["highway": "primary", "oneway": "reversible"],
            ["route": "ferry", "motor_vehicle": "no"], ["railway": "rail"],
            ["highway": "construction", "motor_vehicle": "yes"], ["highway": "proposed", "access": "yes"],
            ["highway": "steps", "motor_vehicle": "yes"], ["highway": "primary", "smoothness": "impassable"],
            ["route": "ferry", "foot": "yes"], ["highway": "primary", "construction": "yes"],
            ["highway": "primary", "access": "foot"], ["highway": "primary", "access": "official"],
            ["highway": "primary", "access": "restricted"], ["highway": "primary", "motorcar": "emergency_vehicle"],
            ["highway": "primary", "access": "share_taxi;minibus"], ["highway": "primary", "access": "taxi"],
            ["highway": "ice_road", "access": "no"], ["highway": "rest_area", "motor_vehicle": "yes"],
            ["highway": "services", "hgv": "yes", "motor_vehicle": "designated"],
        ])
    func noRoads(tags: [String: String]) {
        let attributes = road(tags)
        #expect(attributes.forward == nil && attributes.backward == nil)
    }

    @Test(
        "the most specific access tag applies",
        arguments: [
            (["access": "no", "motor_vehicle": "yes"], true, false),
            (["access": "no", "vehicle": "no", "motorcar": "permissive"], true, false),
            (["motor_vehicle": "yes", "motorcar": "no"], false, false),
            (["vehicle": "destination"], true, true), (["access": "customers"], true, true),
            (["access": "delivery", "motorcar": "designated"], true, false),
            (["access": "nonsense"], true, false), (["access": "agricultural;destination"], true, true),
        ])
    func access(extra: [String: String], isOpen: Bool, isDestination: Bool) {
        let attributes = road(["highway": "residential"].merging(extra) { $1 }).forward
        #expect((attributes?.access.contains(.car) ?? false) == isOpen)
        #expect((attributes?.flags.contains(.destinationOnly) ?? false) == isDestination)
    }

    @Test("roads on private ground have a separate access level")
    func privateRoads() {
        let attributes = road(["highway": "service", "access": "private"]).forward
        #expect(attributes?.flags.contains(.privateAccess) == true)
        #expect(attributes?.flags.contains(.destinationOnly) == false)
    }

    @Test("directional access tags close one direction")
    func directedAccess() {
        let attributes = road(["highway": "residential", "motor_vehicle:backward": "no"])
        #expect(attributes.forward != nil && attributes.backward == nil)
        #expect(attributes.forward?.flags.contains(.oneway) == true)
    }

    @Test("goods vehicles and buses have separate access")
    func otherVehicles() {
        let noTrucks = road(["highway": "primary", "hgv": "no"]).forward
        #expect(noTrucks?.access == [.car, .bus, .taxi, .emergency])
        let deliveries = road(["highway": "residential", "motorcar": "no", "hgv": "yes"]).forward
        #expect(deliveries?.access.contains(.car) == false)
        #expect(deliveries?.access.contains(.truck) == true)
        #expect(road(["highway": "residential", "motorcar": "no"]).forward == nil)
        let carsOnly = road(["highway": "residential", "motorcar": "yes", "motor_vehicle": "no"]).forward
        #expect(carsOnly?.access.contains(.car) == true && carsOnly?.access.contains(.truck) == false)
        let busLane = road(["highway": "service", "motor_vehicle": "no", "hgv": "destination", "bus": "yes"]).forward
        #expect(busLane?.access.contains(.bus) == true)
    }

    @Test("tracks and pedestrian streets are roads where vehicles are permitted")
    func permitted() {
        #expect(road(["highway": "track", "tracktype": "grade1"]).forward?.roadClass == .track)
        #expect(road(["highway": "track", "motor_vehicle": "yes"]).forward != nil)
        #expect(road(["highway": "pedestrian", "motor_vehicle": "destination"]).forward?.roadClass == .service)
        #expect(road(["highway": "pedestrian", "access": "yes"]).forward == nil)
    }

    @Test(
        "goods vehicles have separate access even where vehicles need a permission",
        arguments: [
            (["highway": "track", "motor_vehicle": "yes", "hgv": "no"], true, false, false),
            (["highway": "track", "motor_vehicle": "yes"], true, true, false),
            (["highway": "track", "motorcar": "yes", "access": "no"], true, false, false),
            (["highway": "pedestrian", "motor_vehicle": "destination", "hgv": "no"], true, false, false),
            (["highway": "pedestrian", "motor_vehicle": "yes", "hgv": "destination"], true, true, true),
            (["highway": "pedestrian", "motor_vehicle": "no", "hgv": "delivery"], false, true, true),
            (
                ["highway": "path", "vehicle": "yes", "motor_vehicle": "private", "hgv:forward": "no"], true, false,
                false
            ),
            (["highway": "pedestrian", "access": "yes", "hgv": "yes"], false, false, false),
            (["highway": "busway", "motor_vehicle": "yes", "hgv": "no"], true, false, false),
        ] as [([String: String], Bool, Bool, Bool)])
    func permittedTrucks(tags: [String: String], cars: Bool, trucks: Bool, isDestination: Bool) {
        let attributes = road(tags).forward
        #expect((attributes?.access.contains(.car) ?? false) == cars)
        #expect((attributes?.access.contains(.truck) ?? false) == trucks)
        #expect((attributes?.flags.contains(.truckDestinationOnly) ?? false) == isDestination)
    }

    @Test(
        "every spelling of oneway is understood",
        arguments: [
            (["oneway": "yes"], true, false), (["oneway": "true"], true, false), (["oneway": "1"], true, false),
            (["oneway": "-1"], false, true), (["oneway": "reverse"], false, true), (["oneway": "no"], true, true),
            (["oneway": "alternating"], true, true), ([:], true, true), (["junction": "roundabout"], true, false),
            (["junction": "circular"], true, false), (["junction": "roundabout", "oneway": "no"], true, true),
            (["junction": "roundabout", "oneway": "-1"], false, true), (["highway": "motorway"], true, false),
            (["highway": "motorway", "oneway": "no"], true, true), (["highway": "motorway_link"], true, true),
            (["oneway": "yes", "oneway:motor_vehicle": "no"], true, true), (["oneway:vehicle": "yes"], true, false),
            (["oneway": "yes", "oneway:vehicle": "no"], true, true),
            (["oneway:vehicle": "yes", "oneway:motor_vehicle": "no"], true, true),
            (["highway": "motorway", "oneway": "alternating"], true, false),
        ])
    func oneway(extra: [String: String], forward: Bool, backward: Bool) {
        let attributes = road(["highway": "primary"].merging(extra) { $1 })
        #expect((attributes.forward != nil) == forward)
        #expect((attributes.backward != nil) == backward)
        let isOneWay = (attributes.forward ?? attributes.backward)?.flags.contains(.oneway)
        #expect(isOneWay == (forward != backward))
    }

    @Test(
        "speed limits with units, zones and keywords are read in km/h",
        arguments: [
            ("50", Float(50)), ("30 mph", 48.28), ("30mph", 48.28), ("10 knots", 18.52), ("walk", 7), ("80 km/h", 80),
            ("DE:urban", 50), ("DE:rural", 100), ("CH:motorway", 120), ("FR:zone30", 30), ("DE:zone:30", 30),
            ("GB:nsl_single", 96.56), ("GB:zone20", 32.19), ("XX:urban", 50), ("70;50", 50), ("PT:trunk", 100),
            ("GB:nsl_restricted", 48.28), ("GB-WLS:nsl_restricted", 32.19), ("GB-WLS:zone20", 32.19),
            ("GB-SCT:zone20", 32.19), ("US-CA:zone:25", 40.23), ("UK:motorway", 112.65), ("UK:nsl_dual", 112.65),
            ("UK:nsl_single", 96.56), ("UK:zone20", 32.19), ("UK-WLS:urban", 32.19), ("UA:urban", 50),
        ])
    func limits(value: String, expected: Float) throws {
        let limit = try #require(road(["highway": "primary", "maxspeed": value]).forward?.speedLimit)
        #expect(abs(limit * 3.6 - expected) < 0.02)
    }

    @Test("invalid speed limits are unknown", arguments: ["signals", "variable", "fast", "", "0", "9999", "-5", "RU:"])
    func unknownLimits(value: String) {
        #expect(road(["highway": "primary", "maxspeed": value]).forward?.speedLimit == nil)
    }

    @Test("unlimited speed differs from an unknown limit")
    func unlimited() {
        for value in ["none", "DE:motorway"] {
            let attributes = road(["highway": "motorway", "maxspeed": value]).forward
            #expect(attributes?.speedLimit == nil)
            #expect(attributes?.flags.contains([.unlimitedSpeed, .taggedSpeedLimit]) == true)
            #expect((attributes?.freeFlowSpeed ?? 0) * 3.6 > 110)
        }
    }

    @Test("each direction can have separate limits, lanes and arrows")
    func directed() {
        let attributes = road([
            "highway": "primary", "maxspeed": "70", "maxspeed:backward": "50", "lanes": "3", "lanes:forward": "2",
            "turn:lanes:forward": "left|through", "turn:lanes": "ignored|here", "destination:backward": "Basel",
        ])
        #expect(attributes.forward?.speedLimit == 70 / 3.6 && attributes.backward?.speedLimit == 50 / 3.6)
        #expect(attributes.forward?.lanes == 2 && attributes.backward?.lanes == 1)
        #expect(attributes.forward?.turnLanes == "left|through" && attributes.backward?.turnLanes == "")
        #expect(attributes.forward?.destination == "" && attributes.backward?.destination == "Basel")
    }

    @Test("a one-way road uses the tags without a direction suffix")
    func oneWayTexts() {
        let ramp = road([
            "highway": "motorway_link", "oneway": "yes", "lanes": "2", "turn:lanes": "through|right",
            "destination": "Porto;Braga", "destination:ref": "A 3", "name": "N", "ref": "A 4",
        ]).forward
        #expect(ramp?.lanes == 2 && ramp?.turnLanes == "through|right")
        #expect(ramp?.destination == "Porto;Braga" && ramp?.destinationReference == "A 3")
        #expect(ramp?.name == "N" && ramp?.reference == "A 4")
    }

    @Test(
        "lanes that are closed to cars or trucks are marked",
        arguments: [
            (["bus:lanes": "yes|yes|designated"], "left|through|right;no_car;no_truck"),
            (["bus:lanes": "||designated", "motor_vehicle:lanes": "||yes"], "left|through|right"),
            (["vehicle:lanes": "no||", "bicycle:lanes": "designated||"], "left;no_car;no_truck|through|right"),
            (["access:lanes": "yes|no|yes", "hgv:lanes": "|yes|no"], "left|through;no_car|right;no_truck"),
            (["access:lanes": "psv|yes|bus;taxi"], "left;no_car;no_truck|through|right;no_car;no_truck"),
            (["access:lanes": "bicycle|delivery|destination"], "left;no_car;no_truck|through|right"),
            (["access:lanes": "yes|unknown|psv;destination"], "left|through|right"),
            (
                ["access:lanes": "psv|psv|yes", "vehicle:lanes": "yes||private", "motorcar:lanes": "|yes|"],
                "left|through;no_truck|right;no_car;no_truck"
            ),
            (["motor_vehicle:lanes": "hov|yes|permit"], "left;no_car;no_truck|through|right;no_car;no_truck"),
            (["hov:lanes": "designated|yes|yes"], "left;no_car;no_truck|through|right"),
            (["psv:lanes:forward": "no|no|designated"], "left|through|right;no_car;no_truck"),
            (["psv:lanes:backward": "designated|no|no"], "left|through|right"),
        ])
    func closedLanes(tags: [String: String], lanes: String) {
        let street = ["highway": "primary", "oneway": "yes", "turn:lanes": "left|through|right"]
        #expect(road(street.merging(tags) { $1 }).forward?.turnLanes == lanes)
        let both = ["highway": "primary", "turn:lanes:forward": "left|through|right"]
        let directed = Dictionary(
            uniqueKeysWithValues: tags.map { ($0.hasSuffix("lanes") ? $0 + ":forward" : $0, $1) })
        #expect(road(both.merging(directed) { $1 }).forward?.turnLanes == lanes)
        #expect(road(both.merging(tags) { $1 }).forward?.turnLanes == (tags == directed ? lanes : "left|through|right"))
    }

    @Test(
        "counted bus lanes are the lanes at the kerb, unless their arrows are needed",
        arguments: [
            ("through|right|", "through|right|no_car;no_truck"),
            ("left|through|through", "left|through|through;no_car;no_truck"),
            ("left|through|right", "left|through|right"), ("through", "through"),
        ])
    func countedBusLanes(turns: String, lanes: String) {
        let street = ["highway": "primary", "oneway": "yes", "turn:lanes": turns]
        for key in ["lanes:psv", "lanes:bus", "lanes:psv:forward"] {
            #expect(road(street.merging([key: "1"]) { $1 }).forward?.turnLanes == lanes)
        }
        #expect(road(street.merging(["lanes:psv:backward": "1"]) { $1 }).forward?.turnLanes == turns)
    }

    @Test(
        "lanes without arrows are listed where one is closed or narrow",
        arguments: [
            (["lanes": "3", "bus:lanes": "||designated", "access:lanes": "||no"], "||no_car;no_truck"),
            (["lanes": "2", "hgv:lanes": "|no"], "|no_truck"), (["lanes": "2", "lanes:bus": "1"], "|no_car;no_truck"),
            // Lanes for bicycles have a position but are not counted in `lanes`.
            (["lanes": "2", "bicycle:lanes": "||designated"], "||no_car;no_truck"),
            (["lanes": "1", "bicycle:lanes": "|designated"], ""), (["lanes": "3", "bus:lanes": "|designated"], ""),
            (["lanes": "2", "bus:lanes": "|"], ""), (["lanes": "2"], ""), (["bus:lanes": "|designated"], ""),
            (["lanes": "2", "maxwidth:lanes": "2.1|"], "no_2.1|"), (["lanes": "2", "width:lanes": "3.5|3"], ""),
            (["lanes": "2", "width:lanes": "3.5|2.75", "maxwidth:lanes": "|2 m"], "|no_2.0"),
            (["lanes": "2", "turn:lanes": "left|", "width:lanes": "2.5|wide"], "left;no_2.5|"),
        ])
    func lanesWithoutArrows(tags: [String: String], lanes: String) {
        let street = ["highway": "primary", "oneway": "yes"]
        #expect(road(street.merging(tags) { $1 }).forward?.turnLanes == lanes)
    }

    @Test(
        "lines between lanes are stored where they forbid a change",
        arguments: [
            (["lanes": "2", "change:lanes": "yes|not_left"], "yes|not_left"), (["lanes": "2", "change": "no"], "no"),
            (["turn:lanes": "left|right", "change:lanes:forward": "no|no"], "no|no"),
            (["lanes": "2", "change:lanes": "yes|yes"], ""), (["lanes": "1", "change": "no"], ""),
            (["lanes": "2", "change:lanes:backward": "no|no"], ""), (["lanes": "2", "change:forward": "no"], "no"),
        ])
    func laneChanges(tags: [String: String], changes: String) {
        let street = ["highway": "primary", "oneway": "yes"]
        #expect(road(street.merging(tags) { $1 }).forward?.laneChanges == changes)
        let both = road([
            "highway": "primary", "lanes": "4", "change:lanes": "no|no", "change:lanes:backward": "no|yes",
        ])
        #expect(both.forward?.laneChanges == "" && both.backward?.laneChanges == "no|yes")
    }

    @Test("free-flow speed depends on class, limit, surface and service")
    func freeFlow() throws {
        func speed(_ tags: [String: String]) throws -> Float { try #require(road(tags).forward).freeFlowSpeed * 3.6 }
        let motorway = try speed(["highway": "motorway"])
        let residential = try speed(["highway": "residential"])
        #expect(motorway > 95 && residential < 30)
        #expect(try speed(["highway": "motorway", "maxspeed": "80"]) < motorway)
        #expect(try speed(["highway": "residential", "maxspeed": "10"]) < residential)
        #expect(try speed(["highway": "primary", "surface": "sand"]) < 20.01)
        #expect(try speed(["highway": "track", "tracktype": "grade2", "maxspeed": "80"]) < 30.01)
        #expect(try speed(["highway": "service", "service": "parking_aisle"]) < 8.01)
        #expect(try speed(["highway": "living_street", "maxspeed": "walk"]) > 2.99)
        #expect(try speed(["highway": "winter_road"]) < 20.01)
        #expect(try speed(["highway": "ice_road"]) < 15.01)
    }

    @Test("minor construction works leave a road open", arguments: ["minor", "widening", "no"])
    func smallConstruction(kind: String) {
        #expect(road(["highway": "primary", "construction": kind]).forward?.access.contains(.car) == true)
    }

    @Test("a road tagged as a ferry route is a ferry")
    func roadOnFerry() throws {
        let ferry = try #require(road(["highway": "primary", "route": "ferry", "duration": "10"]).forward)
        #expect(ferry.roadClass == .ferry && ferry.crossingTime == 600)
        #expect(road(["highway": "primary", "route": "bus"]).forward?.roadClass == .primary)
    }

    @Test("the width is a limit only for narrow roads")
    func widths() {
        func limit(_ tags: [String: String]) -> Float? {
            road(["highway": "primary"].merging(tags) { $1 }).forward?.maximumWidth
        }
        #expect(limit(["width": "1.9"]).map { abs($0 - 1.8) < 0.001 } == true)
        #expect(limit(["est_width": "2", "maxwidth": "1.5"]) == 1.5)
        #expect(limit(["width": "2.5"]) == nil && limit(["width": "narrow"]) == nil)
    }

    @Test("a walking-pace limit sets the driving speed", arguments: [5, 7, 10])
    func slowLimits(limit: Int) throws {
        for highway in ["service", "residential", "living_street"] {
            let direction = try #require(road(["highway": highway, "maxspeed": "\(limit)"]).forward)
            #expect(abs(direction.freeFlowSpeed * 3.6 - Float(limit)) < 0.01)
        }
    }

    @Test("surface, bridge, tunnel and toll flags are set")
    func flags() throws {
        let plain = try #require(road(["highway": "primary"]).forward).flags
        #expect(plain == [])
        let tagged = try #require(
            road([
                "highway": "primary", "tunnel": "building_passage", "bridge": "viaduct", "toll": "yes",
                "surface": "gravel", "hov": "designated", "driving_side": "left",
            ]).forward)
        #expect(
            tagged.flags == [
                .tunnel, .bridge, .toll, .truckToll, .unpaved, .highOccupancy, .destinationOnly, .leftHandTraffic,
            ])
        let trucks = try #require(road(["highway": "trunk", "toll": "no", "toll:hgv": "yes", "tunnel": "no"]).forward)
        #expect(trucks.flags == .truckToll)
    }

    @Test(
        "size limits are read in metres and tonnes",
        arguments: [
            ("3.5", Float(3.5)), ("3.5 m", 3.5), ("3,5", 3.5), ("350 cm", 3.5), ("11 ft", 3.3528), ("11'6\"", 3.5052),
            ("11' 6\"", 3.5052),
        ])
    func sizes(value: String, metres: Float) throws {
        let height = try #require(road(["highway": "primary", "maxheight": value]).forward?.maximumHeight)
        #expect(abs(height - metres) < 0.001)
    }

    @Test("invalid size limits are ignored", arguments: ["default", "none", "below_default", "tall", "", "0", "3.5 x"])
    func noSizes(value: String) {
        let attributes = road(["highway": "primary", "maxheight": value, "maxweight": value]).forward
        #expect(attributes?.maximumHeight == nil && attributes?.maximumWeight == nil)
    }

    @Test("weights", arguments: [("7.5", Float(7.5)), ("7500 kg", 7.5), ("16000 lbs", 7.257), ("8 st", 7.257)])
    func weights(value: String, tonnes: Float) throws {
        let weight = try #require(road(["highway": "primary", "maxweight": value]).forward?.maximumWeight)
        #expect(abs(weight - tonnes) < 0.01)
    }

    @Test(
        "ferry crossing times are read in seconds",
        arguments: [
            ("20", Float(1200)), ("1:30", 5400), ("00:45", 2700), ("1:00:30", 3630), ("PT20M", 1200),
            ("PT1H30M", 5400), ("P1DT1H", 90_000),
        ])
    func durations(value: String, seconds: Float) throws {
        let ferry = try #require(road(["route": "ferry", "duration": value]).forward)
        #expect(ferry.roadClass == .ferry && ferry.crossingTime == seconds)
    }

    @Test("invalid crossing times are ignored", arguments: ["soon", "", "1:99", "PT", "P1", "0", "99999999999"])
    func noDurations(value: String) {
        #expect(road(["route": "ferry", "duration": value]).forward?.crossingTime == nil)
    }

    @Test("lane counts", arguments: [("2", UInt8(2)), ("1.5", 1), ("2;3", 2), ("many", nil), ("0", nil), ("999", nil)])
    func lanes(value: String, expected: UInt8?) {
        #expect(road(["highway": "primary", "oneway": "yes", "lanes": value]).forward?.lanes == expected)
    }
}

@Suite("Node tags")
struct NodeTagsTests {
    private static let signCases: [(String, NodeFlags)] = [
        ("traffic_signals", .trafficSignals), ("stop", .stop), ("give_way", .giveWay), ("crossing", .crossing),
        ("motorway_junction", .motorwayJunction), ("turning_loop", .turningCircle), ("turning_circle", .turningCircle),
        ("mini_roundabout", .miniRoundabout), ("street_lamp", []),
    ]
    private static let barrierCases: [(String, String?, NodeFlags)] = [
        ("toll_booth", nil, .tollBooth), ("gate", nil, .gate), ("lift_gate", nil, .gate), ("kerb", nil, []),
        ("cattle_grid", nil, []), ("no", nil, []), ("bollard", nil, .impassable), ("wall", nil, .impassable),
        ("bollard", "yes", []), ("gate", "no", [.gate, .impassable]),
        ("block", "private", [.gate, .privateGate, .truckPrivateGate]),
        ("lift_gate", "private", [.gate, .privateGate, .truckPrivateGate]),
        ("swing_gate", "permit", [.gate, .privateGate, .truckPrivateGate]),
        ("lift_gate", "customers", [.gate, .privateGate, .truckPrivateGate]),
    ]

    @Test("stop signs, give-way signs and signals are read", arguments: signCases)
    func signs(highway: String, expected: NodeFlags) {
        #expect(NodeTags.flags(of: ["highway": highway]) == expected)
    }

    @Test("the kind and access tags of a barrier determine whether cars may pass", arguments: barrierCases)
    func barriers(kind: String, access: String?, expected: NodeFlags) {
        var tags = ["barrier": kind]
        tags["motor_vehicle"] = access
        #expect(NodeTags.flags(of: tags) == expected)
    }

    @Test("bollards that sink and kerbs that are not raised let cars pass")
    func passableKinds() {
        #expect(NodeTags.flags(of: ["barrier": "bollard", "bollard": "rising"]) == .gate)
        #expect(
            NodeTags.flags(of: ["barrier": "bollard", "bollard": "rising", "access": "no"]) == [.gate, .impassable])
        #expect(NodeTags.flags(of: ["barrier": "bollard", "bollard": "removable"]) == .impassable)
        #expect(NodeTags.flags(of: ["barrier": "kerb", "kerb": "flush"]) == [])
        #expect(NodeTags.flags(of: ["barrier": "kerb", "kerb": "raised"]) == .impassable)
        #expect(NodeTags.flags(of: ["barrier": "kerb", "kerb": "raised", "highway": "crossing"]) == .crossing)
    }

    @Test("a node closed to cars is impassable with or without a barrier")
    func closedNodes() {
        #expect(NodeTags.flags(of: ["access": "no"]) == .impassable)
        #expect(NodeTags.flags(of: ["highway": "crossing", "vehicle": "no"]) == [.crossing, .impassable])
        #expect(NodeTags.flags(of: ["access": "no", "motorcar": "yes"]) == [])
        #expect(NodeTags.flags(of: ["access": "private"]) == [])
    }

    @Test("other node tags are ignored")
    func others() {
        #expect(NodeTags.flags(of: ["name": "Somewhere"]) == [])
    }

    @Test("tracks and car-pool roads are closed to through traffic unless tagged otherwise")
    func noWayThrough() {
        func flags(_ tags: [String: String]) -> RoadFlags? { RoadTags.attributes(of: tags).forward?.flags }
        let track = ["highway": "track", "tracktype": "grade1"]
        #expect(flags(track)?.contains(.destinationOnly) == true)
        #expect(flags(track.merging(["motor_vehicle": "yes"]) { $1 })?.contains(.destinationOnly) == false)
        #expect(flags(track.merging(["access": "permissive"]) { $1 })?.contains(.destinationOnly) == false)
        #expect(flags(["highway": "track"]) == nil)
        let carPool = flags(["highway": "motorway", "hov": "designated"])
        #expect(carPool?.contains(.destinationOnly) == true && carPool?.contains(.highOccupancy) == true)
        #expect(flags(["highway": "motorway", "hov": "lane"])?.contains(.destinationOnly) == false)
    }
}
