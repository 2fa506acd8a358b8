import Foundation
import GNSSNode
import NavBag
import NavGeo
import NavKit
import NavMap
import NavMatching
import NavMessages
import NavNavigator
import NavPositioning
import NavRecording
import NavReplay
import NavRouting
import NavSimulation
import NavTestKit
import NavTestSystem
import NavWire
import NavigationNode
import Testing

/// A session with fixes and odometry as they arrive: late, often, from several receivers, with wheel sensors or
/// without.
struct PositioningTests {
    // MARK: Drives

    /// Returns the inputs of a simulated drive through Helsinki.
    static func drive(
        rate: Double = 1, noise: ReceiverModel.Environment = .open, outages: [ClosedRange<Double>] = [],
        deviateAt: Double? = nil, _ change: (inout DriveSimulator.Plan) -> Void = { _ in }
    ) throws -> (inputs: [RecordedInput], report: DriveSimulator.Report) {
        let map = try Helsinki.map.get()
        var plan = DriveSimulator.Plan(
            waypoints: [NavRouting.Waypoint(Helsinki.from), NavRouting.Waypoint(Helsinki.to)], deviateAt: deviateAt,
            receiver: ReceiverModel(noise, outages: outages), rate: rate, seed: 5,
            start: NavGeo.Timestamp(nanoseconds: Helsinki.start))
        change(&plan)
        return try withTemporaryFolder { folder in
            let report = try DriveSimulator(router: .fastest(map.metric)).run(plan, into: folder + "/drive.mcap")
            var inputs: [RecordedInput] = []
            try TraceInput(path: folder + "/drive.mcap").forEachInput { inputs.append($0) }
            return (inputs, report)
        }
    }

    /// Returns the true position of the vehicle every 20 ms of a drive.
    static func truth(backUp: Double = 0) throws -> [Int64: NavGeo.Coordinate] {
        let drive = try drive(rate: 50, noise: .none) { $0.backUp = backUp }
        var truth: [Int64: NavGeo.Coordinate] = [:]
        for case .fix(let fix) in drive.inputs {
            guard let stamp = fix.stampNs, let latitude = fix.latitude, let longitude = fix.longitude else { continue }
            truth[moment(stamp)] = NavGeo.Coordinate(latitude: latitude, longitude: longitude)
        }
        return truth
    }

    /// Returns the number of the 20 ms interval nearest to a stamp.
    private static func moment(_ stamp: Int64) -> Int64 { (stamp - Helsinki.start + 10_000_000) / 20_000_000 }

    private func error(_ position: NavMessages.MatchedPosition, _ truth: [Int64: NavGeo.Coordinate]) -> Double? {
        guard let stamp = position.stampNs, let place = truth[Self.moment(stamp)], let pose = position.matched,
            let latitude = pose.latitude, let longitude = pose.longitude
        else { return nil }
        return Geodesy.distance(place, NavGeo.Coordinate(latitude: latitude, longitude: longitude))
    }

    // MARK: Rates

    @Test(arguments: [1.0, 5, 10, 20])
    func driveEndsTheSameAtAnyFixRate(rate: Double) throws {
        let seat = try SessionHarness(Helsinki.configuration)
        let drive = try Self.drive(rate: rate, deviateAt: 500) { $0.odometryRate = 50 }
        drive.inputs.forEach { seat.take($0) }
        #expect(seat.all(FixRejected.self).isEmpty)
        let phases = seat.all(NavMessages.RerouteEvent.self).compactMap(\.phase)
        #expect(phases == [.willReroute, .fetching, .fetched, .applied])
        #expect(seat.all(NavMessages.ArrivalEvent.self).count { $0.phase == .arrived } == 1)
        #expect(seat.all(NavMessages.MatchedPosition.self).count == drive.report.fixes)
        #expect(
            seat.session.positioning.counters.first { $0.name == "fixes_used" }?.value == UInt64(drive.report.fixes))
    }

    // MARK: Offline

    /// `match`, `integrity` and the benchmark run the pipeline without a node.
    @Test(arguments: [0.0, 20])
    func offlinePipelineAgreesWithTheNodeBitForBit(odometryRate: Double) throws {
        let map = try Helsinki.map.get()
        let drive = try Self.drive(noise: .urban, outages: [30...75, 110...116]) { $0.odometryRate = odometryRate }
        let seat = try SessionHarness(NavigationConfiguration())
        var positioning = Positioning(metric: map.metric)
        var receivers = ReceiverRegister(preferred: [])
        var own: [VehiclePosition] = []
        for input in drive.inputs {
            seat.take(input)
            let event: Positioning.Event
            switch input {
            case .odometry(let message): event = .odometry(try #require(Odometry(message)))
            case .fix(let message):
                var fix = try #require(Fix(message, sequence: nil))
                fix.receiver = receivers.number(of: message)
                event = .fix(fix)
            }
            for case .position(let position) in positioning.replay(event) { own.append(position) }
        }
        let published = seat.all(NavMessages.MatchedPosition.self)
        #expect(published.count == own.count && own.count { $0.prediction != nil } > 30)
        for (message, position) in zip(published, own) {
            let place = position.match.coordinate
            #expect(message.stampNs == position.stamp.nanoseconds)
            #expect(message.matched?.latitude == place.latitude && message.matched?.longitude == place.longitude)
            #expect(message.alongSigmaM == position.road?.alongSigma ?? position.sigma)
            #expect(message.candidates.map(\.probability) == position.match.candidates.map(\.probability))
            #expect(message.source == PositionSource(position))
        }
    }

    // MARK: Latency

    @Test(arguments: [0.3, 1.0])
    func lateFixesApplyToTheirOwnTime(latency: Double) throws {
        let truth = try Self.truth()
        let seat = try SessionHarness(NavigationConfiguration())
        let drive = try Self.drive(rate: 5, noise: .none) {
            $0.odometryRate = 50
            $0.latency = latency
        }
        // When fixes arrive, the odometry is ahead of them.
        var ahead: Int64 = 0
        var newest: Int64 = 0
        for input in drive.inputs {
            switch input {
            case .odometry(let odometry): newest = max(newest, odometry.stampNs ?? 0)
            case .fix(let fix): ahead = max(ahead, newest - (fix.stampNs ?? 0))
            }
            seat.take(input)
        }
        #expect(Double(ahead) * 1e-9 > latency * 0.8)
        #expect(seat.all(FixRejected.self).isEmpty)
        let measured = seat.all(NavMessages.MatchedPosition.self).filter { $0.source != .predicted }
        let errors = measured.dropFirst(20).compactMap { error($0, truth) }.sorted()
        #expect(errors.count > 500)
        // A second of latency would mean an error of 10 m at 10 m/s.
        #expect(errors[errors.count * 95 / 100] < 3, "p95 \(errors[errors.count * 95 / 100])")
    }

    @Test func futureFixDoesNotAdvanceTime() throws {
        let seat = try SessionHarness(Helsinki.configuration)
        for (index, fix) in try Helsinki.drive.get().prefix(60).enumerated() {
            var fix = fix
            fix.receiveStampNs = fix.stampNs.map { $0 + 100_000_000 }
            if index % 10 == 9 { fix.stampNs = index == 29 ? .max : fix.stampNs.map { $0 + 18_000_000_000 } }
            seat.take(.fix(fix))
        }
        #expect(seat.all(FixRejected.self).map(\.reason) == Array(repeating: .future, count: 6))
        #expect(seat.all(NavMessages.SimulationEvent.self).isEmpty)
        #expect(seat.all(NavMessages.MatchedPosition.self).allSatisfy { $0.source != .predicted })
    }

    @Test(arguments: [1.6, 3.0])
    func rareAndLateFixesAreUsedAlongsideOdometry(latency: Double) throws {
        let truth = try Self.truth()
        let seat = try SessionHarness(Helsinki.configuration)
        let drive = try Self.drive(noise: .none) {
            $0.odometryRate = 50
            $0.latency = latency
        }
        drive.inputs.forEach { seat.take($0) }
        #expect(seat.all(FixRejected.self).isEmpty)
        #expect(seat.all(NavMessages.SimulationEvent.self).count <= 4)
        let errors = seat.all(NavMessages.MatchedPosition.self).dropFirst(10).compactMap { error($0, truth) }.sorted()
        #expect(errors.count > 100)
        #expect(errors[errors.count * 95 / 100] < 5, "p95 \(errors[errors.count * 95 / 100])")
    }

    @Test(arguments: [3_600.0, 619_315_200])
    func singleFixOfAnotherTimeIsRejected(seconds: Double) throws {
        let seat = try SessionHarness(Helsinki.configuration)
        let drive = try Helsinki.drive.get()
        for (index, fix) in drive.prefix(80).enumerated() {
            // The fix has no receive stamp.
            var fix = fix
            if index == 30 { fix.stampNs = fix.stampNs.map { $0 + Int64(seconds * 1e9) } }
            seat.take(.fix(fix))
        }
        #expect(seat.all(FixRejected.self).map(\.reason) == [.future])
        let positions = seat.all(NavMessages.MatchedPosition.self)
        #expect(positions.count { $0.source != .predicted } == 79)
        #expect(positions.count { $0.source == .predicted } <= 10)
        #expect(positions.allSatisfy { ($0.stampNs ?? 0) < Helsinki.start + 90_000_000_000 })
    }

    /// Sends for more than an hour only odometry, or only fixes that are too inaccurate to be used.
    @Test(arguments: [true, false])
    func fixesAfterALongOutageAreUsedAtOnce(hasOdometry: Bool) throws {
        let seat = try SessionHarness(Helsinki.configuration)
        let drive = try Helsinki.drive.get()
        for fix in drive.prefix(30) { seat.take(.fix(fix)) }
        let start = try #require(drive[29].stampNs)
        for second in 1...3_720 {
            let stamp = start + Int64(second) * 1_000_000_000
            if hasOdometry {
                seat.take(.odometry(VehicleOdometry(stampNs: stamp, speedMps: 0)))
            } else {
                var poor = drive[29]
                (poor.stampNs, poor.horizontalAccuracyM) = (stamp, 900)
                seat.take(.fix(poor))
            }
        }
        for fix in drive[30..<40] {
            var fix = fix
            fix.stampNs = fix.stampNs.map { $0 + 3_720_000_000_000 }
            seat.take(.fix(fix))
        }
        #expect(!seat.all(FixRejected.self).contains { $0.reason == .future })
        let later = start + 3_720_000_000_000
        let measured = seat.all(NavMessages.MatchedPosition.self).filter { $0.source != .predicted }
        #expect(measured.count { ($0.stampNs ?? 0) > later } == 10)
    }

    /// Some bridges set a speed of 0 beside a valid course.
    @Test func constantSpeedOfZeroIsLeftOut() throws {
        let seat = try SessionHarness(Helsinki.configuration)
        for fix in try Helsinki.drive.get() {
            var fix = fix
            fix.speed = 0
            seat.take(.fix(fix))
        }
        let sigmas = seat.all(NavMessages.MatchedPosition.self).dropFirst(30).compactMap(\.alongSigmaM)
        #expect(sigmas.count > 200 && sigmas.allSatisfy { $0 < 30 }, "\(sigmas.max() ?? 0)")
        // Until the contradiction is detected, the signal is trusted.
        #expect(seat.all(FixRejected.self).count { $0.reason == .jump } <= 6)
        let states = seat.all(NavMessages.NavigationState.self)
        #expect(!states.contains { $0.gnss?.quality == .lost })
        #expect(states.contains { $0.gnss?.quality == .reduced && $0.gnss?.reasons == [.contradiction] })
    }

    /// Some bridges set a course of 0, due north, in every fix; others repeat an old course.
    @Test(arguments: [0, 2.0], [true, false])
    func constantCourseIsLeftOut(course: Double, hasSpeed: Bool) throws {
        func drive(course: (Int, Double?) -> Double?) throws -> (edges: [Int64: UInt64], reroutes: Int) {
            let seat = try SessionHarness(Helsinki.configuration)
            for (index, fix) in try Helsinki.drive.get().enumerated() {
                var fix = fix
                fix.course = course(index, fix.course)
                if !hasSpeed { fix.speed = nil }
                seat.take(.fix(fix))
            }
            let positions = seat.all(NavMessages.MatchedPosition.self).filter { $0.source != .predicted }
            let edges = positions.compactMap { position in position.road.map { (position.stampNs ?? 0, $0.edgeId ?? 0) }
            }
            return (
                Dictionary(edges) { $1 },
                seat.all(NavMessages.RerouteEvent.self).count { $0.phase == .applied }
            )
        }
        let usual = try drive { _, _ in nil }
        let constant = try drive { index, given in course == 0 || index >= 30 ? course : given }
        let others = usual.edges.filter { constant.edges[$0.key] != $0.value }.count
        // Until the contradiction is detected, the signal is trusted.
        #expect(others <= (course == 0 ? 0 : 12) && usual.edges.count > 300, "\(others) on another road")
        #expect(constant.reroutes == usual.reroutes)
    }

    @Test func driveContinuesAfterAPauseOfHours() throws {
        let seat = try SessionHarness(Helsinki.configuration)
        for (index, fix) in try Helsinki.drive.get().prefix(80).enumerated() {
            var fix = fix
            if index >= 30 { fix.stampNs = fix.stampNs.map { $0 + 7_200_000_000_000 } }
            seat.take(.fix(fix))
        }
        #expect(seat.all(FixRejected.self).map(\.reason) == [.future, .future])
        let later = Helsinki.start + 7_200_000_000_000
        let measured = seat.all(NavMessages.MatchedPosition.self).filter { $0.source != .predicted }
        #expect(measured.count { ($0.stampNs ?? 0) > later } == 48)
    }

    @Test func offRoadPredictionHasItsUncertainty() throws {
        let seat = try SessionHarness(NavigationConfiguration())
        for (index, fix) in try Helsinki.drive.get().prefix(60).enumerated() {
            // The same drive where the map has no roads, with an outage towards its end.
            var fix = fix
            fix.latitude = fix.latitude.map { $0 - 3 }
            if index >= 40 { fix.fixType = .noFix }
            seat.take(.fix(fix))
        }
        let positions = seat.all(NavMessages.MatchedPosition.self)
        let predicted = positions.filter { $0.source == .predicted }
        #expect(predicted.count > 10 && predicted.allSatisfy { $0.raw == nil && $0.matched?.latitude != nil })
        #expect(predicted.allSatisfy { ($0.alongSigmaM ?? 0) > 0 && ($0.crossSigmaM ?? 0) > 0 && $0.isOnRoad == false })
        let measured = positions.filter { $0.source != .predicted }
        #expect(measured.count > 30 && measured.allSatisfy { $0.matched == $0.raw && $0.road == nil })
    }

    // MARK: Odometry

    @Test func odometryBridgesAnOutage() throws {
        let truth = try Self.truth()
        let outage = 60.0...100.0
        func errorAtEnd(_ odometry: Double?) throws -> (
            error: Double, method: NavMessages.PredictionMethod?, driven: Double
        ) {
            let seat = try SessionHarness(Helsinki.configuration)
            let drive = try Self.drive(outages: [outage]) { $0.odometryRate = odometry }
            drive.inputs.forEach { seat.take($0) }
            let predicted = seat.all(NavMessages.MatchedPosition.self).filter { $0.source == .predicted }
            let last = try #require(predicted.last { ($0.stampNs ?? 0) <= Helsinki.start + 100_000_000_000 })
            let driven = (3_000..<5_000 as Range<Int64>).reduce(0.0) { sum, moment in
                guard let first = truth[moment], let second = truth[moment + 1] else { return sum }
                return sum + Geodesy.distance(first, second)
            }
            #expect(seat.all(NavMessages.RerouteEvent.self).isEmpty)
            return (try #require(error(last, truth)), last.prediction, driven)
        }
        let with = try errorAtEnd(50)
        #expect(with.method == .odometry)
        #expect(with.driven > 100 && with.error < max(0.03 * with.driven, 8), "\(with)")
        #expect(try errorAtEnd(nil).method == .alongRoute)
    }

    @Test func reversingVehicleKeepsItsHeading() throws {
        let truth = try Self.truth(backUp: 15)
        let seat = try SessionHarness(Helsinki.configuration)
        let drive = try Self.drive(rate: 5) {
            $0.odometryRate = 50
            $0.backUp = 15
        }
        #expect(drive.inputs.contains { if case .odometry(let report) = $0 { report.reverse == true } else { false } })
        drive.inputs.forEach { seat.take($0) }
        #expect(seat.all(FixRejected.self).isEmpty)
        #expect(seat.all(NavMessages.ArrivalEvent.self).contains { $0.phase == .arrived })
        let errors = seat.all(NavMessages.MatchedPosition.self).compactMap { error($0, truth) }.sorted()
        #expect(errors[errors.count / 2] < 5)
    }

    @Test func odometrySurvivesTheRoundTrip() throws {
        for speed in [-1.5, 0, 13.25] {
            let odometry = Odometry(
                stamp: NavGeo.Timestamp(nanoseconds: 77), speed: speed, speedSigma: 0.1, turnRate: 0.2,
                turnRateSigma: 0.01, isStationary: speed == 0)
            let bytes = VehicleOdometry(odometry).encoded()
            #expect(Odometry(try VehicleOdometry(decoding: bytes, limit: 1_000)) == odometry)
        }
    }

    @Test func odometryOfAnotherTimeIsIgnored() throws {
        let seat = try SessionHarness(NavigationConfiguration())
        let fixes = try Helsinki.drive.get()
        for fix in fixes.prefix(20) { seat.take(.fix(fix)) }
        let now = try #require(fixes[19].stampNs)
        for lead in [Int64.max - now, 3_600_000_000_000, 11_000_000_000, -60_000_000_000] {
            seat.take(.odometry(VehicleOdometry(stampNs: now + lead, speedMps: 5)))
        }
        #expect(seat.all(NavMessages.SimulationEvent.self).isEmpty)
        #expect(seat.session.positioning.odometryLeftOut == 4 && seat.session.positioning.odometry == 0)
        // Odometry that continues without fixes is accepted after a while.
        for step in 0..<200 as Range<Int64> {
            seat.take(.odometry(VehicleOdometry(stampNs: now + 20_000_000_000 + step * 20_000_000, speedMps: 5)))
        }
        #expect((90...110).contains(seat.session.positioning.odometry))
    }

    /// If it were used, a report from the future would pass the stops up to its time and suppress positions until then.
    @Test(arguments: [2.0, 9])
    func singleReportAheadOfOthersIsIgnored(lead: Double) throws {
        func positions(lead: Double?) throws -> (positions: [NavMessages.MatchedPosition], leftOut: UInt64) {
            let seat = try SessionHarness(Helsinki.configuration)
            for (index, fix) in try Helsinki.drive.get().prefix(60).enumerated() {
                seat.take(.fix(fix))
                let now = NavGeo.Timestamp(nanoseconds: try #require(fix.stampNs))
                for tenth in 0..<10 {
                    if tenth == 5, index % 20 == 19, let lead {
                        let stamp = now.advanced(bySeconds: lead).nanoseconds
                        seat.take(.odometry(VehicleOdometry(stampNs: stamp, speedMps: 8)))
                    }
                    let stamp = now.advanced(bySeconds: Double(tenth) / 10).nanoseconds
                    seat.take(.odometry(VehicleOdometry(stampNs: stamp, speedMps: fix.speed.map { max($0, 0) })))
                }
            }
            return (seat.all(NavMessages.MatchedPosition.self), seat.session.positioning.odometryLeftOut)
        }
        let plain = try positions(lead: nil)
        let spoiled = try positions(lead: lead)
        #expect(plain.leftOut == 0 && spoiled.leftOut == 3)
        #expect(spoiled.positions.map(\.stampNs) == plain.positions.map(\.stampNs))
        #expect(spoiled.positions.map(\.matched) == plain.positions.map(\.matched))
    }

    /// Odometry resumes during an outage: predictions without it have already advanced the time.
    @Test func odometryThatResumesInAnOutageIsUsed() throws {
        let seat = try SessionHarness(Helsinki.configuration)
        let drive = try Helsinki.drive.get()
        for fix in drive.prefix(40) { seat.take(.fix(fix)) }
        let now = NavGeo.Timestamp(nanoseconds: try #require(drive[39].stampNs))
        _ = seat.session.pass(to: now.advanced(bySeconds: 9))
        let stamp = now.advanced(bySeconds: 9.1).nanoseconds
        seat.take(.odometry(VehicleOdometry(stampNs: stamp, speedMps: 8)))
        #expect(seat.session.positioning.odometry == 1 && seat.session.positioning.odometryLeftOut == 0)
    }

    @Test func replayUsesTheOdometryOfABagRepeatably() throws {
        let map = try Helsinki.map.get()
        try withTemporaryFolder { folder in
            var plan = DriveSimulator.Plan(
                waypoints: [NavRouting.Waypoint(Helsinki.from), NavRouting.Waypoint(Helsinki.to)], deviateAt: nil,
                receiver: ReceiverModel(.open, outages: [60...90]), rate: 1, seed: 2,
                start: NavGeo.Timestamp(nanoseconds: Helsinki.start))
            plan.odometryRate = 20
            let report = try DriveSimulator(router: .fastest(map.metric)).run(plan, into: folder + "/drive.mcap")
            #expect(report.odometry > 20 * 200 && report.outage == 31)
            func replay(_ input: String, _ output: String) throws -> Replay.Summary {
                let trace = try TraceInput(path: folder + input)
                var log = MessageLog(try BagWriter(path: folder + output, overwrite: true))
                let summary = try Replay(map: map, configuration: Helsinki.configuration)
                    .run(trace.fixes, others: trace.others, into: &log)
                try log.close()
                return summary
            }
            let summary = try replay("/drive.mcap", "/1.mcap")
            // Odometry before the first fix is not used; only the last such report has the first fix's time.
            #expect(summary.fixes == report.fixes && report.odometry - summary.odometry <= 1)
            _ = try replay("/drive.mcap", "/2.mcap")
            _ = try replay("/1.mcap", "/3.mcap")
            let first = try Data(contentsOf: URL(fileURLWithPath: folder + "/1.mcap"))
            for other in ["/2.mcap", "/3.mcap"] {
                #expect(try Data(contentsOf: URL(fileURLWithPath: folder + other)) == first, "\(other)")
            }
            let messages = try content(of: folder + "/1.mcap")
            #expect(messages.count { $0.topic == "/vehicle/odometry" } == report.odometry)
            #expect(zip(messages, messages.dropFirst()).allSatisfy { $0.logTime <= $1.logTime })
            let methods = try messages.filter { $0.topic == "/nav/position" }.map {
                try NavMessages.MatchedPosition(decoding: $0.data).prediction
            }
            #expect(methods.count { $0 == .odometry } > 20)
        }
    }

    // MARK: Time of receivers

    /// Returns a drive along a parallel at 10 m/s in NMEA 0183, with `rate` epochs per second, around a leap second.
    private static func leapSecond(rate: Int) -> [UInt8] {
        func sentence(_ content: String) -> String {
            "$\(content)*" + String(format: "%02X", content.utf8.reduce(0, ^)) + "\r\n"
        }
        var text = ""
        for epoch in 0..<(60 * rate) {
            let second = epoch / rate
            let clock: (hms: String, date: String) =
                switch second {
                case ..<30: ("2359" + String(format: "%02d", 30 + second), "311216")
                case 30: ("235960", "311216")
                default: ("0000" + String(format: "%02d", second - 31), "010117")
                }
            let time = clock.hms + String(format: ".%02d", epoch % rate * 100 / rate)
            let minutes = 10.0 / Double(rate) * Double(epoch) / 1852
            text += sentence(
                "GPRMC,\(time),A,6010.\(String(format: "%05d", Int(minutes * 1e5))),N,02456.0000,E,19.44,0.0,\(clock.date),,,A"
            )
        }
        return Array(text.utf8)
    }

    @Test(arguments: [1, 5, 10])
    func leapSecondDoesNotBlockPositioning(rate: Int) throws {
        try withTemporaryFolder { folder in
            try Data(Self.leapSecond(rate: rate)).write(to: URL(fileURLWithPath: folder + "/leap.nmea"))
            let seat = try SessionHarness(NavigationConfiguration())
            try TraceInput(path: folder + "/leap.nmea").forEachInput { seat.take($0) }
            let positions = seat.all(NavMessages.MatchedPosition.self)
            // The repeated second is rejected once, with a separate reason.
            let rejected = seat.all(FixRejected.self)
            #expect(rejected.count <= rate)
            #expect(rejected.allSatisfy { $0.reason == .duplicate || $0.reason == .outOfOrder })
            #expect(positions.count + rejected.count >= 60 * rate)
            #expect(positions.allSatisfy { $0.isTeleport != true && $0.source != .predicted })
            let places = positions.compactMap { $0.raw?.latitude }
            #expect(zip(places, places.dropFirst()).allSatisfy { $1 > $0 && $1 - $0 < 20.0 / 111_000 })
        }
    }
}

/// A session that receives routes immediately, and its publications.
final class SessionHarness {
    let session: NavigationSession
    private let map: MapSnapshot
    private let planner = RoutePlanner()
    private var sequence: UInt64 = 0
    private(set) var messages: [OutgoingMessage] = []

    init(_ configuration: NavigationConfiguration) throws {
        map = try Helsinki.map.get()
        session = NavigationSession(map: map, configuration: configuration, nodeName: "test")
    }

    func take(_ input: RecordedInput) {
        sequence += 1
        var outcomes: [NavigationSession.Outcome]
        switch input {
        case .fix(let fix): outcomes = [session.handle(fix, sequence: sequence)]
        case .odometry(let odometry): outcomes = [session.handle(odometry, sequence: sequence)]
        }
        while !outcomes.isEmpty {
            let outcome = outcomes.removeFirst()
            messages += outcome.messages
            for query in outcome.queries { outcomes.append(session.handle(planner.answer(query, on: map), to: query)) }
        }
    }

    func all<M: Message>(_ type: M.Type) -> [M] { messages.compactMap { $0.message as? M } }
}
