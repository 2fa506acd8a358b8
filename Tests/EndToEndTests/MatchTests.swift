import Foundation
import NavTestSystem
import Testing

/// `navbus match` on traces in every format.
struct MatchTests {
    private struct Row {
        var time: Double
        var latitude: Double?
        var longitude: Double?
        var way: String
        var state: String
    }

    private func rows(_ box: Sandbox, _ trace: String, _ more: [String] = []) async throws -> [Row] {
        let tiles = try await Town.shared.tiles
        let result = try await box.succeed("navbus", ["match", "--tiles", tiles, trace] + more)
        #expect(result.outputLines.first == "t_s,lat,lon,way_id,from_node,to_node,offset_m,confidence,state")
        return try result.outputLines.dropFirst().map { line in
            let fields = line.split(separator: ",", omittingEmptySubsequences: false)
            guard fields.count == 9, let time = Double(fields[0]) else {
                throw Failure("unexpected row: \(line)")
            }
            return Row(
                time: time, latitude: Double(fields[1]), longitude: Double(fields[2]), way: String(fields[3]),
                state: String(fields[8]))
        }
    }

    /// Returns the matched positions of a straight minute of the drive in Helsinki.
    private func places(_ box: Sandbox) async throws -> [(time: Double, latitude: Double, longitude: Double)] {
        try await rows(box, try await Town.shared.drive).prefix(120).suffix(60).map {
            ($0.time, try #require($0.latitude), try #require($0.longitude))
        }
    }

    private static func csv(_ lines: [String]) -> String {
        "t_s,lat,lon,speed_mps,heading_deg,hdop,h_acc_m\n" + lines.joined(separator: "\n") + "\n"
    }

    @Test func theSameDriveIsMatchedFromEveryFormat() async throws {
        try await withSandbox { box in
            let drive = try await Town.shared.drive
            let bag = try await rows(box, drive)
            // Multipath between buildings may make a few fixes doubtful; no fix may be lost.
            #expect(bag.count == Town.fixCount && bag.allSatisfy { $0.way.isEmpty == ($0.state != "onRoad") })
            #expect(bag.count { $0.state == "onRoad" } >= Town.fixCount - 2)
            let places = try await places(box)
            let csv = try box.write(
                "drive.csv", Self.csv(places.map { "\($0.time),\($0.latitude),\($0.longitude),,,," }))
            let gpx = try box.write(
                "drive.gpx",
                #"<gpx version="1.1" creator="x" xmlns="http://www.topografix.com/GPX/1/1"><trk><trkseg>"#
                    + places.map { place in
                        let time = ISO8601DateFormatter().string(from: Date(timeIntervalSince1970: place.time))
                        return
                            #"<trkpt lat="\#(place.latitude)" lon="\#(place.longitude)"><time>\#(time)</time></trkpt>"#
                    }.joined() + "</trkseg></trk></gpx>")
            let nmea = try box.write("drive.nmea", places.map { Self.sentence($0) }.joined())
            let expected = bag.prefix(120).suffix(60).map(\.way)
            for file in [csv, gpx, nmea] {
                for options in [[], ["--smooth"], ["--raw"]] {
                    let matched = try await rows(box, file, options)
                    #expect(matched.count == 60, "\(file) \(options)")
                    let same = zip(matched.map(\.way), expected).count { $0 == $1 }
                    #expect(same >= 54, "\(file) \(options): \(same)")
                }
            }
        }
    }

    private static func sentence(_ place: (time: Double, latitude: Double, longitude: Double)) -> String {
        var utc = Calendar(identifier: .gregorian)
        utc.timeZone = TimeZone(secondsFromGMT: 0) ?? .current
        let date = utc.dateComponents(
            [.year, .month, .day, .hour, .minute, .second], from: Date(timeIntervalSince1970: place.time))
        func angle(_ degrees: Double, _ digits: Int) -> String {
            String(format: "%0\(digits)d%08.5f", Int(degrees), (degrees - Double(Int(degrees))) * 60)
        }
        let content = String(
            format: "GPRMC,%02d%02d%02d.00,A,%@,N,%@,E,,,%02d%02d%02d,,,A", date.hour ?? 0, date.minute ?? 0,
            date.second ?? 0,
            angle(place.latitude, 2), angle(place.longitude, 3), date.day ?? 0, date.month ?? 0, (date.year ?? 0) % 100)
        return "$\(content)*" + String(format: "%02X", content.utf8.reduce(0, ^)) + "\r\n"
    }

    @Test func rejectionReasonIsInTheRowOfTheFix() async throws {
        try await withSandbox { box in
            let places = try await places(box)
            var lines = places.map { "\($0.time),\($0.latitude),\($0.longitude),,,,4" }
            let (here, there) = (places[20], places[35])
            lines[10] = "\(places[10].time),nan,NaN,nan,,,"
            lines[12] = "\(places[12].time),,,,,,"
            lines[15] = "\(places[15].time),\(places[15].latitude),\(places[15].longitude),,,,400"
            lines[25] = "\(places[25].time),\(places[25].latitude + 0.01),\(places[25].longitude),,,,4"
            lines.insert("\(here.time),\(here.latitude),\(here.longitude),,,,4", at: 21)
            lines.insert("\(places[30].time),\(places[30].latitude),\(places[30].longitude),,,,4", at: 37)
            lines[40] = "\(there.time + 0.5),0,0,,,,4"
            let file = try box.write("faults.csv", Self.csv(lines))
            let matched = try await rows(box, file)
            #expect(matched.count == lines.count)
            let rejected = matched.filter { $0.state.hasPrefix("rejected:") }
            #expect(
                rejected.map(\.state) == [
                    "rejected:invalid", "rejected:invalid", "rejected:accuracy", "rejected:duplicate", "rejected:jump",
                    "rejected:outOfOrder", "rejected:invalid",
                ])
            #expect(rejected.allSatisfy { $0.latitude == nil && $0.way.isEmpty })
            #expect(matched.filter { !$0.state.hasPrefix("rejected:") }.allSatisfy { $0.state == "onRoad" })
            let smoothed = try await rows(box, file, ["--smooth"])
            #expect(smoothed.map(\.state) == matched.map(\.state) && smoothed.map(\.time) == matched.map(\.time))
            // With --raw the jump is matched like any fix; no row is rejected.
            #expect(try await rows(box, file, ["--raw"]).allSatisfy { !$0.state.hasPrefix("rejected") })

            let timeless = try box.write(
                "plan.gpx",
                #"<gpx version="1.1" creator="x"><trk><trkseg><trkpt lat="60.17" lon="24.94"/><trkpt lat="60.171" lon="24.94"/></trkseg></trk></gpx>"#
            )
            let tiles = try await Town.shared.tiles
            let result = try await box.run("navbus", ["match", "--tiles", tiles, timeless])
            #expect(result.status == 1 && result.errors.contains("no position has a time"))
        }
    }

    @Test func theOdometryOfABagIsUsed() async throws {
        try await withSandbox { box in
            let tiles = try await Town.shared.tiles
            let options = ["--odometry", "20", "--outage", "100-130"]
            try await box.succeed("navbus", Town.simulation(tiles: tiles, to: "wheels.mcap", options))
            try await box.succeed(
                "navbus", Town.simulation(tiles: tiles, to: "plain.mcap", ["--outage", "100-130"]))
            let (wheels, plain) = (try await rows(box, "wheels.mcap"), try await rows(box, "plain.mcap"))
            #expect(wheels.map(\.time) == plain.map(\.time))
            #expect(zip(wheels, plain).contains { $0.latitude != $1.latitude })
            #expect(wheels.count { $0.state == "onRoad" } >= wheels.count - 2)
        }
    }
}
