import NavBench
import Testing

struct RoundsTests {
    @Test func sidesAlternateInGoingFirst() throws {
        var order: [String] = []
        let comparisons = ["a", "b"].map { name in
            Comparison(
                name, peer: "p", [.init("", "us")],
                ours: {
                    order.append("\(name) ours")
                    return ["": 1]
                },
                theirs: {
                    order.append("\(name) theirs")
                    return ["": 1]
                })
        }
        _ = try Rounds(2).run(comparisons)
        #expect(
            order == [
                "a ours", "a theirs", "b ours", "b theirs", "a theirs", "a ours", "b theirs", "b ours",
            ])
    }

    @Test func ratioIsTheMedianOfTheRoundsRatios() throws {
        var (ours, theirs) = ([10.0, 20, 90], [10.0, 40, 30])
        let comparison = Comparison(
            "x", peer: "p", [.init("p50", "us")], ours: { ["p50": ours.removeFirst()] },
            theirs: { ["p50": theirs.removeFirst()] })
        let figures = try Rounds(3).run([comparison])
        #expect(figures == [Figure(name: "x.p50", value: 20, unit: "us", peer: "p", peerValue: 30, ratio: 1)])
    }

    @Test func missingSideLeavesNoRatio() throws {
        let alone = Comparison("x", peer: "p", [.init("", "us")], ours: nil, theirs: { ["": 5] })
        let figure = try #require(try Rounds(1).run([alone]).first)
        #expect((figure.value, figure.peerValue, figure.ratio) == (nil, 5, nil))
    }

    @Test func missingMeasureIsAnError() {
        let broken = Comparison("x", peer: nil, [.init("p50", "us")], ours: { ["p99": 1] }, theirs: nil)
        #expect(throws: BenchError.self) { try Rounds(1).run([broken]) }
    }

    @Test func progressRunsFromZeroToOne() throws {
        var shares: [Double] = []
        let comparison = Comparison("x", peer: nil, [.init("", "us")], ours: { ["": 1] }, theirs: nil)
        _ = try Rounds(4).run([comparison]) { share, _ in shares.append(share) }
        #expect(shares == [0, 0.25, 0.5, 0.75, 1])
    }
}
