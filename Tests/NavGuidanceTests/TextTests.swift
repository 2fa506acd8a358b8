import NavGeo
import NavGuidance
import NavMap
import NavRouting
import Testing

@Suite("Instruction texts")
struct TextTests {
    private func maneuver(
        _ type: ManeuverType, _ modifier: ManeuverModifier?, _ road: RoadLabel = RoadLabel()
    ) throws -> Maneuver {
        var town = Town("A    B    C")
        town.road("ABC")
        var maneuver = try town.maneuvers("ABC")[0]
        maneuver.type = type
        maneuver.modifier = modifier
        maneuver.road = road
        return maneuver
    }

    @Test("Every type and modifier has a text, with and without a name")
    func complete() throws {
        let text = InstructionText()
        for type in ManeuverType.allCases {
            for modifier in ManeuverModifier.allCases {
                for road in [RoadLabel(), RoadLabel(name: "High Street"), RoadLabel(destinations: ["Espoo"])] {
                    let words = text.instruction(try maneuver(type, modifier, road))
                    #expect(!words.isEmpty && !words.contains("{") && !words.contains("  "), "\(type) \(modifier)")
                    #expect(words.first?.isUppercase == true)
                }
            }
        }
    }

    @Test("Unnamed roads are omitted, numbered ones are announced by number")
    func unnamed() throws {
        let text = InstructionText()
        #expect(text.instruction(try maneuver(.turn, .sharpLeft)) == "Make a sharp left")
        #expect(
            text.instruction(try maneuver(.merge, .slightLeft, RoadLabel(references: ["A 1", "E 18"])))
                == "Merge left onto A 1")
        #expect(text.instruction(try maneuver(.fork, .slightRight)) == "Keep right at the fork")
        #expect(
            text.instruction(try maneuver(.onRamp, .slightRight, RoadLabel(name: "Link", destinations: ["Turku"])))
                == "Take the ramp towards Turku")
    }

    @Test(
        "Spoken distances are rounded naturally",
        arguments: [
            (3.0, "10 metres"), (47, "50 metres"), (94, "90 metres"), (96, "100 metres"), (224, "200 metres"),
            (330, "350 metres"), (560, "600 metres"), (960, "1 kilometre"), (1_490, "1.5 kilometres"),
            (1_240, "1.2 kilometres"), (2_740, "2.7 kilometres"), (4_600, "4.5 kilometres"), (9_800, "10 kilometres"),
            (120_400, "120 kilometres"), (.nan, "10 metres"),
            (-.infinity, "10 metres"),
        ])
    func spoken(metres: Double, words: String) {
        #expect(InstructionText().spoken(metres: metres) == words)
    }

    @Test(
        "Displayed distances are rounded more finely",
        arguments: [
            (12.0, "10 m"), (296, "300 m"), (312, "300 m"), (980, "1 km"), (1_449, "1.4 km"), (9_960, "10 km"),
            (.greatestFiniteMagnitude, "1000000 km"),
        ])
    func displayed(metres: Double, words: String) {
        #expect(InstructionText().displayed(metres: metres) == words)
    }

    @Test(
        "Countries with miles get distances in miles",
        arguments: [
            ("US", 25.0, "80 feet", "80 ft"), ("US", 200, "650 feet", "650 ft"), ("US", 300, "0.2 miles", "0.2 mi"),
            ("US", 365, "a quarter of a mile", "0.2 mi"), ("US", 408, "a quarter of a mile", "0.3 mi"),
            ("US", 450, "0.3 miles", "0.3 mi"), ("US", 1_200, "three quarters of a mile", "0.7 mi"),
            ("US", 1_260, "0.8 miles", "0.8 mi"), ("GB", 391, "a quarter of a mile", "0.2 mi"),
            ("US", 1_609.344, "1 mile", "1 mi"), ("US", 1_980, "1.2 miles", "1.2 mi"), ("US", 8_000, "5 miles", "5 mi"),
            ("GB", 30, "30 yards", "30 yd"),
            ("GB", 182.88, "200 yards", "200 yd"), ("GB", 804.672, "half a mile", "0.5 mi"),
            ("IE", 200, "200 metres", "200 m"), ("CA", 2_000, "2 kilometres", "2 km"),
        ])
    func miles(country: String, metres: Double, spoken: String, displayed: String) throws {
        let text = InstructionText(scale: try #require(DistanceScale.ofRoads(in: country)))
        #expect(text.spoken(metres: metres) == spoken)
        #expect(text.displayed(metres: metres) == displayed)
        #expect(DistanceScale.ofRoads(in: "") == nil)
    }

    @Test(
        "Roads are abbreviated as on signs; directions only where they are not part of the name",
        arguments: [
            ("South Dakota Avenue Northeast", "South Dakota Ave NE"), ("14th Street Northwest", "14th St NW"),
            ("North Main Street", "N Main St"), ("West 42nd Street", "W 42nd St"), ("Ring Road South", "Ring Rd S"),
            ("North Street", "North St"), ("West Virginia Avenue", "West Virginia Ave"), ("Main Street", "Main St"),
            ("Mannerheiminkatu", "Mannerheimink."), ("The North", nil), ("North Bend", nil), ("North", nil), ("", nil),
        ])
    func abbreviations(name: String, short: String?) {
        #expect(Abbreviations.shorter(name) == short)
    }

    @Test("Another phrase table gives another language")
    func anotherLanguage() throws {
        let finnish = PhraseTable(
            language: "fi",
            phrases: [
                "turn.left": "käänny vasemmalle", "turn.left.name": "käänny vasemmalle tielle {name}",
                "distance.kilometre.one": "{number} kilometrin", "distance.kilometre.other": "{number} kilometrin",
            ], decimalSeparator: ",")
        let text = InstructionText(phrases: finnish)
        #expect(
            text.instruction(try maneuver(.endOfRoad, .left, RoadLabel(name: "Kaivokatu")))
                == "Käänny vasemmalle tielle Kaivokatu")
        #expect(text.spoken(metres: 1_500) == "1,5 kilometrin")
        #expect(text.instruction(try maneuver(.depart, nil)) == "")
    }

    @Test("A road is named in the driver's language, else in a readable script, else as signed")
    func localNames() throws {
        let road = RoadLabel(
            name: "Οδός Ερμού", localNames: LocalNames([("en", "Hermes Street"), ("int", "Odos Ermou")]))
        func said(_ language: String, _ road: RoadLabel) throws -> String {
            let table = try #require(PhraseTable.named(language))
            return InstructionText(phrases: table).instruction(try maneuver(.turn, .left, road))
        }
        #expect(try said("en-US", road) == "Turn left onto Hermes Street")
        #expect(try said("fr", road) == "Tournez à gauche sur Odos Ermou")
        let street = RoadLabel(name: "中山路", localNames: LocalNames([("int", "Zhongshan Lu")]))
        #expect(try said("zh-Hans", street).contains("中山路"))
        #expect(try said("es", street).contains("Zhongshan Lu"))
        let latin = RoadLabel(
            name: "Große Straße", localNames: LocalNames([("int", "Grosse Strasse"), ("fi", "Isotie")]))
        #expect(try said("de", latin).contains("Große Straße") && said("en", latin).contains("Große Straße"))
    }

    @Test("The banner appends the signed name, and a known pronunciation is spoken")
    func signedNames() throws {
        var town = Town(
            """
            L    A    R
                 |
                 S
            """, scale: 100)
        town.road("LA", "Οδός Ερμού", localNames: LocalNames([("en", "Hermes Street")]))
        town.road("AR", "High Street")
        town.road("SA", "Leicester Road", localNames: LocalNames([("ipa", "ˈlɛstə ‹rəʊd›")]))
        let guidance = try town.guidance("SAL")
        #expect(guidance.visuals[0].primary.text == "Hermes Street / Οδός Ερμού")
        #expect(guidance.steps.map(\.name) == ["Leicester Road", "Hermes Street", "Hermes Street"])
        var trigger = InstructionTrigger(guidance)
        let spoken = trigger.update(offset: 0, speed: 2).compactMap { instruction in
            if case .spoken(let value) = instruction { value } else { nil }
        }
        #expect(
            spoken.first?.ssml.contains("<phoneme alphabet=\"ipa\" ph=\"ˈlɛstə ‹rəʊd›\">Leicester Road</phoneme>")
                == true)
        #expect(spoken.first?.text.contains("Leicester Road") == true)
    }

    @Test("Map names are escaped in SSML, marked if they contain digits, and never used as placeholders")
    func ssml() throws {
        var town = Town(
            """
            L    A    R
                 |
                 S
            """, scale: 100)
        town.road("LA", "A & B <\"x\"> {name}\u{1}")
        town.road("AR", "Road 7")
        town.road("SA", "Mill Lane")
        func spoken(_ path: String) throws -> SpokenInstruction {
            let guidance = try town.guidance(path)
            var trigger = InstructionTrigger(guidance)
            _ = trigger.update(offset: 0, speed: 2)
            for instruction in trigger.update(offset: 145, speed: 2) {
                if case .spoken(let value) = instruction { return value }
            }
            throw Town.NoRoute(outcome: "nothing said")
        }
        let head = "<speak version=\"1.1\" xmlns=\"http://www.w3.org/2001/10/synthesis\" xml:lang=\"en\">"
        let left = try spoken("SAL")
        #expect(
            left.text.hasSuffix("turn left onto A & B <\"x\"> {name}\u{1}"))
        #expect(left.ssml.hasPrefix(head))
        #expect(left.ssml.contains("A &amp; B &lt;&quot;x&quot;&gt; {name}<"))
        #expect(try spoken("SAR").ssml.contains("<say-as interpret-as=\"address\">Road 7</say-as>"))
    }

    @Test("An arrival states the side and name of the waypoint")
    func arrival() throws {
        var town = Town(
            """
            N


            S
            """)
        town.road("SN", "Mill Lane")
        func last(_ destination: Coordinate?, _ name: String = "") throws -> String {
            let route = try town.route("SN", destination: destination, name: name)
            let guidance = RouteGuidance(route: route, graph: try town.graph())
            return guidance.options.text.instruction(try #require(guidance.maneuvers.last))
        }
        #expect(try last(nil) == "You have arrived at your destination")
        #expect(
            try last(town.coordinate("N", east: 12, north: -10)) == "You have arrived at your destination, on the right"
        )
        #expect(
            try last(town.coordinate("N", east: -12, north: -10)) == "You have arrived at your destination, on the left"
        )
        #expect(
            try last(town.coordinate("N", east: -12, north: -10), "the depot")
                == "You have arrived at the depot, on the left")
        #expect(try last(town.coordinate("N", north: 15)) == "You have arrived at your destination")
        // Beyond 50 m the waypoint cannot be seen from the road.
        #expect(
            try last(town.coordinate("N", east: 49, north: -10)) == "You have arrived at your destination, on the right"
        )
        #expect(try last(town.coordinate("N", east: 51, north: -10)) == "You have arrived at your destination")
    }

    @Test("A departure states the direction")
    func departure() throws {
        var town = Town("A    B")
        town.road("AB", "High Street")
        let guidance = try town.guidance("AB")
        #expect(guidance.options.text.instruction(guidance.maneuvers[0]) == "Head east on High Street")
        let back = try town.guidance("BA")
        #expect(back.options.text.instruction(back.maneuvers[0]) == "Head west on High Street")
    }

    @Test("The banner of an exit consists of its number, its places and the road's shield")
    func exitBanner() throws {
        var town = Town(
            """
            A    B    C    D
                           E
            """, scale: 50)
        town.road("ABCD", "", oneway: true, roadClass: .motorway, speed: 30, reference: "A 1")
        town.road(
            "BE", "", oneway: true, roadClass: .motorway, flags: .link, speed: 20, destination: "Espoo; Hanko")
        town.exits["B"] = "23A"
        let banner = try town.guidance("ABE").visuals[0].primary
        #expect(
            banner.components == [
                .exitLabel("Exit"), .exitNumber("23A"), .text("Espoo"), .delimiter(" / "), .text("Hanko"),
            ])
        #expect(banner.text == "Exit 23A Espoo / Hanko")
    }

    @Test("Signed road numbers are spoken and shown where the signs name no place")
    func signedNumbers() throws {
        func town(_ joined: String, _ towards: String, _ place: String, ahead: String) -> Town {
            var town = Town(
                """
                A    B    C    D
                               E    F
                """, scale: 50)
            town.road("ABCD", "", oneway: true, roadClass: .motorway, speed: 30, reference: "A 1")
            town.road(
                "BE", "", oneway: true, roadClass: .motorway, flags: .link, speed: 20, destination: place,
                destinationReference: joined, destinationReferenceTo: towards)
            town.road("EF", ahead.isEmpty ? "High Street" : "", roadClass: .trunk, reference: ahead)
            town.exits["B"] = "12"
            return town
        }
        for (joined, towards, place, ahead, told, shown) in [
            ("A 8", "", "", "", "Take exit 12 towards A 8", "Exit 12 A 8"),
            ("A 8", "I 5", "", "", "Take exit 12 towards A 8, I 5", "Exit 12 A 8 / I 5"),
            ("", "I 5", "", "", "Take exit 12 towards I 5", "Exit 12 I 5"),
            ("A 8", "", "Espoo", "", "Take exit 12 towards Espoo", "Exit 12 A 8 Espoo"),
            ("A 8", "", "", "A 8", "Take exit 12 onto A 8", "Exit 12 A 8"),
        ] {
            let guidance = try town(joined, towards, place, ahead: ahead).guidance("ABEF")
            #expect(guidance.options.text.instruction(guidance.maneuvers[1]) == told)
            #expect(guidance.visuals[0].primary.text == shown)
        }
        let road = RoadLabel(destinationReferences: ["A8"])
        for (language, told) in [
            ("en-GB", "Keep right towards the A8"), ("en", "Keep right towards A8"),
            ("es", "Manténgase a la derecha hacia la A8"), ("de", "Rechts halten Richtung A8"),
        ] {
            let text = InstructionText(phrases: try #require(PhraseTable.named(language)))
            #expect(text.instruction(try maneuver(.fork, .slightRight, road)) == told)
        }
    }

    @Test("A road without a name is announced by its signs")
    func signedRoad() throws {
        var town = Town(
            """
            W    X    E
                 |
                 R
            """, scale: 100)
        town.road("WX", "High Street")
        town.road("XE", "High Street")
        town.road("XR", destination: "Springfield", destinationReference: "B 9")
        let guidance = try town.guidance("WXR")
        #expect(guidance.options.text.instruction(guidance.maneuvers[1]) == "Turn right towards Springfield")
        let visual = guidance.visuals[0]
        #expect(visual.primary.components == [.shield("B 9"), .text("Springfield")])
        #expect(visual.primary.text == "B 9 Springfield" && visual.secondary == nil)
    }

    @Test("Several exit numbers are spoken as a list")
    func exitNumbers() throws {
        var town = Town(
            """
            A    B    C    D
                           E
            """, scale: 50)
        town.road("ABCD", "", oneway: true, roadClass: .motorway, speed: 30, reference: "A 1")
        town.road("BE", "", oneway: true, roadClass: .motorway, flags: .link, speed: 20, destination: "Espoo")
        for (exits, numbers) in [("12A;12B", ["12A", "12B"]), (" 12 ; ", ["12"]), (";", [])] {
            town.exits["B"] = exits
            let guidance = try town.guidance("ABE")
            let list = numbers.joined(separator: ", ")
            #expect(guidance.maneuvers[1].exitNumbers == numbers)
            #expect(
                guidance.options.text.instruction(guidance.maneuvers[1])
                    == (numbers.isEmpty ? "Take the exit towards Espoo" : "Take exit \(list) towards Espoo"))
            #expect(guidance.visuals[0].primary.text == (numbers.isEmpty ? "Espoo" : "Exit \(list) Espoo"))
        }
    }

    @Test("An exit with unknown signs is announced by its junction name", arguments: ["3", ""])
    func exitName(number: String) throws {
        var town = Town(
            """
            A    B    C    D
                           E
            """, scale: 50)
        town.road("ABCD", "", oneway: true, roadClass: .motorway, speed: 30, reference: "A 1")
        town.road("BE", "", oneway: true, roadClass: .motorway, flags: .link, speed: 20)
        (town.exits["B"], town.junctionNames["B"]) = (number, "Avintes / Campo")
        let crossroads = try town.guidance("ABE")
        #expect(crossroads.maneuvers[1].exitName.isEmpty, "a traffic signal's name is not an exit name")
        town.nodeFlags["B"] = .motorwayJunction
        let guidance = try town.guidance("ABE")
        let said = guidance.options.text.instruction(guidance.maneuvers[1])
        #expect(said == (number.isEmpty ? "Take the Avintes, Campo exit" : "Take exit 3, Avintes, Campo"))
        #expect(guidance.visuals[0].primary.text == (number.isEmpty ? "Avintes / Campo" : "Exit 3 Avintes / Campo"))
    }
}

@Suite("Lanes")
struct LaneTests {
    private func lanes(_ tag: String, _ path: String) throws -> [Lane] {
        var town = Town(
            """
                 N

            L    A    R

                 S
            """)
        town.road("LA", "West Street")
        town.road("AR", "East Street")
        town.road("SA", "Mill Lane", turnLanes: tag)
        town.road("AN", "Mill Lane")
        return try town.maneuvers(path)[1].lanes
    }

    @Test("The lanes that serve the turn are valid, with their active arrow")
    func valid() throws {
        let lanes = try lanes("left|left;through|through|through;right", "SAL")
        #expect(lanes.map(\.isValid) == [true, true, false, false])
        #expect(lanes.map(\.active) == [.left, .left, nil, nil])
        #expect(lanes[3].indications == [.straight, .right])
        #expect(
            try self.lanes("left|left;through|through|through;right", "SAR").map(\.isValid) == [
                false, false, false, true,
            ])
    }

    @Test("A lane without arrows that leads to the turn is valid, without an active arrow")
    func noArrows() throws {
        let lanes = try lanes("none|through|right", "SAL")
        #expect(lanes.map(\.isValid) == [true, false, false] && lanes.map(\.active) == [nil, nil, nil])
        #expect(lanes.map(\.isRecommended) == [true, false, false])
    }

    @Test(
        "Lanes that do not fit the turn give no advice", arguments: ["through|through", "", "left", "||", "nonsense|x"])
    func unusable(tag: String) throws {
        #expect(try lanes(tag, "SAL") == [])
    }

    @Test("A tag with more lanes than a road can have is ignored")
    func tooMany() throws {
        let tag = Array(repeating: "left", count: 40).joined(separator: "|")
        #expect(try lanes(tag, "SAL") == [])
    }
}
