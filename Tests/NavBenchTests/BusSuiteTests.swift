import Foundation
import NavTestKit
import NavTestSystem
import Testing

/// The bus suite as a program: its output, and that both sides counted every message. Times are never checked.
struct BusSuiteTests {
    private static let hasPyzmq = Python.has("zmq")

    private func figures(_ text: String) throws -> [[String: Any]] {
        try text.split(separator: "\n").map { line in
            try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any], "\(line)")
        }
    }

    @Test func everyComparisonHasFiguresOfBothSides() throws {
        let run = try Programs.run("navbus-bench", ["bus", "--quick", "--json"])
        try #require(run.status == 0, "\(run.errors)")
        var names: Set<String> = []
        for figure in try figures(run.output) {
            #expect(Set(figure.keys) == ["name", "value", "unit", "peer", "peer_value", "ratio"])
            let name = try #require(figure["name"] as? String)
            #expect(names.insert(name).inserted, "\(name) is printed twice")
            let peer = try #require(figure["peer_value"] as? Double, "\(name)")
            #expect(peer > 0)
            #expect((figure["peer"] as? String)?.hasPrefix("C libzmq 4") == true)
            #expect(figure["unit"] as? String == (name.hasSuffix("publish") || name.contains(".p") ? "us" : "msg/s"))
            // On one host the bus does not use TCP, and the in-process bus has no threads.
            if name.contains(".tcp.") || name.contains(".inproc-threads.") { continue }
            #expect((figure["value"] as? Double).map { $0 > 0 } == true, "\(name)")
            #expect(figure["ratio"] is Double, "\(name)")
        }
        let promised = [
            "bus.pubsub.ipc.200B.p50", "bus.pubsub.ipc.200B.p99", "bus.pubsub.ipc.200B.p99.9",
            "bus.pubsub.ipc.200B.paced.p99.9", "bus.pubsub.ipc.200B.oneway.p50", "bus.pubsub.ipc.100KB.p50",
            "bus.pubsub.tcp.200B.p50", "bus.pubsub.inproc.200B.p50", "bus.throughput.ipc.200B",
            "bus.throughput.ipc.100KB", "bus.rpc.unary.p50", "bus.rpc.stream", "bus.fanout.1to1",
            "bus.fanout.1to3.publish", "bus.fanout.1to3.paced.oneway.p99",
        ]
        #expect(names.isSuperset(of: promised), "\(Set(promised).subtracting(names).sorted()) are missing")
        for word in ["machine ", "kernel ", "load ", "build ", "libzmq 4"] { #expect(run.errors.contains(word)) }
    }

    @Test func tableHeaderIsOnStandardOutput() throws {
        let arguments = ["bus", "--quick", "--match", "bus.pubsub.inproc.200B"]
        let run = try Programs.run("navbus-bench", arguments)
        #expect(run.status == 0 && run.errors.isEmpty, "\(run.errors)")
        #expect(run.output.contains("kernel ") && run.output.contains("bus.pubsub.inproc.200B.p99.9"))
        #expect(!run.output.contains("bus.rpc"))
    }

    @Test(arguments: [
        (["bus", "--only", "pubsub,all"], "'all' is not a part of the suite"),
        (["bus", "--match", "nothing"], "no comparison has 'nothing' in its name"),
        (["bus", "--rounds", "0"], "--rounds takes 1 to 1000"),
    ])
    func invalidArgumentsAreExplained(arguments: [String], complaint: String) throws {
        let run = try Programs.run("navbus-bench", arguments)
        #expect(run.status == 2 && run.output.isEmpty && run.errors.contains(complaint), "\(run)")
    }

    @Test(arguments: [[], ["dance"], ["ping"], ["ping", "--folder", "/tmp", "--size", "x"], ["ping", "--folder"]])
    func peerExplainsInvalidArguments(arguments: [String]) throws {
        let run = try Programs.run("navbus-bench-peer", arguments)
        #expect(run.status == 2 && run.errors.contains("usage: navbus-bench-peer"), "\(run)")
    }

    // Needs pyzmq; the other peers would be downloaded.
    @Test(.enabled(if: hasPyzmq)) func pythonPeersPrintTheSameLines() throws {
        let run = try Programs.run(
            Python.path,
            [
                TestData.project + "/Tests/Peers/bus.py", "--rounds", "1", "--count", "50", "--peers", "pyzmq",
                "--bench", "",
                "--json",
            ])
        try #require(run.status == 0, "\(run.errors)")
        let figures = try figures(run.output)
        #expect(figures.count == 6)
        for figure in figures {
            #expect((figure["peer"] as? String)?.hasPrefix("pyzmq ") == true)
            #expect((figure["peer_value"] as? Double).map { $0 > 0 } == true)
            #expect(figure["value"] is NSNull && figure["ratio"] is NSNull)
        }
    }
}
