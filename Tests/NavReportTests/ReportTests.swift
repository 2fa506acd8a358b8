import Foundation
import NavBag
import NavMessages
import NavReport
import Testing

/// A second of recorded time, ns.
private let second: Int64 = 1_000_000_000
private let start: Int64 = 1_767_258_000 * second

struct ReportTests {
    // MARK: Numbers

    @Test(arguments: [1, 2])
    func packedNumbersRoundTrip(differences: Int) throws {
        let values: [Int64?] = [
            0, 1, nil, -1, 63, 64, -64, -65, nil, nil, 8_000, -2_000_000_000, 2_000_000_000, 180_000_000, 180_000_000,
            5,
        ]
        #expect(try unpacked(Packing.text(values, differences: differences), differences: differences) == values)
        #expect(Packing.text([Int64](), differences: differences).isEmpty)
    }

    @Test func evenStepsTakeOneByteEach() throws {
        let times = (0..<10_000).map { Int64($0) * 100 }
        #expect(try #require(Data(base64Encoded: Packing.text(times, differences: 2))).count < 10_010)
    }

    // MARK: Bounds

    @Test func aFullTableKeepsTheExtremes() throws {
        var table = SampleTable(["value"], measure: 0, limit: 64)
        for index in 0..<100_000 {
            let value: Int32 = index == 31_415 ? -900 : index == 77_777 ? 900 : Int32(index % 7)
            table.append(start + Int64(index) * second, [value])
            #expect(table.stamps.count <= 64)
        }
        let packed = table.document(since: start, within: start...(start + 100_000 * second))
        let values = try unpacked(try #require(packed.columns["value"]))
        #expect(values.contains(-900) && values.contains(900))
        #expect(packed.messages == 100_000 && packed.rows == values.count && values.count >= 24)
        let times = try unpacked(try #require(packed.columns["t"]), differences: 2).compactMap { $0 }
        #expect(times == times.sorted() && times.count == values.count)
    }

    @Test func twoRunsShareThePagesRows() throws {
        var runs = [DriveCollector(runs: 2), DriveCollector(runs: 2)]
        for index in 0..<20_000 {
            let pose = Pose(latitude: 60, longitude: 25, course: 0)
            for run in runs.indices {
                runs[run].add(
                    event(
                        "/nav/position", MatchedPosition(raw: pose, matched: pose), stamp: start + Int64(index) * second
                    ))
            }
        }
        for run in try data(of: runs).runs {
            let positions = try #require(run["positions"] as? [String: Any])
            #expect(positions["messages"] as? Int == 20_000 && (positions["rows"] as? Int ?? .max) <= 18_000)
        }
    }

    @Test func offsetsOfALongDriveAreAllCounted() throws {
        var drive = DriveCollector()
        // One position in 25 is 9 m from the road; a full table keeps these, so that they are one row in 12.
        for index in 0..<40_000 {
            let metres = index % 25 == 0 ? 9.0 : 1
            let matched = Pose(latitude: 60, longitude: 25, course: 0)
            let raw = Pose(latitude: 60, longitude: 25 + metres / 55_800, course: 0)
            drive.add(
                event(
                    "/nav/position", MatchedPosition(raw: raw, matched: matched), stamp: start + Int64(index) * second))
        }
        let run = try #require(try data(of: [drive]).runs.first)
        let positions = try #require(run["positions"] as? [String: Any])
        #expect(positions["messages"] as? Int == 40_000 && (positions["rows"] as? Int ?? .max) < 36_000)
        #expect(try text(beforeTheDataOf: [drive]).contains("<dt>Offset p95</dt><dd>1.0 m</dd>"))
    }

    @Test func rowsOfAnotherTimeAreLeftOut() throws {
        var drive = DriveCollector()
        for index in 0..<20 { drive.add(position(index)) }
        // A node that uses the system clock during a playback.
        drive.add(record(position: 3, stamp: start + 400 * 86_400 * second))
        drive.add(event("/nav/state", NavigationState(phase: .idle), stamp: start + 400 * 86_400 * second))
        drive.add(record(position: 4, stamp: .max))
        let run = try #require(try data(of: [drive]).runs.first)
        #expect(run["duration"] as? Int == 19_000)
        let positions = try #require(run["positions"] as? [String: Any])
        #expect(positions["rows"] as? Int == 20 && positions["messages"] as? Int == 22)
        #expect((run["events"] as? [Any])?.isEmpty == true && (run["notes"] as? [Any])?.isEmpty == false)
    }

    @Test func healthOfAnotherClockIsUnknown() throws {
        var drive = DriveCollector()
        for index in 0..<20 { drive.add(position(index)) }
        let elsewhere = start + 400 * 86_400 * second
        for (state, stamp) in [(HealthState.ok, elsewhere), (.lost, elsewhere + second)] {
            drive.add(event("/health/away", NodeHealth(node: "away", state: state), stamp: stamp))
        }
        for (state, stamp) in [(HealthState.ok, start + second), (.lost, start + 25 * second)] {
            drive.add(event("/health/here", NodeHealth(node: "here", state: state), stamp: stamp))
        }
        let run = try #require(try data(of: [drive]).runs.first)
        let nodes = try #require(run["nodes"] as? [[String: Any]])
        let states = nodes.map { node in
            (node["states"] as? [[String: Any]] ?? []).map { [$0["t"] as? Int, $0["state"] as? Int] }
        }
        #expect(nodes.map { $0["name"] as? String } == ["away", "here"])
        #expect(states == [[[0, 0]], [[1_000, 1], [19_000, 3]]])
        let notes = try #require(run["notes"] as? [String])
        #expect(notes.count == 1 && notes[0].contains("the health of away has a different clock"), "\(notes)")
    }

    @Test func fixesOfSeveralReceiversAreDistinguished() throws {
        var drive = DriveCollector()
        func add(_ index: Int, frame: String?, source: String? = nil) {
            let fix = GnssFix(latitude: 60.1, longitude: 24.9, frameId: frame, source: source)
            drive.add(event("/gnss/fix", fix, stamp: start + Int64(index) * second))
        }
        for index in 0..<3 {
            add(2 * index, frame: "front", source: "/dev/gnss0")
            add(2 * index + 1, frame: nil, source: "rear")
        }
        func receivers() throws -> (names: [String]?, numbers: [Int64?]) {
            let run = try #require(try data(of: [drive]).runs.first)
            let columns = (run["fixes"] as? [String: Any])?["columns"] as? [String: String]
            return (run["receivers"] as? [String], try unpacked(try #require(columns?["receiver"])))
        }
        #expect(try receivers().names == ["front", "rear"])
        #expect(try receivers().numbers == [0, 1, 0, 1, 0, 1])
        // The number of names is bounded, whatever a recording contains.
        for index in 6..<100 { add(index, frame: "r\(index)") }
        #expect(try receivers().names?.count == 16 && receivers().names?.last == "others")
        #expect(try receivers().numbers.last == 15)
    }

    @Test func collectorHandlesAnyBytes() throws {
        var drive = DriveCollector()
        var seed: UInt64 = 88_172_645_463_325_252
        func random() -> UInt64 {
            seed ^= seed << 13
            seed ^= seed >> 7
            seed ^= seed << 17
            return seed
        }
        for type in DriveCollector.shown.sorted() {
            for length in [0, 1, 2, 9, 40, 300] {
                let bytes = (0..<length).map { _ in UInt8(truncatingIfNeeded: random()) }
                drive.add(
                    type, topic: "/nav/route", publisher: nil, sequence: 0, stamp: Int64(bitPattern: random()), bytes)
            }
        }
        for value in [Double.nan, .infinity, -.infinity, 1e300, -91, 181] {
            let pose = Pose(latitude: value, longitude: 20, course: value, speedMps: value)
            drive.add(event("/nav/position", MatchedPosition(matched: pose, crossSigmaM: value), stamp: .min))
            let good = Pose(latitude: 60, longitude: 20, course: value, speedMps: value)
            drive.add(
                event(
                    "/nav/position", MatchedPosition(raw: good, matched: good, alongSigmaM: value, crossSigmaM: value),
                    stamp: start))
            drive.add(event("/nav/progress", RouteProgress(etaNs: .min, distanceToRouteM: value), stamp: .max))
            let summary = RouteSummary(distanceM: value, durationS: value)
            drive.add(event("/nav/route", Route(summary: summary), stamp: start))
            drive.add(
                event("/nav/arrival", ArrivalEvent(phase: .arrived, distanceRemainingM: value), stamp: start))
            drive.add(event("/nav/faster", FasterRoute(phase: .detected, gainS: value), stamp: start))
            drive.add(event("/nav/refresh", RouteRefresh(phase: .refreshed, etaDeltaS: value), stamp: start))
            drive.add(
                event(
                    "/nav/alternatives", Alternatives(alternatives: [Alternative(durationDeltaS: value)]), stamp: start)
            )
        }
        #expect(try DriveReport([.init(name: "a", content: drive)], map: nil, version: "1").page().count > 10_000)
        #expect(try DriveReport([.init(name: "", content: DriveCollector())], map: nil, version: "1").page().count > 0)
    }

    // MARK: The page

    /// A browser paints this part before it reads the data and the script.
    @Test func theTextOfThePagePrecedesDataAndScript() throws {
        var drive = DriveCollector()
        for index in 0..<120 { drive.add(position(index)) }
        let line = polyline([(60.1, 24.9), (60.112, 24.9)])
        drive.add(event("/nav/route", Route(routeId: 7, geometry: line, reason: .started), stamp: start))
        // The first estimate is half a minute too early.
        for (index, state) in [DeviationState.onRoute, .offRoute, .onRoute].enumerated() {
            let stamp = start + Int64(index) * 4 * second
            let progress = RouteProgress(etaNs: start + 90 * second, deviation: state)
            drive.add(event("/nav/progress", progress, stamp: stamp))
        }
        let arrival = ArrivalEvent(phase: .arrived, isDestination: true)
        drive.add(event("/nav/arrival", arrival, stamp: start + 119 * second))
        drive.add(event("/nav/fix_rejected", FixRejected(), stamp: start + second))
        for index in 0..<100 {
            let spoken = SpokenInstruction(text: "Turn <left> \(index)")
            drive.add(event("/nav/instruction/spoken", spoken, stamp: start + Int64(index) * second))
        }
        let text = try text(beforeTheDataOf: [drive])
        #expect(!text.contains("<script"))
        #expect(text.contains("<h1 id=\"title\">run</h1><p id=\"when\">2026-01-01 09:00:00 UTC · 1:59</p>"), "\(text)")
        let figures = text.matches(of: /<dt>([^<]*)<\/dt><dd>([^<]*)(?:<small>([^<]*)<\/small>)?<\/dd>/).map {
            [String($0.1), String($0.2), String($0.3 ?? "")]
        }
        #expect(
            figures == [
                ["Driven", "1.3 km", ""], ["Time", "2.0 min", ""], ["Fixes", "120", "1 rejected"],
                ["Routes", "1", "no reroute"], ["Off route", "4 s", ""], ["Offset p95", "0.0 m", ""],
                ["Arrived", "1:59", "first ETA −29\u{a0}s"],
            ], "\(figures)")
        // Instructions beyond the size of a screen are added by the script.
        #expect(text.ranges(of: "<li>").count == 40 && text.contains("Turn &lt;left&gt; 39</span>"))
        #expect(text.contains("aria-live=\"off\">0:00 / 1:59</output>"))
    }

    @Test func theTextOfThePageComparesTwoRuns() throws {
        var drives = [DriveCollector(), DriveCollector()]
        for index in 0..<20 { for run in drives.indices { drives[run].add(position(index)) } }
        let line = polyline([(60.1, 24.9), (60.112, 24.9)])
        drives[1].add(event("/nav/route", Route(routeId: 7, geometry: line), stamp: start))
        let text = try text(beforeTheDataOf: drives)
        #expect(text.contains("<body class=\"double\">") && text.contains("UTC · two runs compared</p>"))
        #expect(text.contains("<h1 id=\"title\">A run  ·  B run</h1>"))
        let routes = text.matches(of: /<dt>Routes<\/dt><dd>([^<]*)/).map { String($0.1) }
        #expect(routes == ["–", "1"])
    }

    /// With several receivers, the positions of only one count.
    @Test func drivenDistanceIsThatOfTheReceiverWithTheMostFixes() throws {
        var drive = DriveCollector()
        for index in 0..<30 {
            let isFront = index % 3 > 0
            let fix = GnssFix(
                latitude: (isFront ? 60.1 : 60.2) + Double(index) * 1e-4, longitude: 24.9,
                frameId: isFront ? "front" : "rear")
            drive.add(event("/gnss/fix", fix, stamp: start + Int64(index) * second))
        }
        let text = try text(beforeTheDataOf: [drive])
        #expect(text.contains("<dt>Driven</dt><dd>312 m</dd>"), "\(text)")
        #expect(text.contains("<dt>Fixes</dt><dd>30<small>2 receivers</small></dd>"))
    }

    @Test func textOfARecordingIsNeverMarkup() throws {
        let evil = "</script><script>alert(1)</script><!--<img src=x onerror=alert(2)>@SCRIPT@\u{2028}"
        var drive = DriveCollector()
        for index in 0..<3 { drive.add(position(index, road: evil)) }
        drive.add(event("/nav/instruction/spoken", SpokenInstruction(text: evil), stamp: start))
        let page = try DriveReport([.init(name: evil, content: drive)], map: nil, version: evil).page()
        let text = String(decoding: page, as: UTF8.self)
        #expect(!text.contains("<script>alert") && !text.contains("<img"))
        #expect(text.ranges(of: "</script>").count == 2)
        let run = try #require(try data(in: text)["runs"] as? [[String: Any]]).first
        #expect((run?["roads"] as? [String])?.first == evil && run?["name"] as? String == evil)
    }

    @Test func pageLoadsNoResources() throws {
        let text = String(decoding: try DriveReport([], map: nil, version: "1").page(), as: UTF8.self)
        #expect(text.contains("default-src 'none'"))
        let marks = ["src=\"", "href=\"http", "@import", "url(http", "fetch(", "@TITLE@", "@CSS@", "@FACTS@", "@DATA@"]
        for mark in marks {
            #expect(!text.contains(mark), "\(mark)")
        }
    }

    @Test func repeatedRouteIsOneRoute() throws {
        var drive = DriveCollector()
        func count() throws -> Int? { (try data(of: [drive]).runs.first?["routes"] as? [Any])?.count }
        let line = polyline([(60, 20), (60.001, 20), (60.001, 20.002)])
        for count in 0..<3 {
            drive.add(
                event(
                    "/nav/route", Route(routeId: 7, geometry: line, refreshCount: UInt32(count)),
                    stamp: start + Int64(count) * second))
        }
        #expect(try count() == 1)
        drive.add(
            event("/nav/route", Route(routeId: 8, geometry: polyline([(60, 20), (60.002, 20)])), stamp: start))
        #expect(try count() == 2)
    }

    @Test func messagesOfARestartedPublisherAreNotRepetitions() throws {
        var drive = DriveCollector()
        for index in 0..<10 { drive.add(position(index)) }
        // The last message of each run is latched and repeated at the start of the recording's next file.
        let messages: [(second: Int, boot: String, phase: NavigationPhase)] = [
            (1, "a1", .guidance), (3, "b2", .idle), (1, "a1", .guidance), (3, "b2", .idle),
        ]
        for (second, boot, phase) in messages {
            let stamp = start + Int64(second) * 1_000_000_000
            drive.add(event("/nav/state", NavigationState(phase: phase), sequence: 1, stamp: stamp, boot: boot))
        }
        let events = try #require(try data(of: [drive]).runs.first?["events"] as? [[String: Any]])
        #expect(events.map { $0["t"] as? Int } == [1_000, 3_000], "\(events)")
    }

    /// Replays and recordings in lockstep have no publisher ids; `navbus bag merge` combines several in one bag.
    @Test func messagesOfRunsWithoutAPublisherAreNotRepetitions() throws {
        var drive = DriveCollector()
        for index in 0..<10 { drive.add(position(index)) }
        for (second, phase) in [(1, .guidance), (3, .idle), (3, .idle)] as [(Int64, NavigationPhase)] {
            let stamp = start + second * 1_000_000_000
            drive.add(event("/nav/state", NavigationState(phase: phase), sequence: 1, stamp: stamp))
        }
        let events = try #require(try data(of: [drive]).runs.first?["events"] as? [[String: Any]])
        #expect(events.map { $0["t"] as? Int } == [1_000, 3_000], "\(events)")
    }

    /// The page identifies switches and refusals by these kinds and words.
    @Test func receiverSwitchesAndPolicyDecisionsAreEvents() throws {
        var drive = DriveCollector()
        for index in 0..<10 { drive.add(position(index)) }
        let selections = [
            ReceiverSelection(receiver: "front", reason: .first),
            ReceiverSelection(receiver: "rear", previous: "front", reason: .better),
        ]
        for (second, selection) in zip([1, 3] as [Int64], selections) {
            drive.add(event("/nav/receiver", selection, stamp: start + second * 1_000_000_000))
        }
        let kinds: [PolicyKind] = [
            .shouldReroute, .acceptReroute, .acceptFasterRoute, .shouldTakeAlternative, .shouldAdvanceLeg,
        ]
        for kind in kinds {
            let decision = PolicyDecision(kind: kind, verdict: .no, decidedBy: .client)
            drive.add(event("/nav/policy/decision", decision, stamp: start + 5 * second))
        }
        let events = try #require(try data(of: [drive]).runs.first?["events"] as? [[String: Any]])
        #expect(
            events.map { "\($0["kind"] ?? "?"): \($0["text"] ?? "?")" } == [
                "receiver: receiver 'front'", "receiver: receiver 'rear' instead of 'front' (BETTER)",
                "policy: policy SHOULD_REROUTE: NO by CLIENT", "policy: policy ACCEPT_REROUTE: NO by CLIENT",
                "policy: policy ACCEPT_FASTER_ROUTE: NO by CLIENT",
                "policy: policy SHOULD_TAKE_ALTERNATIVE: NO by CLIENT",
                "policy: policy SHOULD_ADVANCE_LEG: NO by CLIENT",
            ])
    }

    @Test func arrivalsOfAllTripsAreKept() throws {
        var drive = DriveCollector()
        for index in 0..<30 { drive.add(position(index)) }
        for (second, isDestination) in [(8, true), (12, false), (25, true)] {
            let arrival = ArrivalEvent(phase: .arrived, isDestination: isDestination)
            drive.add(event("/nav/arrival", arrival, stamp: start + Int64(second) * 1_000_000_000))
        }
        #expect(try data(of: [drive]).runs.first?["arrivals"] as? [Int] == [8_000, 25_000])
    }

    // MARK: Two runs

    @Test func twoRunsAreComparedByTheirEvents() throws {
        func drive(arrival: Int, extra: Bool) -> DriveCollector {
            var drive = DriveCollector()
            for index in 0..<30 { drive.add(position(index)) }
            drive.add(
                event("/nav/state", NavigationState(phase: .guidance), sequence: 1, stamp: start + second))
            if extra {
                drive.add(
                    event(
                        "/nav/reroute", RerouteEvent(phase: .applied, reason: .offRoute), sequence: 1,
                        stamp: start + 9 * second))
            }
            drive.add(
                event(
                    "/nav/arrival", ArrivalEvent(phase: .arrived, isDestination: true), sequence: 1,
                    stamp: start + Int64(arrival) * second))
            return drive
        }
        func changes(_ first: DriveCollector, _ second: DriveCollector) throws -> [String] {
            try data(of: [first, second]).changes.map { change in
                "\(change["change"] as? String ?? "?") \(change["t"] as? Int ?? -1) \(change["other"] as? Int ?? -1)"
            }
        }
        let plain = drive(arrival: 20, extra: false)
        #expect(try changes(plain, plain).isEmpty)
        #expect(try changes(plain, drive(arrival: 22, extra: true)) == ["added 9000 -1", "moved 20000 22000"])
        #expect(try changes(drive(arrival: 20, extra: true), plain) == ["removed 9000 -1"])
    }

    @Test func aSimplifiedLineStaysWithinItsTolerance() {
        let line = (0...1_000).map { index in
            place(60 + Double(index) * 1e-5, 20 + 1e-4 * sin(Double(index) / 40))
        }
        let simple = Line.simplified(line, tolerance: 1)
        #expect(simple.count < 200 && simple.first == line.first && simple.last == line.last)
        #expect(Line.simplified(simple, tolerance: 0.01).count >= simple.count - 2)
    }

    // MARK: Messages

    /// Returns the page's data of some drives.
    private func data(of drives: [DriveCollector]) throws -> (runs: [[String: Any]], changes: [[String: Any]]) {
        let report = DriveReport(drives.map { .init(name: "run", content: $0) }, map: nil, version: "1")
        let data = try data(in: String(decoding: try report.page(), as: UTF8.self))
        return (data["runs"] as? [[String: Any]] ?? [], data["changes"] as? [[String: Any]] ?? [])
    }

    /// Returns the body of the page of some drives up to its data.
    private func text(beforeTheDataOf drives: [DriveCollector]) throws -> String {
        let report = DriveReport(drives.map { .init(name: "run", content: $0) }, map: nil, version: "1")
        let page = String(decoding: try report.page(), as: UTF8.self)
        let begin = try #require(page.firstRange(of: "<body")).lowerBound
        let end = try #require(page.firstRange(of: "<script type=\"application/json\"")).lowerBound
        return String(page[begin..<end])
    }

    private func data(in page: String) throws -> [String: Any] {
        let begin = try #require(page.firstRange(of: "id=\"data\">")).upperBound
        let end = try #require(page[begin...].firstRange(of: "</script>")).lowerBound
        return try #require(try JSONSerialization.jsonObject(with: Data(page[begin..<end].utf8)) as? [String: Any])
    }

    private func event(
        _ topic: String, _ message: some Message, sequence: UInt32 = 0, stamp: Int64, boot: String? = nil
    ) -> Record {
        Record(
            channel: RecordChannel(
                topic: topic, messageEncoding: "protobuf", schemaName: type(of: message).fullName,
                schemaEncoding: "protobuf", schemaData: [], metadata: boot.map { ["boot_id": $0] } ?? [:]),
            sequence: sequence, logTime: UInt64(clamping: stamp), publishTime: UInt64(clamping: stamp),
            data: message.encoded()[...])
    }

    private func polyline(_ points: [(Double, Double)]) -> Polyline {
        Polyline(points.map { (latitude: $0.0, longitude: $0.1) })
    }

    private func record(position index: Int, stamp: Int64, road: String = "Annankatu") -> Record {
        let pose = Pose(latitude: 60.1 + Double(index) * 1e-4, longitude: 24.9, course: 0, speedMps: 11)
        return event(
            "/nav/position",
            MatchedPosition(
                raw: pose, matched: pose, isOnRoad: true, alongSigmaM: 3, crossSigmaM: 2, source: .measured,
                roadName: road), stamp: stamp)
    }

    private func position(_ index: Int, road: String = "Annankatu") -> Record {
        record(position: index, stamp: start + Int64(index) * second, road: road)
    }
}

/// Unpacks numbers like the page.
private func unpacked(_ text: String, differences: Int = 1) throws -> [Int64?] {
    var out: [Int64?] = []
    var (last, step, value, shift): (Int64, Int64, UInt64, UInt64) = (0, 0, 0, 0)
    for byte in try #require(Data(base64Encoded: text)) {
        value |= UInt64(byte & 127) << shift
        shift += 7
        guard byte & 128 == 0 else { continue }
        if value == 0 {
            out.append(nil)
        } else {
            let code = value - 1
            var difference = Int64(code >> 1) ^ -Int64(code & 1)
            if differences == 2 {
                difference += step
                step = difference
            }
            last += difference
            out.append(last)
        }
        (value, shift) = (0, 0)
    }
    return out
}
