import NavGeo
import NavMatching
import NavRouting
import NavSimulation
import NavTestSupport
import Testing

@Suite("Simulated receivers")
struct ReceiverTests {
    static func drive(_ environment: ReceiverModel.Environment, outages: [ClosedRange<Double>] = [], seed: UInt64 = 1)
        throws -> SeededDrive
    {
        let map = try ASCIIMap(
            "A" + String(repeating: "-", count: 60) + "B", ways: ["AB": ["highway": "primary"]])
        let route = try map.route([Waypoint(try map.coordinate("A")), Waypoint(try map.coordinate("B"))])
        return try #require(
            SeededDrive(map.router().metric, route: route, environment: environment, outages: outages, seed: seed))
    }

    @Test("equal seeds give equal fixes, different seeds do not", arguments: ReceiverModel.Environment.allCases)
    func seeds(_ environment: ReceiverModel.Environment) throws {
        let first = try Self.drive(environment, seed: 3).fixes
        #expect(try Self.drive(environment, seed: 3).fixes == first)
        #expect((try Self.drive(environment, seed: 4).fixes == first) == (environment == .none))
    }

    @Test("stamps are those of the drive, and there are no fixes during outages")
    func outages() throws {
        let whole = try Self.drive(.open)
        #expect(whole.fixes.count == whole.states.count)
        for (fix, state) in zip(whole.fixes, whole.states) {
            #expect(abs(fix.stamp.seconds(since: SeededDrive.start) - state.time) < 1e-6)
        }
        let broken = try Self.drive(.open, outages: [20...30, 100...105.5])
        let silent = broken.fixes.filter { fix in
            let time = fix.stamp.seconds(since: SeededDrive.start)
            return (20...30).contains(time) || (100...105.5).contains(time)
        }
        #expect(silent.isEmpty && broken.fixes.count == whole.fixes.count - 11 - 6)
        // The suppressed fixes do not affect the others.
        #expect(broken.fixes.allSatisfy(whole.fixes.contains))
    }

    @Test("errors are as large as the environment states")
    func errors() throws {
        for (environment, range) in [
            (ReceiverModel.Environment.none, 0.0...0.001), (.open, 1.0...3.0), (.urban, 3.0...8.0),
        ] {
            var errors: [Double] = []
            for seed in 1...20 as ClosedRange<UInt64> {
                let drive = try Self.drive(environment, seed: seed)
                errors += zip(drive.fixes, drive.states).map { Geodesy.distance($0.coordinate, $1.coordinate) }
            }
            #expect(range.contains(errors.sorted()[errors.count / 2]), "\(environment)")
        }
    }

    @Test("a stationary vehicle has no course, and a moving one has approximately its true course")
    func courses() throws {
        let drive = try Self.drive(.open)
        let first = try #require(drive.fixes.first)
        #expect(first.course == nil || first.speed ?? 0 > 0.5)
        for (fix, state) in zip(drive.fixes, drive.states) where state.speed > 5 {
            #expect(Angle.separation(try #require(fix.course), state.course) < 0.3)
            #expect(abs(try #require(fix.speed) - state.speed) < 1)
        }
    }
}

@Suite("Seeded random numbers")
struct SeededRandomTests {
    @Test("the sequence is SplitMix64's")
    func sequence() {
        // Vigna's splitmix64.c with the state 1234567.
        var random = SeededRandom(seed: 1_234_567)
        #expect(random.next() == 6_457_827_717_110_365_317)
        #expect(random.next() == 3_203_168_211_198_807_973)
        #expect(random.next() == 9_817_491_932_198_370_423)
    }

    @Test("uniform and normal numbers have their distributions")
    func distribution() {
        var random = SeededRandom(seed: 99)
        let uniform = (0..<20_000).map { _ in random.uniform() }
        #expect(uniform.allSatisfy { (0..<1).contains($0) })
        #expect(abs(uniform.reduce(0, +) / 20_000 - 0.5) < 0.01)
        let normal = (0..<20_000).map { _ in random.gaussian() }
        #expect(abs(normal.reduce(0, +) / 20_000) < 0.03)
        #expect(abs(normal.reduce(0) { $0 + $1 * $1 } / 20_000 - 1) < 0.05)
        #expect(normal.allSatisfy { $0.isFinite })
    }
}
