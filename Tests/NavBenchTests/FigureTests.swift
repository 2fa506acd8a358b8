import Foundation
import NavBench
import Testing

struct FigureTests {
    private let figure = Figure(
        name: "bus.rpc.unary.p50", value: 41.23456, unit: "us", peer: "C \"libzmq\"\n4\\3", peerValue: 1_234_567.8,
        ratio: 1.1)

    private func object(_ figure: Figure) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(figure.json.utf8)) as? [String: Any])
    }

    @Test func figureIsOneLineOfJSONWithSixKeys() throws {
        #expect(!figure.json.contains("\n"))
        let read = try object(figure)
        #expect(Set(read.keys) == ["name", "value", "unit", "peer", "peer_value", "ratio"])
        #expect(read["name"] as? String == figure.name)
        #expect(read["value"] as? Double == 41.2346)
        #expect(read["peer"] as? String == figure.peer)
        #expect(read["peer_value"] as? Double == 1_234_568)
        #expect(read["ratio"] as? Double == 1.1)
    }

    @Test func missingMeasurementIsNull() throws {
        let lonely = Figure(name: "a", value: nil, unit: "us", peer: nil, peerValue: .infinity, ratio: nil)
        let read = try object(lonely)
        for key in ["value", "peer", "peer_value", "ratio"] { #expect(read[key] is NSNull, "\(key)") }
    }

    @Test func tableColumnsAreAligned() {
        let lines = FigureTable([
            figure,
            Figure(name: "bus.throughput", value: 1_700_000, unit: "msg/s", peer: "C", peerValue: nil, ratio: nil),
            Figure(name: "bus.rate", value: -0.256, unit: "msg/s", peer: "C", peerValue: 1e300, ratio: 0.5),
        ]).lines
        #expect(lines.count == 5)
        let column = lines[0].firstRange(of: "ratio").map {
            lines[0].distance(from: lines[0].startIndex, to: $0.upperBound)
        }
        for line in lines.dropFirst(2) {
            let end = line.firstIndex { $0 == "×" } ?? line.lastIndex(of: "–")
            #expect(end.map { line.distance(from: line.startIndex, to: $0) + 1 } == column, "\(line)")
        }
        #expect(lines[3].contains("1\u{2009}700\u{2009}000"))
        #expect(lines[4].contains("-0.26") && lines[4].contains("″"))
    }
}

struct StatisticsTests {
    @Test func medianIsTheMiddleValue() {
        #expect(Statistics.median([]) == nil)
        #expect(Statistics.median([3, 1, 2]) == 2)
        #expect(Statistics.median([4, 1, 3, 2]) == 2.5)
    }

    @Test func percentilesUseTheNearestRank() {
        let values = (1...1000).map(Int64.init)
        #expect(Statistics.percentile(values, permille: 500) == 500)
        #expect(Statistics.percentile(values, permille: 990) == 990)
        #expect(Statistics.percentile(values, permille: 999) == 999)
        #expect(Statistics.percentile(values, permille: 0) == 1)
        #expect(Statistics.percentile([7], permille: 999) == 7)
        #expect(Statistics.percentile([], permille: 500) == nil)
    }

    @Test func latenciesConvertUnsortedNanosecondsToMicroseconds() {
        let latencies = Statistics.latencies(nanoseconds: [3000, 1000, 2000])
        #expect(latencies == ["p50": 2, "p99": 3, "p99.9": 3])
        #expect(Statistics.latencies(nanoseconds: []).isEmpty)
    }
}
