import NavConfig
import NavVerdict
import Testing

/// The parsing of fleet files.
struct FleetTests {
    private static func fleet(_ text: String) throws -> Fleet {
        try Fleet(try YAMLValue(yaml: text, source: "fleet file 'f.yaml'"))
    }

    @Test func entryExtendsTheCommonSettings() throws {
        let fleet = try Self.fleet(
            """
            tiles: tiles
            config: node.yaml
            set: {deviation.max_distance_m: 40, destination: ""}
            references: stored
            truth: {positions: "{name}.csv", edges: truth_edges.csv}
            criteria: {right_road: ">= 0.9", arrivals: "= 1"}
            tolerances: {time_s: 0.5, distance_m: 5}
            expect:
              - never reroute FAILED
            bags:
              - drives/*.mcap
              - bags: [a.mcap, b.mcap]
                name: strict
                tags: [urban, night]
                to: 60.1,24.9
                criteria: {right_road: ">= 0.99"}
                expect:
                  - count arrival ARRIVED = 1
                  - '..600 arrival ARRIVED where is_destination = true'
            """)
        #expect(fleet.references == "stored" && fleet.entries.count == 2)
        let (first, second) = (fleet.entries[0], fleet.entries[1])
        #expect(first.globs.map(\.text) == ["drives/*.mcap"] && first.settings.destination == .recorded)
        #expect(first.settings.overrides.map(\.key) == ["deviation.max_distance_m", "destination"])
        #expect(first.settings.overrides.map(\.items) == [["40"], [""]])
        #expect(first.settings.expect.map(\.number) == [9])
        #expect(second.name == "strict" && second.tags == ["urban", "night"])
        #expect(second.settings.destination == .given("60.1,24.9"))
        #expect(second.settings.criteria.map(\.text) == ["= 1", ">= 0.99"])
        #expect(second.settings.expect.map(\.number) == [9, 18, 19])
        #expect(second.settings.tolerances.time == 0.5 && second.settings.tolerances.distance == 5)
        #expect(second.settings.truth.positions == "{name}.csv" && second.settings.tiles == "tiles")
    }

    @Test(arguments: [
        ("tiels: x\nbags: [a]", "line 1: unknown key 'tiels': did you mean 'tiles'?"),
        ("bags:\n  - bags: a\n    expct: [never say]", "line 3: unknown key 'expct': did you mean 'expect'?"),
        ("set: {deviation: {debounce_s: 3}}\nbags: [a]", "line 1: 'deviation' has keys of its own: write the keys of"),
        ("tiles: x\nset:\n  deviation:\n    debounce_s: 3\nbags: [a]", "such as 'deviation.debounce_s'"),
        ("bags: [a]\ntiles: x\ntiles: y", "line 2: the key 'tiles' is given twice"),
        ("tiles: x\nset: {tiles: y}\nbags: [a]", "line 2: 'set' cannot have 'tiles': write 'tiles: DIR'"),
        ("bags: [a]\nexpect:\n  - never say\n  - never reruote", "line 4: 'reruote' is not a topic"),
        (
            "bags: [a]\nexpect: [never reroute WILL_REROTE]",
            "line 2: 'WILL_REROTE' is not a word of 'reroute': did you mean 'WILL_REROUTE'?"
        ),
        ("bags: [a]\nexpect: [never say Turn left]", "line 2: 'Turn' is not a word of 'say': write the text in quotes"),
        (
            "bags: [a]\nexpect: [never progress where deviaton = x]",
            "has no field 'deviaton', did you mean 'deviation'?"
        ),
        (
            "bags: [a]\nexpect: [never progress where deviation = OFF_ROUTE]",
            "did you mean 'DEVIATION_STATE_OFF_ROUTE'?"
        ),
        ("bags: [a]\nexpect: [count arrival where leg_index.x = 1 = 0]", "has no field 'x'"),
        ("bags: [a]\nexpect: ['never say \"a\" \"b\"']", "is a second text"),
        ("bags: [a]\nexpect: [only]", "'only' names no topic"),
        ("bags: [a]\nexpect: [reroute within 5 s of request]", "line 2: 'request' is not published"),
        ("bags: [a]\nexpect: [never request]", "line 2: 'request' is not published"),
        ("bags: [a]\ncriteria: {right_raod: '> 1'}", "line 2: unknown key 'right_raod': did you mean 'right_road'?"),
        ("bags: [a]\ncriteria:\n  right_road: 0.9", "line 3: '0.9' is not a limit"),
        ("bags: [a]\ntolerances: {time_s: -1}", "line 2: 'time_s' takes a number from 0"),
        ("tiles: x", "line 1: no 'bags'"),
        ("bags: []", "line 1: 'bags' is empty"),
        ("bags:\n  - tags: [a]", "line 2: the entry has no 'bags'"),
        ("bags: {", "is not YAML"),
        ("", "is empty"),
    ])
    func errorsNameTheirLine(text: String, message: String) throws {
        let error = #expect(throws: ConfigError.self) { try Self.fleet(text) }
        #expect(error?.description.contains(message) == true, "\(error?.description ?? "")")
        #expect(error?.description.hasPrefix("fleet file 'f.yaml'") == true)
    }

    @Test func numbersArePlain() {
        #expect(plainNumber(0) == "0" && plainNumber(-0.05) == "-0.05" && plainNumber(12.5) == "12.5")
        #expect(plainNumber(3) == "3" && plainNumber(0.00001) == "0" && plainNumber(-7.25) == "-7.25")
    }

    @Test(arguments: [
        "never reroute FAILED * NO_ROUTE", "route * STARTED via A", "never progress * PREDICTED",
        "always progress where deviation = *ON_ROUTE", "receiver front FALLBACK", "show none",
        "alternatives REMOVED FORK_PASSED where alternatives.count = 0", "preview 2 active 0",
        "state GUIDANCE TRACKING HELD where gnss.reasons[0] = *SPOOFING", "policy * YES by CLIENT",
        "alternatives ADDED where fork.latitude != unknown",
        "..900 reroute APPLIED where error = unknown within 5 s of deviation OFF_ROUTE where is_snapped = true",
        "never say \"*left\" within 2.5 s of 10.. route * REROUTED via Main Street, A",
    ])
    func wordsAndFieldsOfMessagesAreKnown(line: String) throws {
        #expect(try Self.fleet("bags: [a]\nexpect: ['\(line)']").entries[0].settings.expect.count == 1)
    }
}
