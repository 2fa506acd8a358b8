import Foundation
import NavGeo
import NavMatching
import NavNavigator
import NavPositioning
import NavSimulation
import NavTestKit
import NavTestSupport
import Testing

/// Hours of driving with every receiver fault. `NAVBUS_TEST_HOURS` sets the number of hours; a few minutes by default.
@Suite struct LongDriveTests {
    private static let hours =
        ProcessInfo.processInfo.environment["NAVBUS_TEST_HOURS"].flatMap(Double.init) ?? 0.5

    /// A summary of a drive, sufficient to compare two drives.
    private struct Summary: Equatable {
        var digest = RunDigest()
        var counts: [String: Int] = [:]

        mutating func add(_ effect: Effect) {
            guard case .publish(let context, let what) = effect else { return }
            counts[Summary.name(what), default: 0] += 1
            digest.add(UInt64(bitPattern: context.stamp.nanoseconds) ^ context.eventSequence)
            if case .position(let position) = what {
                digest.add(position.match.coordinate.latitude.bitPattern)
                digest.add(position.match.coordinate.longitude.bitPattern)
                digest.add((position.road?.alongSigma ?? 0).bitPattern)
                if position.prediction != nil { counts["predicted", default: 0] += 1 }
            }
        }

        private static func name(_ what: Publication) -> String {
            switch what {
            case .position: "position"
            case .fixRejected: "fixRejected"
            case .simulation: "simulation"
            case .receiver: "receiver"
            case .state, .progress, .route, .reroute, .visual, .spoken, .arrival, .preview, .alternatives,
                .alternativeSwitch, .fasterRoute, .refresh, .policyRequest, .policyDecision:
                "other"
            }
        }
    }

    /// Runs consecutive drives through the grid in one navigator.
    private static func drive(seed: UInt64) throws -> Summary {
        let town = try Town.grid()
        var random = SeededRandom(seed: seed)
        let navigator = Navigator(map: town.snapshot)
        let planner = Planner()
        var summary = Summary()
        var now = SeededDrive.start
        var driven = 0.0
        let streets = ["AB", "BC", "CD", "DE", "FG", "GH", "HI", "IJ", "KL", "LM", "MN", "NO", "AF", "BG", "CH", "DI"]
        func send(_ kind: NavigatorEvent.Kind, at stamp: Timestamp) {
            var queue = navigator.handle(NavigatorEvent(stamp: stamp, kind: kind))
            while !queue.isEmpty {
                let effect = queue.removeFirst()
                summary.add(effect)
                if case .requestRoute(let query) = effect {
                    let answer = planner.answer(query, on: town.snapshot)
                    queue += navigator.handle(
                        NavigatorEvent(stamp: stamp, kind: .routeAnswer(requestID: query.requestID, answer)))
                }
            }
        }
        while driven < hours * 3_600 {
            let from = streets[Int(random.uniform() * 16)]
            let to = streets[Int(random.uniform() * 16)]
            guard from != to else { continue }
            let rate = [1.0, 1, 5, 10][Int(random.uniform() * 4)]
            guard
                let drive = SeededDrive(
                    town.snapshot.metric, route: try town.plan(from: from, to: to).route, rate: rate,
                    environment: random.uniform() < 0.5 ? .open : .urban,
                    outages: [20...(20 + 30 * random.uniform())], seed: random.next())
            else { continue }
            let reports =
                random.uniform() < 0.5
                ? OdometryModel().reports(drive.states, start: SeededDrive.start, seed: random.next()) : []
            if random.uniform() < 0.7 { send(.command(.navigate([try town.waypoint(to)]), call: 0), at: now) }
            let shift = now.seconds(since: SeededDrive.start)
            var nextReport = 0
            var held: Fix?
            for fix in drive.fixes {
                var fix = fix
                fix.stamp = fix.stamp.advanced(bySeconds: shift)
                fix.received = fix.stamp.advanced(bySeconds: 0.1 + 0.05 * random.uniform())
                while nextReport < reports.count {
                    var report = reports[nextReport]
                    report.stamp = report.stamp.advanced(bySeconds: shift)
                    guard report.stamp <= fix.stamp else { break }
                    send(.odometry(report), at: report.stamp)
                    nextReport += 1
                }
                while let due = navigator.due, due < fix.stamp { send(.timer, at: due) }
                let event = fix.stamp
                switch random.uniform() {
                case ..<0.01: fix.coordinate = try town.place("MN", random.uniform())
                case ..<0.02: fix.type = .noFix
                case ..<0.03: fix.horizontalSigma = 500
                case ..<0.04: fix.stamp = fix.stamp.advanced(bySeconds: -3)
                case ..<0.05: fix.stamp = fix.stamp.advanced(bySeconds: 18)
                case ..<0.06: send(.fix(fix), at: event)
                case ..<0.07: if let held { fix.coordinate = held.coordinate }
                case ..<0.08: fix.spoofing = .suspected
                case ..<0.085: fix.jamming = .certain
                case ..<0.09: fix.coordinate = Coordinate(latitude: 0, longitude: 0)
                case ..<0.10: fix.receiver = 1
                case ..<0.11: fix.speed = .nan
                case ..<0.12: fix.received = fix.stamp.advanced(bySeconds: 9)
                case ..<0.13: continue
                default: break
                }
                held = fix
                send(.fix(fix), at: event)
            }
            driven += drive.states.last?.time ?? 0
            // Some drives have a receiver clock that is wrong throughout.
            now = now.advanced(bySeconds: (drive.states.last?.time ?? 0) + 10 + (random.uniform() < 0.05 ? -4_000 : 0))
        }
        return summary
    }

    @Test func longDriveWithFaultsIsDeterministic() throws {
        let first = try LongDriveTests.drive(seed: 24)
        let second = try LongDriveTests.drive(seed: 24)
        #expect(first == second)
        #expect((first.counts["position"] ?? 0) > 500)
        #expect((first.counts["predicted"] ?? 0) > 20)
        #expect((first.counts["fixRejected"] ?? 0) > 50)
        #expect((first.counts["simulation"] ?? 0) >= 4)
    }
}
