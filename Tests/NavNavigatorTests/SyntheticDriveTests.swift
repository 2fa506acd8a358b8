import Foundation
import NavGeo
import NavMatching
import NavNavigator
import NavPositioning
import NavRouting
import NavTestKit
import NavTestSupport
import Testing

/// Generated drives on real maps, most of which leave the planned route: detection delays and false alarms.
@Suite(.needs("gnss/synth/liechtenstein", "osm/liechtenstein.osm.pbf"))
struct SyntheticDriveTests {
    private static let liechtenstein = Result { try RealMap(path: TestData.osm("liechtenstein")) }

    /// A drive of the test data.
    private struct Recording {
        var fixes: [Fix]
        var planned: Polyline
        /// The times at which the vehicle left the plan and returned, seconds of the trace's clock; nil if it never
        /// left.
        var deviation: ClosedRange<Double>?
        var truth: [(time: Double, place: Coordinate)]

        init(_ folder: String, receiver: String) throws {
            let directory = "\(TestData.directory)/gnss/synth/\(folder)"
            func rows(_ file: String) throws -> [[Substring]] {
                try String(contentsOfFile: "\(directory)/gnss/\(receiver)/\(file)", encoding: .utf8)
                    .split(whereSeparator: \.isNewline).dropFirst().map {
                        $0.split(separator: ",", omittingEmptySubsequences: false)
                    }
            }
            fixes = try rows("trace.csv").compactMap { row in
                guard let time = Double(row[0]), let stamp = Timestamp(seconds: time), let latitude = Double(row[1]),
                    let longitude = Double(row[2])
                else { return nil }
                return Fix(
                    stamp: stamp, coordinate: Coordinate(latitude: latitude, longitude: longitude),
                    horizontalSigma: Double(row[6]), speed: Double(row[3]),
                    course: Double(row[4]).map { Angle.normalised($0 * .pi / 180) }, hdop: Double(row[5]), type: .fix3D)
            }
            truth = try rows("truth_pos.csv").compactMap { row in
                guard let time = Double(row[0]), let latitude = Double(row[1]), let longitude = Double(row[2]) else {
                    return nil
                }
                return (time, Coordinate(latitude: latitude, longitude: longitude))
            }
            let events = try rows("events.csv")
            let times = ["off_route", "back_on_plan"].compactMap { name in
                events.first { $0[1] == name }.flatMap { Double($0[0]) }
            }
            deviation = times.count == 2 ? times[0]...times[1] : nil
            let document = try JSONSerialization.jsonObject(
                with: Data(contentsOf: URL(fileURLWithPath: "\(directory)/planned.geojson")))
            let features = (document as? [String: Any])?["features"] as? [[String: Any]]
            let geometry = features?.first?["geometry"] as? [String: Any]
            let points = geometry?["coordinates"] as? [[Double]] ?? []
            planned = Polyline(points.map { Coordinate(latitude: $0[1], longitude: $0[0]) })
        }

        /// Returns the planned route on a map: the fastest one through the points of the plan.
        func route(on map: RealMap) -> Route? {
            let count = max(Int(planned.length / 250), 1)
            let stops = (0...count).compactMap { index -> Waypoint? in
                let offset = min(max(planned.length * Double(index) / Double(count), 5), planned.length - 5)
                return planned.coordinate(at: offset).map {
                    Waypoint(
                        $0, bearing: planned.bearing(at: offset), bearingTolerance: 0.6,
                        isStop: index == 0 || index == count)
                }
            }
            guard
                case .found(let route) = map.router().route(
                    RouteRequest(waypoints: stops), workspace: SearchWorkspace())
            else { return nil }
            return route
        }
    }

    /// The detections of a drive.
    struct Outcome {
        /// The time from leaving the plan to OFF_ROUTE, seconds; nil without a deviation or detection.
        var delay: Double?
        var hasDeviation: Bool
        /// The times of OFF_ROUTE while the vehicle was on its route.
        var falseAlarms: [Double]
        var hasArrived: Bool
        var reroutes: Int
    }

    private static func drive(_ folder: String, receiver: String) throws -> Outcome? {
        let map = try liechtenstein.get()
        let recording = try Recording(folder, receiver: receiver)
        guard let route = recording.route(on: map) else { return nil }
        let snapshot = MapSnapshot(graph: map.graph)
        var ride = Ride(snapshot)
        ride.command(.setRoute(RoutePlan(route, on: snapshot)))
        ride.drive(recording.fixes)
        // OFF_ROUTE is correct when the vehicle is away from the route in force, by position or direction.
        var line = route.line
        var alarms: [Double] = []
        var delay: Double?
        var wasOff = false
        for (_, what) in ride.told {
            switch what {
            case .route(let plan?, _): (line, wasOff) = (plan.route.line, false)
            case .progress(let progress):
                let isOff = progress.deviation.state == .offRoute || progress.deviation.state == .wrongWay
                defer { wasOff = isOff }
                guard isOff, !wasOff else { continue }
                let time = progress.position.stamp.seconds
                if let deviation = recording.deviation, delay == nil, deviation.contains(time) {
                    delay = time - deviation.lowerBound
                } else if let place = recording.truth.last(where: { $0.time <= time })?.place,
                    (line.project(place)?.distance ?? .infinity) < 20
                {
                    alarms.append(time)
                }
            default: break
            }
        }
        return Outcome(
            delay: delay, hasDeviation: recording.deviation != nil, falseAlarms: alarms,
            hasArrived: ride.story.last == "ARRIVED",
            reroutes: ride.reroutes.count { if case .applied = $0.phase { true } else { false } })
    }

    @Test(arguments: ["suburban_1hz", "suburban_10hz", "urban_1hz", "urban_10hz"])
    func deviationsAreDetectedInSecondsWithFewFalseAlarms(receiver: String) throws {
        var delays: [Double] = []
        var falseAlarms = 0
        for number in 0..<5 {
            let folder = "liechtenstein/0\(number)"
            let outcome = try #require(try SyntheticDriveTests.drive(folder, receiver: receiver))
            #expect(outcome.hasDeviation == (outcome.delay != nil), "\(folder): \(outcome)")
            #expect(outcome.hasArrived, "\(folder): \(outcome)")
            #expect(outcome.reroutes <= 2, "\(folder): \(outcome)")
            if let delay = outcome.delay { delays.append(delay) }
            falseAlarms += outcome.falseAlarms.count
        }
        if ProcessInfo.processInfo.environment["NAVBUS_TEST_REPORT"] != nil {
            print("deviations \(receiver): delays \(delays.sorted()) s, \(falseAlarms) false")
        }
        #expect(delays.count == 4)
        // The debounce alone takes 3 s, and the vehicle must first be clear of the junction.
        #expect(delays.allSatisfy { $0 < 8 }, "\(delays)")
        #expect(falseAlarms == 0)
    }
}
