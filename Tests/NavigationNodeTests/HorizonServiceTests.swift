import NavKit
import NavMessages
import NavReplay
import NavWire
import NavigationNode
import Testing

/// The electronic horizon on its topic and in the answer to GetHorizon.
struct HorizonServiceTests {
    @Test func horizonIsPublishedWhileMovingAndOnRequest() async throws {
        let drive = try Helsinki.drive.get()
        let table = try ServiceTable()
        let early = try await table.call(NavigationService.getHorizon, GetHorizonRequest())
        #expect(early.horizon == nil && early.error?.code == .noPosition)
        try await table.drive(drive.prefix(60))
        let published = try table.messages("/nav/horizon", as: Horizon.self)
        let positions = try table.messages("/nav/position", as: MatchedPosition.self)
        #expect(published.count > 3 && published.count < positions.count)
        let last = try #require(published.last { !$0.paths.isEmpty })
        #expect(last.routeId == nil && last.pathId == last.paths[0].pathId && last.eventSequence != nil)
        #expect((last.paths[0].lengthM ?? 0) > 0 && (last.offsetM ?? -1) >= 0)
        // Each event has a unique number.
        let numbers = published.compactMap(\.eventSequence) + positions.compactMap(\.eventSequence)
        #expect(Set(numbers).count == numbers.count)

        let short = try await table.call(
            NavigationService.getHorizon, GetHorizonRequest(lengthM: 100, includeStubs: false))
        let horizon = try #require(short.horizon)
        #expect(horizon.paths.count == 1)
        #expect((horizon.paths[0].lengthM ?? 0) - (horizon.offsetM ?? 0) <= 100.01)
        let full = try #require(try await table.call(NavigationService.getHorizon, GetHorizonRequest()).horizon)
        #expect(full.paths.count > 1 && full.paths[0].pathId == horizon.paths[0].pathId)
        for length in [0, 49, 20_001, .nan, -.infinity] as [Double] {
            let refused = try await table.call(NavigationService.getHorizon, GetHorizonRequest(lengthM: length))
            #expect(refused.horizon == nil && refused.error?.code == .invalidRequest)
        }
    }

    @Test func mainPathFollowsTheRoute() async throws {
        let drive = try Helsinki.drive.get()
        let table = try ServiceTable([("destination", Helsinki.to.text)])
        try await table.drive(drive.prefix(40))
        let route = try #require(try table.messages("/nav/route", as: Route.self).last)
        let horizon = try #require(try await table.call(NavigationService.getHorizon, GetHorizonRequest()).horizon)
        #expect(horizon.routeId == route.routeId && horizon.paths[0].isOnRoute == true)
        #expect(horizon.paths[0].points.contains { $0.kind == .maneuver })
        let ahead = horizon.paths[0].edgeIds
        let first = try #require(route.edgeIds.firstIndex(of: ahead[0]))
        let common = zip(route.edgeIds[first...], ahead).prefix { $0 == $1 }.count
        #expect(common == min(ahead.count, route.edgeIds.count - first))
    }

    @Test func disabledHorizonIsNotPublished() async throws {
        let table = try ServiceTable([("horizon.enabled", "false")])
        try await table.drive(try Helsinki.drive.get().prefix(20))
        #expect(try table.messages("/nav/horizon", as: Horizon.self).isEmpty)
        #expect(try await table.call(NavigationService.getHorizon, GetHorizonRequest()).horizon != nil)
    }
}
