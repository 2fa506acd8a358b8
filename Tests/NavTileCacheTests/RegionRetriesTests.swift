import NavTileCache
import Testing

/// The retries of incomplete regions.
struct RegionRetriesTests {
    @Test(arguments: RegionObstacle.allCases)
    func endOfObstacleMakesOnlyItsRegionsDue(obstacle: RegionObstacle) {
        var waits = RegionRetries()
        waits.add("source", until: 50)
        for (place, each) in RegionObstacle.allCases.enumerated() {
            waits.add("a \(each)", until: 100 + Int64(place), for: each)
            waits.add("b \(each)", until: .max, for: each)
        }
        #expect(waits.takeDue(at: 40).isEmpty)
        waits.end(obstacle)
        #expect(waits.takeDue(at: 40) == ["a \(obstacle)", "b \(obstacle)"])
        #expect(waits.takeDue(at: 40).isEmpty && !waits.contains("a \(obstacle)"))
        #expect(waits.takeDue(at: 50) == ["source"])
        let others = RegionObstacle.allCases.filter { $0 != obstacle }
        #expect(waits.takeDue(at: 1_000) == others.map { "a \($0)" }.sorted())
        #expect(others.allSatisfy { waits.remove("b \($0)") } && !waits.remove("b \(obstacle)"))
    }

    @Test func possibleEndOfObstacleNeverDelaysRetry() {
        var waits = RegionRetries()
        waits.add("never", until: .max, for: .budget)
        waits.add("soon", until: 10, for: .budget)
        waits.add("other", until: .max, for: .disk)
        waits.end(.budget, by: 20)
        #expect(waits.takeDue(at: 10) == ["soon"] && waits.takeDue(at: 19).isEmpty)
        #expect(waits.takeDue(at: 20) == ["never"] && waits.contains("other"))
    }

    @Test func regionWaitsForItsLatestObstacle() {
        var waits = RegionRetries()
        waits.add("r", until: 10, for: .disk)
        waits.add("r", until: 20)
        waits.end(.disk)
        #expect(waits.takeDue(at: 19).isEmpty && waits.takeDue(at: 20) == ["r"])
    }
}
