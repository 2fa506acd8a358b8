import Foundation
import NavBus
import NavKit
import NavNavigator
import NavVerdict
import NavWire
import NavigationNode
import Testing

/// The errors reported for an invalid or failing scenario.
@Suite("Format of scenarios")
struct FormatTests {
    private static let head = "A title.\nshows: A1\n\n"
    private static let map = "map\nA---B\n\nways\nAB: highway=residential, name=Main Street\n\n"

    private static func text(drive: String = "from A\ndrive B", expect: String = "never reroute", head: String = head)
        -> String
    {
        head + map + "drive\n\(drive)\n\nexpect\n\(expect)\n"
    }

    @Test("a scenario is parsed into its parts")
    func reads() throws {
        let scenario = try Scenario(
            "Two lines\nof title.\nshows: A1, complaint 7\nknown: a cause\n# a remark\n" + Self.map
                + "configuration\nreroute.cooldown_s = 7\norigin_fallback = @A>B\n"
                + "drive\nnavigate to A>B:20%+3R (B)\nfrom A\nat 2.5 set reroute.detect = false\ndrive B at 30 km/h\n\n"
                + "expect\nonly reroute\n3..4.5 say \"Turn *\" where step_index = 2 +- 1 and language != unknown\n",
            file: "f")
        #expect(scenario.title == "Two lines of title." && scenario.rows == ["A1", "complaint 7"])
        #expect(scenario.known == "a cause")
        #expect(scenario.configuration.navigator.rerouteCooldown == 7)
        #expect(scenario.configuration.navigator.originFallback != nil)
        #expect(scenario.steps.count == 4)
        #expect(scenario.steps[2].what == .action(.configure(key: "reroute.detect", value: "false"), at: 2.5))
        let pattern = try #require(scenario.expectations.sequence.first)
        #expect(pattern.window == 3...4.5 && pattern.topic == "say" && pattern.text == "Turn *")
        #expect(pattern.conditions.map(\.field) == ["step_index", "language"])
        #expect(scenario.expectations.exact == ["reroute"])
    }

    @Test(
        "an error names the file, the line and the remedy",
        arguments: [
            (text(head: "shows: A1\n\n"), 1, "the first lines must"),
            (text(head: "A title.\n\n"), 1, "no line 'shows:"),
            (text(head: "A title.\nshows: Z9\n\n"), 2, "'Z9' is not a row"),
            (text(drive: "from A\ndrive Q"), 12, "Q is not drawn"),
            (text(drive: "drive B"), 11, "no position yet"),
            (text(drive: "from A\ndance"), 12, "'dance' is not understood"),
            (text(drive: "from A\ndrive B at 30"), 12, "must be in km/h"),
            (text(drive: "from A\ndrive B at 3000 km/h"), 12, "1 to 250 km/h"),
            (text(drive: "from A\nstand x s"), 12, "write a number"),
            (text(drive: "at 5 drive B"), 11, "cannot have a time"),
            (text(drive: "worker fails BADLY"), 11, "'BADLY' is not a code"),
            (text(drive: "policy should_dance yes"), 11, "'should_dance' is not"),
            (text(drive: "receiver dances"), 11, "'dances' is not"),
            (text(drive: "navigate to A>"), 11, "is not a place"),
            (text(drive: "from A B"), 11, "unexpected 'B'"),
            (text(expect: "wish ARRIVED"), 15, "'wish' is not a topic"),
            (text(expect: "3.5 reroute"), 15, "'3.5' is not a topic"),
            (text(expect: "a..b reroute"), 15, "not a time span"),
            (text(expect: "reroute where attempt"), 15, "ends where"),
            (text(expect: "reroute where attempt is 3"), 15, "'is' is not a comparison"),
            (text(expect: "reroute where reason < far"), 15, "'far' is not a number"),
            (text(expect: "count reroute 3"), 15, "write: count arrival"),
            (text(expect: "only speeches"), 15, "'speeches' is not a topic"),
            (text(expect: "reroute within 5 of say"), 15, "must be in s"),
            (text(expect: "say \"open"), 15, "quotation mark"),
            (head + "map\nA---B\n\nways\nAB highway\n\ndrive\nfrom A\n\nexpect\nnever say\n", 8, "has no colon"),
            (head + "map\nA---B\n\nways\nAB: highway\n\ndrive\nfrom A\n\nexpect\nnever say\n", 8, "is not a tag"),
            (head + "map\nA---B\n\nways\nAC: highway=residential\n\ndrive\nfrom A\n\nexpect\nnever say\n", 4, "C"),
            (
                head
                    + "map, upside down\nA---B\n\nways\nAB: highway=residential\n\ndrive\nfrom A\n\nexpect\nnever say\n",
                4, "'upside down'"
            ),
            (head + map + "drive\nfrom A\n", 0, "no section 'expect'"),
            (head + map + "ways\nAB: a=b\n", 10, "duplicate section 'ways'"),
            (
                head + map + "configuration\nreroute.coldown_s = 5\ndrive\nfrom A\nexpect\nnever say\n", 11,
                "reroute.cooldown_s"
            ),
            (head + map + "configuration\nreroute.cooldown_s = -5\ndrive\nfrom A\nexpect\nnever say\n", 11, "0 … 600"),
            (
                head + map + "configuration\nalternatives.refresh_interval_s = 10\ndrive\nfrom A\nexpect\nnever say\n",
                11, "30"
            ),
        ])
    func mistakes(text: String, line: Int, what: String) throws {
        let mistake = #expect(throws: ScenarioError.self) {
            try ScenarioRun(try Scenario(text, file: "some/file.scenario")).run()
        }
        #expect(mistake?.file == "some/file.scenario" && mistake?.line == line, "\(mistake?.description ?? "")")
        #expect(mistake?.what.contains(what) == true, "\(mistake?.description ?? "")")
    }

    @Test("a drive between unconnected roads is an error")
    func offRoad() throws {
        let text =
            Self.head
            + "map\nA---B\n\nC---D\n\nways\nAB CD: highway=residential\n\ndrive\nfrom A\ndrive D\n\nexpect\nnever say\n"
        let mistake = #expect(throws: ScenarioError.self) { try ScenarioRun(try Scenario(text, file: "f")) }
        #expect(mistake?.what.contains("no road leads straight from A to D") == true)
        _ = try ScenarioRun(try Scenario(text.replacing("drive D", with: "cross to D"), file: "f"))
    }

    @Test("a failure shows expected and actual events side by side")
    func transcript() throws {
        func failures(_ expect: String) throws -> [String] {
            let scenario = try Scenario(
                Self.text(drive: "navigate to A>B:90%\nfrom A\ndrive A>B:95%", expect: expect), file: "f")
            let run = try ScenarioRun(scenario)
            try run.run()
            return scenario.expectations.failures(run.events)
        }
        #expect(try failures("only arrival\narrival APPROACHING 1\narrival ARRIVED 1").isEmpty)
        let extra = try #require(try failures("only arrival\narrival APPROACHING 1").first)
        #expect(
            extra.contains("= arrival APPROACHING 1") && extra.contains("+ ") && extra.contains(": arrival ARRIVED 1"))
        let missing = try #require(try failures("arrival ARRIVED 2").first)
        #expect(missing.contains("- arrival ARRIVED 2") && missing.contains("arrival ARRIVED 1"))
        let order = try failures("arrival ARRIVED 1\narrival APPROACHING 1")
        #expect(order.count == 1)
        let field = try #require(try failures("arrival ARRIVED 1 where distance_remaining_m < 0").first)
        #expect(field.contains("where distance_remaining_m = "))
        #expect(try failures("never arrival").count == 1)
        #expect(try failures("..1 arrival ARRIVED 1").count == 1)
        #expect(try failures("always progress OFF_ROUTE").count == 1)
        #expect(try failures("always rejected").count == 1, "an event that never occurs does not satisfy always")
        #expect(try failures("count progress > 1000").count == 1)
        #expect(try failures("count arrival = 2\nalways progress where leg_index = 0").isEmpty)
        #expect(try failures("arrival ARRIVED within 60 s of arrival APPROACHING").isEmpty)
        #expect(try failures("arrival APPROACHING within 60 s of arrival ARRIVED").count == 1)
    }

    @Test("rewriting keeps the text and inserts the actual events")
    func rewriting() throws {
        let scenario = try Scenario(
            Self.text(
                drive: "navigate to A>B:90%\nfrom A\ndrive A>B:95%",
                expect:
                    "only arrival\n# why\narrival HELD 1\narrival ARRIVED 1 where is_destination = true\nnever reroute"),
            file: "f")
        let run = try ScenarioRun(scenario)
        try run.run()
        let text = ScenarioRewriting.text(scenario, run.events)
        #expect(text.contains("arrival APPROACHING 1\n") && text.contains("# did not come: arrival HELD 1\n"))
        #expect(text.contains("# why\n") && text.contains("arrival ARRIVED 1 where is_destination = true\n"))
        let again = try Scenario(text, file: "f")
        #expect(again.expectations.failures(run.events).isEmpty)
    }

    @Test("the example of the authors' guide passes")
    func example() throws {
        let guide = try String(contentsOf: ScenarioTests.folder.appendingPathComponent("README.md"), encoding: .utf8)
        let parts = guide.components(separatedBy: "```\n")
        let scenario = try Scenario(try #require(parts.count > 1 ? parts[1] : nil), file: "README.md")
        let run = try ScenarioRun(scenario)
        try run.run()
        for failure in scenario.expectations.failures(run.events) { Issue.record("README.md\n\(failure)") }
        #expect(scenario.expectations.sequence.count >= 5)
    }

    @Test("the authors' guide documents every topic")
    func topics() throws {
        let guide = try String(contentsOf: ScenarioTests.folder.appendingPathComponent("README.md"), encoding: .utf8)
        for topic in DriveEvent.topics { #expect(guide.contains("`\(topic)`"), "the guide does not document \(topic)") }
    }

    @Test("an asterisk in a pattern matches any text")
    func stars() {
        #expect(
            globMatches("a*c", "abc") && globMatches("*", "") && globMatches("*b*", "abc") && globMatches("abc", "abc"))
        #expect(
            !globMatches("a*c", "abd") && !globMatches("ab", "abc") && !globMatches("*x*", "abc")
                && !globMatches("a*a", "a"))
    }
}
