import Foundation
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
import NavTestSupport
import NavWire
import NavigationNode
import Testing

/// Hours of driving with every fault of receivers and wheel sensors, from incoming to outgoing messages.
///
/// `NAVBUS_TEST_HOURS` sets the number of hours; the default is a few minutes. From six hours on, the memory is
/// checked, too, which requires a process without other tests.
@Suite(.serialized)
struct LongSessionTests {
    private static let hours =
        ProcessInfo.processInfo.environment["NAVBUS_TEST_HOURS"].flatMap(Double.init) ?? 0.3

    /// A summary of a drive, sufficient to compare two drives.
    private struct Summary: Equatable {
        var digest = RunDigest()
        var counts: [String: Int] = [:]
        var bytes = 0
        /// The size of the largest message, bytes.
        var largest = 0

        mutating func add(_ message: OutgoingMessage) {
            counts[message.topic, default: 0] += 1
            let bytes = message.message.encoded()
            self.bytes += bytes.count
            largest = max(largest, bytes.count)
            digest.add(bytes)
        }
    }

    /// The resident memory of this process, bytes.
    private static var resident: Int {
        let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
        let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return pages * 4_096
    }

    /// Runs one drive after another through Helsinki in one session.
    private static func drive(seed: UInt64, at hour: (Double) -> Void) throws -> Summary {
        let map = try Helsinki.map.get()
        let session = NavigationSession(map: map, configuration: Helsinki.configuration, nodeName: "test")
        let planner = RoutePlanner()
        let router = Router(map.metric)
        let workspace = SearchWorkspace()
        var random = SeededRandom(seed: seed)
        var summary = Summary()
        var sequence: UInt64 = 0
        var hasArrived = false

        func say(_ first: NavigationSession.Outcome) {
            var outcomes = [first]
            while !outcomes.isEmpty {
                let outcome = outcomes.removeFirst()
                for message in outcome.messages {
                    summary.add(message)
                    if let arrival = message.message as? NavMessages.ArrivalEvent, arrival.phase == .arrived {
                        hasArrived = true
                    }
                }
                for query in outcome.queries {
                    outcomes.append(session.handle(planner.answer(query, on: map), to: query))
                }
            }
        }
        func send(_ fix: GnssFix) {
            sequence += 1
            say(session.handle(fix, sequence: sequence))
        }

        var now = NavGeo.Timestamp(nanoseconds: Helsinki.start)
        var driven = 0.0
        while driven < hours * 3_600 {
            let places = (0..<2).map { _ in NavRouting.Waypoint(map.graph.randomPlace(&random)) }
            // One drive in four goes to the configured destination.
            let goal = random.uniform() < 0.25 ? NavRouting.Waypoint(Helsinki.to) : places[1]
            let request = RouteRequest(waypoints: [places[0], goal])
            guard case .found(let route) = router.route(request, workspace: workspace), route.length > 300,
                let path = DrivePath(route, graph: map.graph),
                let drive = Drive(router.metric, edges: path.edges, from: path.start, to: path.end)
            else { continue }
            let rate = [1.0, 1, 5, 10][Int(random.uniform() * 4)]
            let hasWheels = random.uniform() < 0.5
            let wheelRate = hasWheels ? max(rate, 10) : rate
            let states = drive.states(rate: wheelRate, backingUp: random.uniform() < 0.2 ? 10 : 0)
            let end = states.last?.time ?? 0
            let gap = random.uniform() * end
            let receiver = ReceiverModel(random.uniform() < 0.5 ? .open : .urban, outages: [gap...(gap + 40)])
            let fixes = receiver.fixes(states, start: now, seed: random.next())
            let reports = OdometryModel.car(seed: random.next()).reports(states, start: now, seed: random.next())
            var next = 0
            var held: GnssFix?
            for (index, plain) in fixes.enumerated() where index % Int(wheelRate / rate) == 0 {
                while hasWheels, next < reports.count, reports[next].stamp <= plain.stamp {
                    var report = VehicleOdometry(reports[next])
                    if random.uniform() < 0.001 { report.stampNs = random.uniform() < 0.5 ? .max : 5 }
                    if random.uniform() < 0.001 { report.speedMps = .nan }
                    sequence += 1
                    say(session.handle(report, sequence: sequence))
                    next += 1
                }
                var fix = GnssFix(plain)
                let stamp = plain.stamp
                fix.receiveStampNs = stamp.advanced(bySeconds: 0.1 + 0.05 * random.uniform()).nanoseconds
                switch random.uniform() {
                case ..<0.01: fix.latitude = fix.latitude.map { $0 + 0.02 * (random.uniform() - 0.5) }
                case ..<0.02: fix.fixType = .noFix
                case ..<0.03: fix.horizontalAccuracyM = 500
                case ..<0.04: fix.stampNs = stamp.advanced(bySeconds: -3).nanoseconds
                case ..<0.05: fix.stampNs = stamp.advanced(bySeconds: 18).nanoseconds
                case ..<0.06: send(fix)
                case ..<0.07: if let held { (fix.latitude, fix.longitude) = (held.latitude, held.longitude) }
                case ..<0.08: fix.spoofing = .suspected
                case ..<0.085: fix.jamming = .critical
                case ..<0.09: (fix.latitude, fix.longitude) = (0, 0)
                case ..<0.10: fix.source = "receiver \(random.next() % 1_000)"
                case ..<0.11: (fix.speed, fix.course) = (.nan, .infinity)
                case ..<0.12: fix.receiveStampNs = stamp.advanced(bySeconds: 9).nanoseconds
                case ..<0.121: fix.stampNs = random.uniform() < 0.5 ? .max : .min
                case ..<0.13: continue
                default: break
                }
                held = fix
                send(fix)
            }
            say(session.pass(to: now.advanced(bySeconds: end)))
            driven += end
            hour(driven / 3_600)
            // Some drives have a receiver clock that is wrong throughout, or start a recording over.
            now = now.advanced(bySeconds: end + 10 + (random.uniform() < 0.05 ? -4_000 : 0))
            if hasArrived || random.uniform() < 0.02 {
                say(session.startOver(at: now))
                hasArrived = false
            }
        }
        return summary
    }

    @Test func hoursOfFaultsAreRepeatableWithoutMemoryGrowth() throws {
        var marks = [1.0, 6, 12, 24].filter { $0 <= Self.hours }
        var memory: [(hour: Double, bytes: Int)] = []
        let first = try Self.drive(seed: 24) { hour in
            guard let mark = marks.first, hour >= mark else { return }
            marks.removeFirst()
            memory.append((mark, Self.resident))
            print("after \(mark) h: \(Self.resident >> 10) KiB resident")
        }
        print(
            "\(Self.hours) h: \(first.bytes) bytes of messages, digest \(String(first.digest.value, radix: 16)), \(first.counts.sorted { $0.key < $1.key })"
        )
        #expect(first.counts["/nav/position"] ?? 0 > 1_000 && first.counts["/nav/fix_rejected"] ?? 0 > 50)
        #expect(first.counts["/nav/simulation"] ?? 0 >= 4 && first.counts["/nav/reroute"] ?? 0 >= 4)
        #expect(first.largest < 1 << 20)
        #expect(try Self.drive(seed: 24) { _ in } == first)
        guard Self.hours >= 6, let early = memory.first, let late = memory.last else { return }
        #expect(late.bytes - early.bytes < 16 << 20, "\(memory)")
    }
}
