import NavVerdict
import Testing

/// Expectations on the time between events.
struct ExpectationTests {
    /// Returns the unmet expectations of a line, for events at the given times in the syntax of a line.
    private static func failures(
        _ line: String, _ events: [(time: Double, line: String)], until end: Double = .infinity
    ) throws -> [String] {
        let events = events.map { time, line in
            let words = line.split(separator: " ").map(String.init)
            return DriveEvent(time: time, topic: words[0], words: Array(words.dropFirst()))
        }
        let lines = Expectations([try Expectation(SourceLine(number: 1, text: line))])
        #expect(lines.topics == Set(events.map(\.topic)))
        return lines.failures(events, until: end)
    }

    private static let quick = "reroute APPLIED within 5 s of deviation OFF_ROUTE"
    private static let forbidden = "never reroute APPLIED within 5 s of deviation OFF_ROUTE"

    @Test func eachEventIsFollowedInTime() throws {
        // In time; at the same time but in the other order; too late.
        let drive = [
            (10.0, "deviation OFF_ROUTE"), (15, "reroute APPLIED OFF_ROUTE"), (20, "deviation ON_ROUTE"),
            (30, "reroute APPLIED OFF_ROUTE"), (30, "deviation OFF_ROUTE"), (40, "deviation OFF_ROUTE"),
            (45.1, "reroute APPLIED OFF_ROUTE"),
        ]
        let late = try #require(try Self.failures(Self.quick, drive).first)
        #expect(late == "line 1: \(Self.quick)\n    but 1 of 3 have none:\n    40.0: deviation OFF_ROUTE")
        #expect(try Self.failures(Self.quick, Array(drive.dropLast(2))).isEmpty)
        let early = try #require(try Self.failures(Self.forbidden, drive).first)
        #expect(early.contains("but 2 of 3 have one:\n    10.0: deviation OFF_ROUTE\n    30.0: "), "\(early)")
        #expect(try Self.failures(Self.quick.replacing("5 s", with: "5.1 s"), drive).isEmpty)
    }

    @Test func eventsOutsideTheRecordingAreNotJudged() throws {
        let drive = [(1.0, "reroute APPLIED OFF_ROUTE"), (10, "deviation OFF_ROUTE")]
        #expect(try Self.failures(Self.quick, drive, until: 14).isEmpty)
        #expect(try Self.failures(Self.quick, drive, until: 15).count == 1)
        #expect(try Self.failures(Self.quick, [(1, "reroute REJECTED OFF_ROUTE"), (2, "deviation ON_ROUTE")]).isEmpty)
    }

    @Test func eventDoesNotFollowItself() throws {
        let line = "never reroute APPLIED within 30 s of reroute APPLIED"
        let drive = [(10.0, "reroute APPLIED OFF_ROUTE"), (50, "reroute APPLIED OFF_ROUTE")]
        #expect(try Self.failures(line, drive).isEmpty)
        #expect(try Self.failures(line, drive + [(70, "reroute APPLIED OFF_ROUTE")]).count == 1)
    }

    /// Quotes distinguish a road's name from a keyword of the line.
    @Test(arguments: ["route via Road \"within\" Walls, Ring", "route via \"Road within\" Walls, *"])
    func roadNameMayContainAKeyword(line: String) throws {
        for (text, count) in [
            ("Road within Walls, Ring", 0), ("Road \"within\" Walls, Ring", 0), ("Road without Walls, Ring", 1),
        ] {
            let lines = Expectations([try Expectation(SourceLine(number: 1, text: line))])
            let event = DriveEvent(time: 1, topic: "route", words: ["INITIAL"], text: text)
            #expect(lines.failures([event], until: .infinity).count == count, "\(text)")
        }
    }

    @Test(arguments: [
        ("reroute within 5 of say", "must be in s"), ("reroute within soon s of say", "'soon' is not the time"),
        ("reroute within 5 s", "'of' and an event must follow the time"),
        ("within 5 s of reroute", "no event precedes 'within'"), ("reroute within -1 s of say", "is negative"),
        ("always say within 5 s of reroute", "'within' cannot follow 'always'"),
        ("reroute APLIED within 5 s of say", "did you mean 'APPLIED'?"),
        ("say within 5 s of reruote", "'reruote' is not a topic"),
        ("say within 5 s of reroute where attempt = 1 2", "unexpected '2'"),
    ])
    func mistakesAreNamed(line: String, what: String) {
        let mistake = #expect(throws: LineError.self) { try Expectation(SourceLine(number: 1, text: line)) }
        #expect(mistake?.what.contains(what) == true, "\(mistake?.what ?? "")")
    }
}
