import NavConfig
import NavGeo
import NavKit
import NavMap
import NavMatching
import NavMessages
import NavNavigator
import NavRouting
import NavTestSupport
import NavWire
import NavigationNode
import Testing

/// The published notices and street-name changes on a road with a tunnel of 600 m.
struct NoticeMessageTests {
    private static let road = Result {
        try ASCIIMap(
            "A-----B-----C-----D",
            ways: [
                "AB": ["highway": "secondary", "name": "Mill Lane"],
                "BC": ["highway": "secondary", "name": "Mill Lane", "tunnel": "yes"],
                "CD": ["highway": "secondary", "name": "Church Lane"],
            ])
    }

    /// Returns the route and the spoken instructions of the first 400 m.
    private static func drive(
        _ keys: [String]
    ) throws -> (route: NavMessages.Route, spoken: [NavMessages.SpokenInstruction]) {
        let map = try road.get()
        let configuration = try ConfigLoader.load(
            NavigationConfiguration.self, file: nil, overrides: ["destination=\(try map.coordinate("D").text)"] + keys)
        let snapshot = MapSnapshot(graph: map.graph, model: CostModel(profile: configuration.profile))
        let session = NavigationSession(map: snapshot, configuration: configuration, nodeName: "test")
        let planner = RoutePlanner()
        let start = NavGeo.Timestamp(nanoseconds: 1_767_571_200_000_000_000)
        var messages: [OutgoingMessage] = []
        for second in 0..<20 {
            let fix = GnssFix(
                Fix(
                    stamp: start.advanced(bySeconds: Double(second)),
                    coordinate: try map.position(between: "A", "B", at: (20 + Double(second) * 20) / 600),
                    horizontalSigma: 4, speed: 20, course: .pi / 2, type: .fix3D))
            var outcomes = [session.handle(fix, sequence: UInt64(second + 1))]
            while !outcomes.isEmpty {
                let outcome = outcomes.removeFirst()
                messages += outcome.messages
                outcomes += outcome.queries.map { session.handle(planner.answer($0, on: snapshot), to: $0) }
            }
        }
        let route = try #require(
            messages.compactMap { $0.message as? NavMessages.Route }.first { $0.geometry != nil })
        return (route, messages.compactMap { $0.message as? NavMessages.SpokenInstruction })
    }

    @Test func aTunnelIsInTheRouteAndSpokenBeforeIt() throws {
        let (route, spoken) = try Self.drive([])
        let leg = try #require(route.legs.first)
        #expect(leg.steps.map(\.maneuver?.type) == [.depart, .arrive])
        let notice = try #require(leg.notices.first)
        #expect(leg.notices.count == 1 && notice.kind == .tunnel && notice.maneuver?.type == .notification)
        #expect(abs((notice.lengthM ?? 0) - 600) < 5 && notice.country == nil)
        #expect(notice.instruction == "Tunnel of 600 metres")
        let offset = try #require(notice.routeOffsetM)
        #expect(
            (500...600).contains(offset) && notice.point.map { (1...Int(leg.lastPoint ?? 0)).contains(Int($0)) } == true
        )
        let told = spoken.filter { $0.maneuver?.type == .notification }
        #expect(told.count == 1)
        let announcement = try #require(told.first)
        #expect(announcement.text?.hasSuffix(", tunnel of 600 metres") == true)
        #expect(
            announcement.isNotice == true && announcement.stepIndex == 0 && announcement.legIndex == 0
                && announcement.urgency == .prepare)
        #expect(announcement.maneuver == notice.maneuver)
        let distance = try #require(announcement.distanceToManeuverM)
        #expect((100...offset).contains(distance) && (announcement.durationToManeuverS ?? 0) > 0)
        #expect(!spoken.contains { $0 != announcement && $0.utteranceId == announcement.utteranceId })
        let quiet = try Self.drive(["guidance.notices=tolls,borders"])
        #expect(quiet.route.legs[0].notices.isEmpty)
        #expect(!quiet.spoken.contains { $0.maneuver?.type == .notification })
    }

    @Test func aNewNameIsAManeuverIfConfigured() throws {
        let leg = try #require(try Self.drive(["guidance.new_names=true"]).route.legs.first)
        #expect(leg.steps.map(\.maneuver?.type) == [.depart, .newName, .arrive])
        #expect(leg.steps[1].instruction == "Continue onto Church Lane")
    }
}
