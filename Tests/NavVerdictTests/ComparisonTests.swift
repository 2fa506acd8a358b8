import NavGeo
import NavVerdict
import Testing

/// The paired comparison of two builds.
struct ComparisonTests {
    /// Returns the result of bags whose figures are equal except for one.
    private static func fleet(_ values: [Double], others: [String] = ["reroutes"]) -> FleetResult {
        FleetResult(
            build: "b",
            bags: values.enumerated().map { index, value in
                var record = DriveRecord()
                for name in others { record.metrics[name] = 1 }
                record.metrics["cross_track_p95_m"] = value
                return BagResult(
                    bag: "bag\(index)", tags: [], command: "", record: record, criteria: [],
                    tolerances: EventDiff.Tolerances(), reference: nil)
            })
    }

    private static func compare(_ before: [Double], _ after: [Double]) -> PairedComparison {
        PairedComparison(fleet(before), fleet(after)) { _ in EventDiff.Tolerances() }
    }

    /// Returns pseudorandom values from a seed.
    private static func noise(_ count: Int, seed: UInt64) -> [Double] {
        var random = SplitMix64(seed: seed)
        return (0..<count).map { _ in random.uniform() - 0.5 }
    }

    @Test func buildDoesNotDifferFromItself() {
        for seed in 1...20 {
            let values = Self.noise(60, seed: UInt64(seed))
            let comparison = Self.compare(values, values)
            #expect(!comparison.isChange && comparison.rows.allSatisfy { $0.interval == 0...0 && $0.differing == 0 })
        }
    }

    @Test(arguments: [8, 30, 400])
    func noiseIsNotAChange(count: Int) {
        for seed in 1...20 {
            let before = Self.noise(count, seed: UInt64(seed))
            let after = zip(before, Self.noise(count, seed: UInt64(seed + 1_000))).map { $0 + 0.3 * $1 }
            #expect(!Self.compare(before, after).isChange, "seed \(seed)")
        }
    }

    @Test(arguments: [20, 400])
    func aShiftBeyondTheNoiseIsFound(count: Int) throws {
        let before = Self.noise(count, seed: 5)
        let after = zip(before, Self.noise(count, seed: 6)).map { $0 + 0.4 + 0.2 * $1 }
        let row = try #require(Self.compare(before, after).rows.first { $0.metric == "cross_track_p95_m" })
        #expect(row.isChange && row.interval.contains(0.4) && row.interval.lowerBound > 0.2)
        #expect(row.pairs == count && abs(row.mean - 0.4) < 0.1)
    }

    /// The smallest number of changed bags that is reported depends only on the number of figures.
    @Test(arguments: [12, 13, 20, 37, 400])
    func changeIsReportedOnceEnoughBagsDiffer(count: Int) throws {
        let (before, sizes) = (Self.noise(count, seed: 3), Self.noise(count, seed: 4))
        for (others, least) in [([], 8), (Metric.allCases.map(\.rawValue), 11)] {
            for changed in [least - 1, least] {
                let after = before.indices.map { before[$0] + ($0 < changed ? 1 + sizes[$0] : 0) }
                // The position of a bag determines its name.
                let rows = try [0, 5, count / 2].map { shift in
                    let order = before.indices.map { ($0 + shift) % count }
                    let comparison = PairedComparison(
                        Self.fleet(order.map { before[$0] }, others: others),
                        Self.fleet(order.map { after[$0] }, others: others)
                    ) { _ in EventDiff.Tolerances() }
                    return try #require(comparison.rows.first { $0.metric == "cross_track_p95_m" })
                }
                #expect(rows.allSatisfy { $0 == rows[0] }, "\(rows)")
                #expect(rows[0].hasShifted == (changed == least), "\(changed) of \(count): \(rows[0])")
            }
        }
    }

    /// With equal differences the test is the sign test, whose level follows from the binomial distribution.
    @Test(arguments: [(40, 30), (100, 65), (1_000, 545)])
    func equalDifferencesAreCounted(count: Int, least: Int) throws {
        let before = [Double](repeating: 1, count: count)
        for risen in [least - 1, least] {
            let after = before.indices.map { $0 < risen ? 2.0 : 0 }
            let row = try #require(Self.compare(before, after).rows.first { $0.metric == "cross_track_p95_m" })
            #expect(row.hasShifted == (risen == least), "\(risen) of \(count): \(row)")
        }
    }

    @Test func fewBagsAreInconclusive() throws {
        let comparison = Self.compare([1, 1, 1], [3, 3, 3])
        let row = try #require(comparison.rows.first { $0.metric == "cross_track_p95_m" })
        #expect(!row.isChange && row.mean == 2 && row.differing == 3)
        let line = try #require(comparison.lines.first { $0.contains("cross_track_p95_m") })
        #expect(line.hasPrefix("unclear ") && line.hasSuffix("too few bags differ for a decision"), "\(line)")
    }

    @Test func figureOfOnlyOneSideIsADifference() throws {
        var (before, after) = (Self.fleet([1, 2, 3]), Self.fleet([1, 2, 3]))
        for index in 0..<2 { after.bags[index].record.metrics["cross_track_p95_m"] = nil }
        before.bags[0].record.metrics["right_road"] = 1
        after.bags[2].record.metrics["right_road"] = 1
        let comparison = PairedComparison(before, after) { _ in EventDiff.Tolerances() }
        let row = try #require(comparison.rows.first { $0.metric == "cross_track_p95_m" })
        #expect(row.pairs == 1 && row.onlyBefore == 2 && row.onlyAfter == 0 && row.isChange)
        #expect(
            comparison.isChange && comparison.rows.map(\.metric) == ["right_road", "cross_track_p95_m", "reroutes"])
        #expect(comparison.lines[0] == "CHANGED right_road: in 1 bags only before, in 1 bags only now")
        #expect(comparison.lines[1].hasPrefix("CHANGED cross_track_p95_m: 0 in the mean of 1, 0 differ"))
        #expect(comparison.lines[1].hasSuffix("; in 2 bags only before") && comparison.lines[2].hasPrefix("same "))
    }

    @Test func figureThatOnlyOneBuildCanMeasureIsNoChange() throws {
        let after = Self.fleet([1, 2, 3], others: ["reroutes", "missed_arrivals"])
        let before = Self.fleet([1, 2, 3])
        let earlier = try before.text().replacing(#/"figures":\[[^\]]*\],/#, with: "")
        for (text, isChange) in [(try before.text(), true), (earlier, false)] {
            let read = try #require(FleetResult(text: text))
            #expect(PairedComparison(read, after) { _ in EventDiff.Tolerances() }.isChange == isChange, "\(text)")
        }
    }

    @Test func differingVerdictsAndEventsAreListed() {
        let before = Self.fleet([1, 2])
        var after = before
        after.bags[1].verdict = .failed
        after.bags[1].record.events = [EventDiff.Event(time: 3, topic: "", text: "say: Turn left")]
        after.bags.append(Self.fleet([1, 2, 3]).bags[2])
        let comparison = PairedComparison(before, after) { _ in EventDiff.Tolerances() }
        #expect(comparison.isChange && comparison.verdicts.map(\.bag) == ["bag1"] && comparison.unpaired == ["bag2"])
        #expect(comparison.changes.map(\.bag) == ["bag1"])
        #expect(comparison.lines.contains("bag1: passed before, failed now"))
        #expect(comparison.lines.contains { $0.contains("new: say: Turn left") })
    }

    @Test func tolerancesApplyPerBag() {
        func drive(_ time: Double) -> FleetResult {
            var result = Self.fleet([1, 1])
            for index in result.bags.indices {
                result.bags[index].record.events = [EventDiff.Event(time: time, topic: "", text: "say: Turn left")]
            }
            return result
        }
        var generous = EventDiff.Tolerances()
        generous.time = 5
        let comparison = PairedComparison(drive(10), drive(12)) { $0 == "bag1" ? generous : EventDiff.Tolerances() }
        #expect(comparison.changes.map(\.bag) == ["bag0"])
    }

    @Test func aResultFileMayHoldAnyNumber() {
        for (before, after) in [(-1e308, 1e308), (0, 1e300), (1e300, -1)] {
            let comparison = Self.compare([1, 2, before], [1, 2, after])
            #expect(comparison.rows.allSatisfy { $0.mean.isFinite } && !comparison.isChange)
        }
        let far = ChangeLine(sign: "~", time: 1e300, moved: -1e300, text: "say: Turn left")
        #expect(ChangeClass.classes([("a", [far])]).map(\.description).count == 1)
    }
}
