import NavGeo
import NavMessages
import NavVerdict
import Testing

/// The verdicts on records, references, classes of changes, and the result file.
struct VerdictTests {
    private static func event(_ time: Double, _ text: String) -> EventDiff.Event {
        EventDiff.Event(time: time, topic: "/t", text: text)
    }

    private static func result(
        _ bag: String = "a.mcap", events: [EventDiff.Event] = [], metrics: [String: Double] = [:],
        unexpected: [String] = [], failure: String? = nil, criteria: [Criterion] = [],
        tolerances: EventDiff.Tolerances = EventDiff.Tolerances(), reference: Reference? = nil
    ) -> BagResult {
        var record = DriveRecord()
        (record.events, record.metrics, record.unexpected, record.failure) = (events, metrics, unexpected, failure)
        return BagResult(
            bag: bag, tags: ["t"], command: "navbus check f --only \(bag)", record: record, criteria: criteria,
            tolerances: tolerances, reference: reference)
    }

    @Test func criterionIsMetViolatedOrNotJudged() throws {
        let right = try #require(Criterion(.rightRoad, ">= 0.9"))
        #expect(Self.result(metrics: ["right_road": 0.9], criteria: [right]).verdict == .passed)
        let broken = Self.result(metrics: ["right_road": 0.85], criteria: [right])
        #expect(broken.verdict == .failed && broken.headline == "right_road is 0.85, expected >= 0.9")
        let all = try #require(Criterion(.rightRoad, ">= 1"))
        let close = Self.result(metrics: ["right_road": 0.999999], criteria: [all])
        #expect(close.headline == "right_road is 0.999999, expected >= 1")
        let silent = Self.result(criteria: [right])
        #expect(silent.verdict == .passed && silent.unjudged == ["right_road"])
        #expect(Criterion(.rightRoad, "0.9") == nil && Criterion(.rightRoad, ">= nan") == nil)
        #expect(Self.result(failure: "it is no bag", criteria: [right]).headline == "it is no bag")
        #expect(Self.result(unexpected: ["line 3: never say\n  but it came"]).headline == "line 3: never say")
    }

    @Test func referenceRoundTrips() throws {
        let events = [Self.event(0, "state GUIDANCE"), Self.event(119.4, "say: Turn left onto A  B")]
        let text = Reference.text(events, bag: "x/a.mcap")
        #expect(
            text == "# Events of x/a.mcap; written by 'navbus check --update'.\n     0.0 state GUIDANCE\n"
                + "   119.4 say: Turn left onto A  B\n")
        guard case .events(let read) = try Reference(text: text) else { throw LineError("no events") }
        #expect(read.map(\.text) == events.map(\.text) && read.map(\.time) == [0, 119.4])
        #expect(Self.result(events: events, reference: try Reference(text: text)).verdict == .passed)
        let mistake = #expect(throws: LineError.self) { try Reference(text: "# head\nsoon say") }
        #expect(mistake?.what.contains("line 2") == true)
        #expect(Reference.path(bag: "../data/./a.mcap") == "up/data/a.mcap.txt")
        #expect(Self.result(reference: .missing).verdict == .changed)
    }

    @Test func tolerancesApplyByUnit() {
        var tolerances = EventDiff.Tolerances()
        (tolerances.time, tolerances.distance, tolerances.duration) = (1, 10, 60)
        func changes(_ before: String, _ after: String, at time: Double = 0) -> Int {
            EventDiff([Self.event(0, before)], [Self.event(time, after)], tolerances: tolerances).changes.count
        }
        #expect(changes("arrival destination, 16 m to go", "arrival destination, 22 m to go", at: 0.9) == 0)
        #expect(changes("arrival destination, 16 m to go", "arrival destination, 27 m to go") == 2)
        #expect(changes("route: 1.9 km, 5 min via A", "route: 1.9 km, 6 min via A") == 0)
        #expect(changes("route: 1.8 km, 5 min via A", "route: 1.9 km, 5 min via A") == 2)
        #expect(changes("say: Turn left", "say: Turn right") == 2)
        #expect(changes("say: Turn left", "say: Turn left", at: 1.2) == 1)
    }

    @Test func changesAreGroupedByKindWithTheFirstOfABagFirst() throws {
        func bag(_ name: String, shift: Double) -> (bag: String, changes: [ChangeLine]) {
            (
                name,
                [
                    ChangeLine(sign: "~", time: 100, moved: 100 + shift, text: "reroute WILL_REROUTE (OFF_ROUTE)"),
                    ChangeLine(sign: "-", time: 103, text: "route: 1.9 km, 6 min via A, B"),
                    ChangeLine(sign: "-", time: 104, text: "route: 2.1 km, 7 min via C"),
                ]
            )
        }
        let classes = ChangeClass.classes([bag("a", shift: 4), bag("b", shift: 6)])
        #expect(classes.map(\.kind) == ["later: reroute WILL_REROUTE (OFF_ROUTE)", "gone: route: # km, # min via …"])
        #expect(classes.map(\.bagCount) == [2, 2] && classes.map(\.firstCount) == [2, 0])
        #expect(classes[0].shift == 5 && classes[0].example.bag == "a" && classes[1].shift == nil)
        #expect(
            classes[0].description.contains("later: reroute WILL_REROUTE (OFF_ROUTE) by 5.0 s in the median: 2 bags"))
    }

    @Test func resultFileRoundTrips() throws {
        let bags = [Self.result("b", events: [Self.event(1.5, "say: \"<&>\"")]), Self.result("a", failure: "gone")]
        let result = FleetResult(build: "1.0 abc", bags: bags)
        #expect(result.bags.map(\.bag) == ["a", "b"] && result.summary == "1 passed, 1 failed, 0 changed")
        let text = try result.text()
        #expect(text.split(separator: "\n").count == 3)
        #expect(FleetResult(text: text) == result)
        #expect(FleetResult(text: text + "{}\n") == nil && FleetResult(text: "reroute: {}\n") == nil)
        let junit = result.junit(name: "f<1>")
        #expect(
            junit.contains("tests=\"2\" failures=\"0\" errors=\"1\"") && junit.contains("classname=\"f&lt;1&gt;\""))
        #expect(junit.contains("<error type=\"error\" message=\"gone\">gone\nnavbus check f --only a</error>"))
        let page = result.html(name: "f<1>", comparison: nil)
        #expect(page.contains("<h1>f&lt;1&gt;</h1>") && page.contains("gone") && !page.contains("<script"))
    }

    @Test func documentsHaveAllChangesOfUsualFleets() {
        let stored = Reference.events((0..<40).map { Self.event(Double($0), "say: \($0)") })
        var result = FleetResult(build: "1", bags: [Self.result(reference: stored)])
        for text in [result.junit(name: "f"), result.html(name: "f", comparison: nil)] {
            #expect(text.contains("\n- 39.0 s say: 39\n") && !text.contains("more changes"))
        }
        let short = FleetResult.details(of: result.bags[0], most: 6, rest: "--out")
        #expect(short.contains("- 5.0 s say: 5\n… 34 more changes (--out)\nnavbus check"), "\(short)")
        result.bags[0].changes = (0..<100_002).map { ChangeLine(sign: "-", time: Double($0), text: "say") }
        for text in [result.junit(name: "f"), result.html(name: "f", comparison: nil)] {
            #expect(text.contains("\n… 2 more changes (--out has all of them)\n"))
        }
    }

    @Test func criteriaWithoutTruthAreMarkedInEveryDocument() throws {
        let right = try #require(Criterion(.rightRoad, ">= 0.9"))
        var result = FleetResult(
            build: "1", bags: [Self.result("a", criteria: [right]), Self.result("b", failure: "gone")])
        let mark = "not judged: right_road"
        let partly = result.junit(name: "f")
        #expect(partly.contains("<system-out>\(mark)") && !partly.contains("<skipped"))
        #expect(result.html(name: "f", comparison: nil).contains("<p>\(mark)"))
        result.unchecked = ["a", "b"]
        let junit = result.junit(name: "f")
        #expect(junit.contains("<skipped message=\"not judged\"/>") && junit.contains("errors=\"1\" skipped=\"1\""))
        #expect(result.html(name: "f", comparison: nil).contains("<td>not judged</td>"))
    }

    @Test func notesAreInEveryDocumentAndFailNothing() throws {
        var record = DriveRecord()
        record.notes = ["/gnss/fix: 71 messages are missing from the sequence"]
        let bag = BagResult(
            bag: "a", tags: [], command: "", record: record, criteria: [], tolerances: EventDiff.Tolerances(),
            reference: nil)
        let result = FleetResult(build: "1", bags: [bag])
        let note = "note: /gnss/fix: 71 messages are missing from the sequence"
        #expect(bag.verdict == .passed && result.junit(name: "f").contains("<system-out>\(note)</system-out>"))
        #expect(result.html(name: "f", comparison: nil).contains("<p>\(note)</p>"))
        #expect(FleetResult(text: try result.text()) == result)
    }

    @Test func truthWithNothingToMeasureFails() throws {
        let right = try #require(Criterion(.rightRoad, ">= 0.9"))
        var record = DriveRecord()
        record.unmeasured = ["right_road"]
        let result = BagResult(
            bag: "a", tags: [], command: "", record: record, criteria: [right], tolerances: EventDiff.Tolerances(),
            reference: nil)
        #expect(result.verdict == .failed && result.headline?.hasPrefix("right_road has no value") == true)

        let line = (0..<9).map { second in
            (time: Double(second), coordinate: NavGeo.Coordinate(latitude: 60, longitude: 24.9 + Double(second) / 1e4))
        }
        let truth = Truth(line, segments: [Truth.Segment(from: 1, to: 2)])
        #expect(DriveFigures(truth: nil).unmeasured(hasDestination: true).isEmpty)
        #expect(DriveFigures(truth: truth).unmeasured(hasDestination: false) == ["right_road", "cross_track_p95_m"])
        #expect(DriveFigures(truth: truth).unmeasured(hasDestination: true).contains("missed_deviations"))
        var figures = DriveFigures(truth: truth)
        let pose = Pose(latitude: 60, longitude: 24.9)
        figures.take(MatchedPosition(matched: pose, source: .measured), at: 1, start: 0)
        #expect(figures.unmeasured(hasDestination: false).isEmpty)
    }

    @Test func referenceMayHaveCRLFAndAnyTime() throws {
        let events = [Self.event(1, "state GUIDANCE"), Self.event(2, "say: Turn left")]
        let text = Reference.text(events, bag: "a").replacing("\n", with: "\r\n")
        #expect(Self.result(events: events, reference: try Reference(text: text)).verdict == .passed)
        let far = Self.result(events: events, reference: try Reference(text: "1e300 state GUIDANCE\n"))
        #expect(far.verdict == .changed && far.headline?.contains("1e+300") == true)
        #expect(tenths(-0.5) == "-0.5" && tenths(-12.34) == "-12.3" && tenths(0.04) == "0.0")
    }

    /// Long lists are compared in sections.
    @Test(arguments: [0, 3, 700])
    func differencesTransformOneListIntoTheOther(period: Int) {
        let before = (0..<4_000).map { Self.event(Double($0), "say: \($0 % 97)") }
        var after = before
        for index in stride(from: 3_990, to: 0, by: -max(period, 1)) where period > 0 {
            if index % 2 == 0 { after.remove(at: index) } else { after[index].text = "show: \(index)" }
        }
        let diff = EventDiff(before, after)
        #expect(period > 0 || diff.changes.isEmpty && diff.commonCount == 4_000)
        var (removed, added): ([String], [String]) = ([], [])
        for change in diff.changes {
            switch change {
            case .removed(let event): removed.append(event.text)
            case .added(let event): added.append(event.text)
            case .moved: break
            }
        }
        #expect(before.count - removed.count == diff.commonCount && after.count - added.count == diff.commonCount)
        func counted(_ texts: [String]) -> [String: Int] { Dictionary(texts.map { ($0, 1) }, uniquingKeysWith: +) }
        #expect(counted(before.map(\.text) + added) == counted(after.map(\.text) + removed))
        // The lists have no common event, as with another language; quadratic memory would be gigabytes.
        let other = before.map { Self.event($0.time, "dire : " + $0.text) }
        #expect(EventDiff(before, other).changes.count == 8_000)
    }

    @Test func markupIsEscapedAndControlCharactersAreRemoved() throws {
        let result = FleetResult(build: "b", bags: [Self.result("a\u{1b}[2J'\"", failure: "<\u{0}&>")])
        let junit = result.junit(name: "f")
        #expect(junit.contains("name=\"a[2J&apos;&quot;\"") && junit.contains("message=\"&lt;&amp;&gt;\""))
        #expect(junit.contains("errors=\"1\" skipped=\"0\""))
    }
}
