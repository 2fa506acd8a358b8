import Foundation
import NavGuidance
import NavMap
import NavTestKit
import Testing

/// The files of all languages; `NAVBUS_REWRITE=1` rewrites their Swift form and the table of all sentences.
@Suite("Languages", .serialized)
struct LanguageTests {
    private static let module = "\(TestData.project)/Sources/NavGuidance"
    private static let rewrites = ProcessInfo.processInfo.environment["NAVBUS_REWRITE"] == "1"
    private static let tags = PhraseTable.all.map(\.language)
    /// The keys of English, which every language needs.
    private static let keys = PhraseTable.english.phrases.keys.filter { !$0.hasPrefix("distance.") }.sorted()

    private func check(_ text: String, _ path: String) throws {
        if Self.rewrites {
            try text.write(toFile: path, atomically: true, encoding: .utf8)
        } else {
            let old = try String(contentsOfFile: path, encoding: .utf8)
            #expect(old == text, "\(path) is out of date: run LanguageTests with NAVBUS_REWRITE=1, twice")
        }
    }

    @Test("Every language file is built in")
    func files() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.module + "/Languages").sorted()
        let texts = try names.map { try String(contentsOfFile: "\(Self.module)/Languages/\($0)", encoding: .utf8) }
        for (name, text) in zip(names, texts) {
            let read = try LanguageFile(text) { PhraseTable.named($0) }
            #expect(name == read.table.language + ".txt")
        }
        var swift = """
            // swift-format-ignore-file
            // Generated from Languages by LanguageTests with NAVBUS_REWRITE=1; do not edit.

            /// The files in `Languages`, in the order of their names.
            enum LanguageFiles {
                static let texts: [String] = [

            """
        for text in texts {
            swift += "        ##\"\"\"\n"
            for line in text.split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
                swift += line.isEmpty ? "\n" : "        \(line)\n"
            }
            swift += "        \"\"\"##,\n"
        }
        try check(swift + "    ]\n}\n", Self.module + "/Generated/LanguageFiles.swift")
        if !Self.rewrites { #expect(Self.tags.count == names.count) }
    }

    @Test("An invalid line is reported with its number")
    func defects() {
        for (text, line) in [
            ("[language]\ntag = x\nshout", 3), ("[language]\ntag = x\nsingular = some", 3), ("tag = x", 1),
            ("[language]\ntag = x\n[names]\nmiddle: a = b", 4), ("[phrases]\nturn = x\n", 3),
            ("[language]\ntag = x\ncompass = north", 3), ("[language]\ntag = x\ncharacters per second = 0", 3),
        ] {
            #expect(performing: { try LanguageFile(text) { _ in nil } }, throws: { "\($0)".hasPrefix("line \(line):") })
        }
    }

    @Test("Every language has every form", arguments: PhraseTable.all)
    func forms(table: PhraseTable) {
        func placeholders(_ phrase: String) -> Set<Substring> {
            Set(phrase.matches(of: /\{(\w+)(?::[^}]*)?\}/).map(\.1))
        }
        for key in Self.keys {
            let phrase = table.phrases[key] ?? ""
            #expect(!phrase.isEmpty, "\(table.language): \(key)")
            #expect(placeholders(phrase) == placeholders(PhraseTable.english.phrases[key] ?? ""), "\(key): \(phrase)")
        }
        // A language may give destinations in further forms, where its general rule does not fit.
        for (key, phrase) in table.phrases where !key.hasPrefix("distance.") && !Self.keys.contains(key) {
            let plain = key.hasSuffix(".destination") ? PhraseTable.english.phrases[String(key.dropLast(12))] : nil
            #expect(plain.map { placeholders($0).union(["destination"]) } == placeholders(phrase), "\(key): \(phrase)")
        }
        let cases = [""] + table.phrases.values.flatMap { $0.matches(of: /\{distance:(\w+)\}/).map { "." + $0.1 } }
        for unit in ["metre", "kilometre", "foot", "yard", "mile"] {
            for grammaticalCase in Set(cases) {
                for number in table.singular == .never ? ["other"] : ["one", "other"] {
                    let keys = ["distance.\(unit)\(grammaticalCase).\(number)", "distance.\(unit).\(number)"]
                    #expect(keys.contains { table.phrases[$0] != nil }, "\(table.language): \(keys[0])")
                }
            }
        }
        #expect(table.compass.count == 8 && table.ordinals.count == 10)
    }

    @Test("Signed destinations are announced at every kind of maneuver", arguments: PhraseTable.all)
    func destinations(table: PhraseTable) throws {
        let text = InstructionText(phrases: table)
        let changes: [(inout Maneuver) -> Void] = [
            { _ in }, { $0.roundaboutExit = 2 }, { $0.exitNumbers = ["12"] }, { $0.drivingSide = .left },
            { $0.endsRoad = $0.type == .turn }, { $0.junctionName = "Kamppi" }, { $0.notes = .boardsFerry },
            { $0.notes = .leavesFerry },
        ]
        let blank = try Self.maneuver(.turn)
        for type in ManeuverType.allCases where type != .arrive {
            for modifier in ManeuverModifier.allCases {
                for change in changes {
                    var maneuver = blank
                    (maneuver.type, maneuver.modifier) = (type, modifier)
                    change(&maneuver)
                    for label in [RoadLabel(destinations: ["Turku"]), RoadLabel(destinationReferences: ["Turku"])] {
                        maneuver.road = label
                        let said = text.instruction(maneuver)
                        #expect(said.contains("Turku"), "\(table.language): \(type), \(modifier): \(said)")
                    }
                }
            }
        }
    }

    @Test(
        "Destinations are placed as the language requires",
        arguments: [
            ("en", .turn, .slightRight, "Turn slightly right towards Springfield"),
            ("en", .endOfRoad, .left, "Turn left at the end of the road towards Springfield"),
            ("en", .roundabout, .right, "At the roundabout, take the exit towards Springfield"),
            ("en-US", .roundaboutTurn, .left, "At the roundabout, turn left toward Springfield"),
            ("en-GB", .exitRoundabout, .right, "Leave the roundabout towards Springfield"),
            ("de", .turn, .slightRight, "Leicht rechts Richtung Springfield abbiegen"),
            ("de", .continue, .slightLeft, "Links halten Richtung Springfield"),
            ("de", .endOfRoad, .left, "Am Ende der Straße links Richtung Springfield abbiegen"),
            ("de", .merge, .straight, "Richtung Springfield einfädeln"),
            ("de", .offRamp, .left, "Die Ausfahrt links Richtung Springfield nehmen"),
            ("es", .merge, .slightLeft, "Incorpórese por la izquierda hacia Springfield"),
            ("fi", .turn, .sharpLeft, "Käänny jyrkästi vasemmalle, suuntana Springfield"),
            ("fr", .continue, .straight, "Continuez tout droit, direction Springfield"),
            ("zh-Hans", .roundaboutTurn, .straight, "在环岛直行，往Springfield方向"),
        ] as [(String, ManeuverType, ManeuverModifier, String)])
    func destinationSentences(
        language: String, type: ManeuverType, modifier: ManeuverModifier, sentence: String
    ) throws {
        let text = InstructionText(phrases: try #require(PhraseTable.named(language)))
        let maneuver = try Self.maneuver(type, modifier, RoadLabel(destinations: ["Springfield"]))
        #expect(text.instruction(maneuver) == sentence)
    }

    /// A missing form would be replaced by that of a plain turn, which does not mention the roundabout.
    @Test("A turn at a small roundabout has every direction, with and without a name", arguments: PhraseTable.all)
    func roundaboutTurns(table: PhraseTable) {
        for modifier in ManeuverModifier.allCases {
            for ending in modifier == .uTurn ? [""] : ["", ".name"] {
                let key = "roundabout turn.\(modifier.rawValue)\(ending)"
                #expect(table.phrases[key] != nil, "\(table.language): \(key)")
            }
        }
    }

    @Test("A ramp is announced with its side where that is not the usual one", arguments: PhraseTable.all)
    func ramps(table: PhraseTable) throws {
        let text = InstructionText(phrases: table)
        func said(
            _ type: ManeuverType, _ modifier: ManeuverModifier, _ traffic: RoadSide, _ road: RoadLabel = RoadLabel(),
            exits: [String] = []
        ) throws -> String {
            var maneuver = try Self.maneuver(type, modifier, road)
            (maneuver.drivingSide, maneuver.exitNumbers) = (traffic, exits)
            return text.instruction(maneuver)
        }
        let sides = [ManeuverModifier.left, .straight, .right]
        #expect(Set(try sides.map { try said(.onRamp, $0, .right) }).count == 3)
        #expect(try said(.onRamp, .straight, .right) == said(.onRamp, .uTurn, .right))
        for road in [RoadLabel(), RoadLabel(references: ["A 8"]), RoadLabel(destinations: ["Turku"])] {
            for exits in [[], ["12"]] {
                let inRight = try sides.map { try said(.offRamp, $0, .right, road, exits: exits) }
                let inLeft = try sides.map { try said(.offRamp, $0, .left, road, exits: exits) }
                #expect(inRight[0] != inRight[1] && inRight[1] == inRight[2], "\(inRight)")
                #expect(Set(inLeft).count == 3 && inLeft.prefix(2) == inRight.prefix(2), "\(inLeft)")
                #expect(try said(.offRamp, .slightLeft, .right, road, exits: exits) == inRight[0])
                #expect(try said(.offRamp, .sharpRight, .left, road, exits: exits) == inLeft[2])
            }
        }
    }

    @Test(
        "A language tag selects its language or the nearest available one",
        arguments: [
            ("de", "de"), ("de-AT", "de"), ("EN-us", "en-US"), ("en-AU", "en"), ("zh", "zh-Hans"), ("zh-CN", "zh-Hans"),
            ("zh-Hans-SG", "zh-Hans"), ("zh-Hant", nil), ("zh-TW", nil), ("sv", nil), ("", nil), ("-", nil), ("e", nil),
            (String(repeating: "a-", count: 1 << 20), nil), ("en" + String(repeating: "-a", count: 20), "en"),
        ])
    func lookup(tag: String, language: String?) {
        #expect(PhraseTable.named(tag)?.language == language)
    }

    // MARK: Sentences

    private static func maneuver(
        _ type: ManeuverType, _ modifier: ManeuverModifier? = nil, _ road: RoadLabel = RoadLabel()
    ) throws -> Maneuver {
        var town = Town("A    B    C")
        town.road("ABC")
        var maneuver = try town.maneuvers("ABC")[0]
        maneuver.type = type
        maneuver.modifier = modifier
        maneuver.road = road
        return maneuver
    }

    @Test(
        "Names get the article, preposition and case that the language requires",
        arguments: [
            ("de", "Hauptstraße", "Links in die Hauptstraße abbiegen"),
            ("de", "Königsweg", "Links in den Königsweg abbiegen"),
            ("de", "Alter Markt", "Links auf den Alten Markt abbiegen"),
            ("de", "Lange Straße", "Links in die Lange Straße abbiegen"),
            ("de", "Berliner Ring", "Links auf den Berliner Ring abbiegen"),
            ("de", "Am Markt", "Links in die Straße Am Markt abbiegen"), ("de", "#A 7", "Links auf die A 7 abbiegen"),
            ("de", "Straße am Bahnhof", "Links in die Straße am Bahnhof abbiegen"),
            ("de", "Straße des 17. Juni", "Links in die Straße des 17. Juni abbiegen"),
            ("de", "Platz der Luftbrücke", "Links auf den Platz der Luftbrücke abbiegen"),
            ("de", "Östlicher Weg", "Links in den Östlichen Weg abbiegen"),
            ("fr", "Rue de la Paix", "Tournez à gauche dans la rue de la Paix"),
            ("fr", "Avenue Foch", "Tournez à gauche sur l'avenue Foch"),
            ("fr", "Boulevard Voltaire", "Tournez à gauche sur le boulevard Voltaire"),
            ("fr", "Grand'Rue", "Tournez à gauche dans la Grand'Rue"),
            ("fr", "Grand-Rue", "Tournez à gauche dans la Grand-Rue"),
            ("fr", "Grand-Place", "Tournez à gauche sur la Grand-Place"),
            ("fr", "Allées Jean Jaurès", "Tournez à gauche sur les allées Jean Jaurès"),
            ("fr", "Corniche Kennedy", "Tournez à gauche sur la corniche Kennedy"),
            ("fr", "#I 95", "Tournez à gauche sur l'I 95"), ("fr", "#A 6", "Tournez à gauche sur l'A 6"),
            ("fr", "#N 7", "Tournez à gauche sur la N 7"),
            ("es", "Calle Mayor", "Gire a la izquierda en la calle Mayor"),
            ("es", "Paseo del Prado", "Gire a la izquierda en el paseo del Prado"),
            ("es", "Rotonda de España", "Gire a la izquierda en la rotonda de España"),
            ("es", "Eje 1 Norte", "Gire a la izquierda en el eje 1 Norte"),
            ("fi", "Toinen Poikkikatu", "Käänny vasemmalle tielle Toinen Poikkikatu"),
            ("fi", "Mannerheimintie", "Käänny vasemmalle Mannerheimintielle"),
            ("fi", "Pohjoisranta", "Käänny vasemmalle Pohjoisrannalle"),
            ("fi", "Bulevardi", "Käänny vasemmalle Bulevardille"), ("fi", "#4", "Käänny vasemmalle tielle 4"),
            ("zh-Hans", "人民路", "左转进入人民路"), ("en-US", "#SR 12", "Turn left onto State Route 12"),
            ("en-US", "#I 95", "Turn left onto Interstate 95"), ("en", "#A 7", "Turn left onto A 7"),
            ("en-GB", "#A7", "Turn left onto the A7"), ("en-GB", "High Street", "Turn left onto High Street"),
            ("es", "Gran Vía", "Gire a la izquierda en la Gran Vía"),
            ("fr", "Grande Rue", "Tournez à gauche dans la Grande Rue"),
        ])
    func names(language: String, name: String, sentence: String) throws {
        let isReference = name.first == "#"
        let label = RoadLabel(
            name: isReference ? "" : name, references: isReference ? [String(name.dropFirst())] : [])
        let text = InstructionText(phrases: try #require(PhraseTable.named(language)))
        #expect(text.instruction(try Self.maneuver(.turn, .left, label)) == sentence)
    }

    @Test(
        "The word for a ferry is not repeated if its name contains it",
        arguments: [
            ("en", "Sea Line", "Take the Sea Line ferry"), ("en-GB", "Woolwich Ferry", "Take the Woolwich Ferry"),
            ("de", "Sea Line", "Die Fähre Sea Line nehmen"), ("de", "Elbfähre", "Die Elbfähre nehmen"),
            ("de", "Fähre Nord", "Die Fähre Nord nehmen"), ("fr", "Sea Line", "Prenez le ferry Sea Line"),
            ("fr", "Bac de Quillebeuf", "Prenez le bac de Quillebeuf"), ("es", "Sea Line", "Tome el ferry Sea Line"),
            ("es", "Transbordador del Lago", "Tome el transbordador del Lago"),
            ("fi", "Sea Line", "Aja lautalle Sea Line"), ("fi", "Pellingin lossi", "Aja Pellingin lossille"),
            ("fi", "Barösundin lautta", "Aja Barösundin lautalle"), ("zh-Hans", "Sea Line", "乘坐Sea Line渡轮"),
            ("zh-Hans", "泰公线渡轮", "乘坐泰公线渡轮"), ("zh-Hans", "金陵轮渡", "乘坐金陵轮渡"),
        ])
    func ferries(language: String, name: String, sentence: String) throws {
        let text = InstructionText(phrases: try #require(PhraseTable.named(language)))
        for type in [ManeuverType.turn, .notification, .endOfRoad] {
            var maneuver = try Self.maneuver(type, .right, RoadLabel(name: name))
            maneuver.notes = .boardsFerry
            #expect(text.instruction(maneuver) == sentence)
        }
    }

    @Test(
        "Affixes of every language distinguish parts of one street, unless they are its name",
        arguments: [
            ("Ringstraße Nord", "Ringstraße Süd", true), ("Boulevard Foch Nord", "Boulevard Foch Sud", true),
            ("Avenida Central Norte", "Avenida Central Sur", true), ("Calle 10 Este", "Calle 10 Oeste", true),
            ("Rue du Nord", "Rue du Sud", false), ("Calle Norte", "Calle Sur", false),
            ("Itäinen Rantakatu", "Läntinen Rantakatu", false), ("Rua do Norte", "Rua do Oeste", false),
            ("Via Nord", "Via Sud", false),
        ])
    func affixes(before: String, after: String, isSame: Bool) throws {
        var town = Town(
            """
                 N

            L    A

                 S
            """)
        town.road("SA", before, roadClass: .secondary, reference: "B 37")
        town.road("AL", after, roadClass: .secondary, reference: "B 37")
        town.road("AN", "Mill Lane")
        #expect(try town.told("SAL") == ["Turn left \(isSame ? "to stay on" : "onto") \(after)"])
    }

    @Test("Prepositions and articles are contracted where the language requires it")
    func contractions() throws {
        let spanish = InstructionText(phrases: try #require(PhraseTable.named("es")))
        #expect(
            spanish.instruction(try Self.maneuver(.merge, .straight, RoadLabel(name: "Paseo del Prado")))
                == "Incorpórese al paseo del Prado")
        #expect(
            spanish.instruction(try Self.maneuver(.offRamp, .slightRight, RoadLabel(name: "Calle Mayor")))
                == "Tome la salida hacia la calle Mayor")
        let finnish = InstructionText(phrases: try #require(PhraseTable.named("fi")))
        #expect(
            finnish.instruction(try Self.maneuver(.continue, .straight, RoadLabel(name: "Mannerheimintie")))
                == "Jatka suoraan Mannerheimintietä")
        // Both parts of the name are inflected.
        #expect(
            finnish.instruction(try Self.maneuver(.continue, .straight, RoadLabel(name: "Pitkäsilta")))
                == "Jatka suoraan Pitkääsiltaa")
        #expect(
            finnish.instruction(try Self.maneuver(.turn, .left, RoadLabel(name: "Pitkäsilta")))
                == "Käänny vasemmalle Pitkällesillalle")
        let german = InstructionText(phrases: try #require(PhraseTable.named("de")))
        #expect(
            german.instruction(try Self.maneuver(.continue, .left, RoadLabel(name: "Am Markt")))
                == "Links abbiegen und der Straße Am Markt folgen")
        #expect(
            german.instruction(try Self.maneuver(.continue, .left, RoadLabel(name: "Alter Markt")))
                == "Links abbiegen und dem Alten Markt folgen")
        #expect(
            german.instruction(try Self.maneuver(.continue, .left, RoadLabel(name: "Französische Straße")))
                == "Links abbiegen und der Französischen Straße folgen")
        // The street is named after a person.
        #expect(
            german.instruction(try Self.maneuver(.continue, .left, RoadLabel(name: "Stiller Straße")))
                == "Links abbiegen und der Stiller Straße folgen")
    }

    @Test(
        "Numbers and units are spoken naturally",
        arguments: [
            ("de", 1_000.0, "einen Kilometer"), ("de", 1_500, "eineinhalb Kilometer"),
            ("fr", 1_500, "un kilomètre et demi"),
            ("fr", 1_000, "un kilomètre"), ("es", 300, "300 metros"), ("fi", 1_500, "puolitoista kilometriä"),
            ("zh-Hans", 1_500, "1.5公里"), ("en-US", 200, "200 meters"), ("de", 2_500, "2,5 Kilometer"),
        ])
    func distances(language: String, metres: Double, words: String) throws {
        #expect(InstructionText(phrases: try #require(PhraseTable.named(language))).spoken(metres: metres) == words)
    }

    @Test("Every language has words for quarters of a mile", arguments: PhraseTable.all)
    func quarters(table: PhraseTable) {
        let text = InstructionText(phrases: table, scale: .milesAndFeet)
        for miles in [0.25, 0.5, 0.75] {
            let words = text.spoken(metres: miles * 1_609.344)
            #expect(!words.isEmpty && !words.contains { $0.isASCII && $0.isNumber }, "\(table.language): \(words)")
        }
    }

    @Test("Distances in miles have the usual spoken and written forms")
    func miles() throws {
        func text(_ language: String) throws -> InstructionText {
            InstructionText(phrases: try #require(PhraseTable.named(language)), scale: .milesAndFeet)
        }
        #expect(try text("en-US").spoken(metres: 402) == "a quarter mile")
        #expect(try text("en").spoken(metres: 402) == "a quarter of a mile")
        #expect(try text("fi").displayed(metres: 1_609.344) == "1 mi")
    }

    @Test(
        "A waypoint with an article is reached without a preposition that would be contracted with it",
        arguments: [
            ("fr", "Le Mans", "Vous avez atteint Le Mans, sur la gauche"),
            ("es", "el depósito", "Ha alcanzado el depósito, a la izquierda"),
        ])
    func waypoints(language: String, name: String, sentence: String) throws {
        let text = InstructionText(phrases: try #require(PhraseTable.named(language)))
        var maneuver = try Self.maneuver(.arrive, .left)
        maneuver.waypointName = name
        #expect(text.instruction(maneuver) == sentence)
    }

    // MARK: The table

    /// A name of each language that shows its rules in the table.
    private static let streets = [
        "de": "Hauptstraße", "fr": "Rue de la Paix", "es": "Calle Mayor", "fi": "Mannerheimintie", "zh-Hans": "人民路",
    ]

    /// Returns every maneuver with its own text, by description; the closure changes a maneuver accordingly.
    private static func rows() -> [(String, @Sendable (inout Maneuver, String) -> Void)] {
        var rows: [(String, @Sendable (inout Maneuver, String) -> Void)] = []
        let labels: [(String, @Sendable (String) -> RoadLabel)] = [
            ("", { _ in RoadLabel() }), ("street", { RoadLabel(name: $0) }),
            ("number", { _ in RoadLabel(references: ["A 7"]) }), ("sign", { _ in RoadLabel(destinations: ["Turku"]) }),
        ]
        for type in ManeuverType.allCases {
            for modifier in type == .depart ? [nil] : ManeuverModifier.allCases.reversed().map(Optional.some) {
                for (label, road) in labels {
                    let name = [type.rawValue, modifier?.rawValue ?? "", label].filter { !$0.isEmpty }
                    func row(_ more: String..., change: @escaping @Sendable (inout Maneuver) -> Void = { _ in }) {
                        rows.append(
                            (
                                (name + more).joined(separator: ", "),
                                { maneuver, street in
                                    maneuver.type = type
                                    maneuver.modifier = modifier
                                    maneuver.road = road(street)
                                    maneuver.roundaboutName = type == .rotary ? "Kamppi" : ""
                                    maneuver.isFinal = true
                                    change(&maneuver)
                                }
                            ))
                    }
                    row()
                    switch type {
                    case .offRamp:
                        row("exit number") { $0.exitNumbers = ["12"] }
                        row("exit's name") { $0.exitName = "Avintes" }
                        row("exit number and name") { ($0.exitNumbers, $0.exitName) = (["12"], "Avintes") }
                        row("left-hand traffic") { $0.drivingSide = .left }
                        row("left-hand traffic", "exit number") { ($0.drivingSide, $0.exitNumbers) = (.left, ["12"]) }
                        row("left-hand traffic", "exit's name") { ($0.drivingSide, $0.exitName) = (.left, "Avintes") }
                        row("left-hand traffic", "exit number and name") {
                            ($0.drivingSide, $0.exitNumbers, $0.exitName) = (.left, ["12"], "Avintes")
                        }
                    case .roundabout, .rotary:
                        row("second exit") { $0.roundaboutExit = 2 }
                        row("eleventh exit") { $0.roundaboutExit = 11 }
                    case .fork: row("same road") { $0.keepsRoad = true }
                    case .turn, .notification:
                        row("ferry") { $0.notes = .boardsFerry }
                        row("from a ferry") { $0.notes = .leavesFerry }
                        if type == .turn, modifier == .left { row("named crossroads") { $0.junctionName = "Kamppi" } }
                    case .arrive:
                        row("named") { $0.waypointName = "Depot" }
                        row("stop") { $0.isFinal = false }
                    default: break
                    }
                }
            }
        }
        return rows
    }

    @Test("The table of maneuvers in every language is up to date, and every sentence is complete")
    func table() throws {
        let texts = PhraseTable.all.map { InstructionText(phrases: $0) }
        var lines = [
            "# Every maneuver in every language", "",
            "What is said of every maneuver. Rows that no language tells from an earlier one are left out.", "",
            "The table is made by LanguageTests from the files in `Sources/NavGuidance/Languages`; with `NAVBUS_REWRITE=1` in the "
                + "environment it is written anew.", "",
            "| maneuver | " + Self.tags.joined(separator: " | ") + " |",
            "|---|" + Self.tags.map { _ in "---|" }.joined(),
        ]
        let blank = try Self.maneuver(.turn)
        var known: Set<[String]> = []
        for (name, change) in Self.rows() {
            let row = texts.map { text in
                var maneuver = blank
                change(&maneuver, Self.streets[text.phrases.language] ?? "High Street")
                return text.instruction(maneuver)
            }
            for (sentence, text) in zip(row, texts) {
                let hasGap = sentence.contains("  ") || sentence.hasSuffix(" ") || sentence.contains(" ,")
                #expect(!sentence.isEmpty && !sentence.contains("{") && !hasGap, "\(text.phrases.language): \(name)")
            }
            if known.insert(row).inserted { lines.append("| \(name) | " + row.joined(separator: " | ") + " |") }
        }
        lines += [
            "", "## Announcements", "", "| announcement | " + Self.tags.joined(separator: " | ") + " |",
            "|---|" + Self.tags.map { _ in "---|" }.joined(),
        ]
        for (name, units, speed, offsets) in Self.drives {
            let spoken = try Self.tags.map { try drive($0, units, speed, offsets) }
            for index in spoken.map(\.count).min().map({ 0..<$0 }) ?? 0..<0 {
                lines.append("| \(name) \(index + 1) | " + spoken.map { $0[index] }.joined(separator: " | ") + " |")
            }
            #expect(Set(spoken.map(\.count)).count == 1 && !(spoken.first?.isEmpty ?? true), "\(name)")
        }
        lines += [
            "", "## Notices", "", "| notice | " + Self.tags.joined(separator: " | ") + " |",
            "|---|" + Self.tags.map { _ in "---|" }.joined(),
        ]
        let passes = try Self.tags.map { tag in
            let guidance = try Town.pass.guidance("ABCDEFGH", options: GuidanceOptions(Wording(language: tag)))
            return guidance.notices.map { ($0.kind.rawValue, guidance.instruction($0)) }
        }
        for index in passes.map(\.count).min().map({ 0..<$0 }) ?? 0..<0 {
            let row = passes.map { $0[index].1 }
            #expect(row.allSatisfy { !$0.isEmpty && !$0.contains("{") && !$0.contains("  ") }, "\(row)")
            lines.append("| \(passes[0][index].0) | " + row.joined(separator: " | ") + " |")
        }
        #expect(passes.allSatisfy { Set($0.map(\.0)).count == RouteNotice.Kind.allCases.count })
        try check(
            lines.joined(separator: "\n") + "\n", Self.module + "/NavGuidance.docc/EveryManeuverInEveryLanguage.md")
    }

    /// Drives along one street into another, with the distances of the announcements from the start, metres.
    private static let drives: [(String, DistanceUnits, Double, [Double])] = [
        ("metric", .metric, 14, [1_000, 4_050, 4_800, 4_960, 5_030, 5_190]),
        ("imperial", .imperial, 14, [1_000, 4_050, 4_800, 4_960, 5_030, 5_190]),
        ("half a mile", .imperial, 14, [4_200]), ("kilometre and a half", .metric, 14, [1_000, 3_500]),
    ]

    private func drive(
        _ language: String, _ units: DistanceUnits, _ speed: Double, _ offsets: [Double]
    ) throws -> [String] {
        let street = Self.streets[language] ?? "High Street"
        var town = Town("S")
        town.place("A", rightOf: "S", 5_000)
        town.place("B", rightOf: "A", 200)
        town.place("D", below: "A", 200)
        town.road("SAB", street, country: units == .imperial ? "US" : "FI")
        town.road("AD", "Kamppi", country: units == .imperial ? "US" : "FI")
        let options = GuidanceOptions(Wording(language: language, units: units))
        var trigger = InstructionTrigger(try town.guidance("SAD", options: options))
        var said: [String] = []
        for offset in offsets {
            for case .spoken(let instruction) in trigger.update(offset: offset, speed: speed) {
                said.append(instruction.text)
            }
        }
        guard offsets.last == 5_190 else { return said }
        for case .spoken(let instruction) in trigger.arrive(leg: 0) { said.append(instruction.text) }
        return said
    }
}
