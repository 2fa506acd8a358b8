import Foundation
import NavBag
import NavTestKit
import NavTestSystem
import Testing

/// Recorders killed at random times, compared with one that records everything.
struct KilledRecorderTests {
    private static let topic = "/nav/journal"
    private static let rounds = 5
    private static let recordersPerRound = 10

    /// A message of the publisher in a bag.
    private struct Entry: Equatable {
        var sequence: UInt32
        var publishTime: Int64
        /// The time between publication and the recorder's reception, ns.
        var delay: Int64

        static func == (left: Self, right: Self) -> Bool {
            left.sequence == right.sequence && left.publishTime == right.publishTime
        }
    }

    private struct Kill {
        var file: String
        /// The times of the subscription and of the kill, ns of the system clock.
        var joined: Int64
        var killed: Int64
    }

    private static func now() -> Int64 { Int64(Date().timeIntervalSince1970 * 1e9) }

    private static func entries(_ path: String) throws -> [Entry] {
        let reader = try BagReader(path: path)
        var cursor = reader.messages(BagQuery(topics: [topic], order: .file))
        var entries: [Entry] = []
        while let message = try cursor.next() {
            let stamp = Int64(message.publishTime)
            entries.append(
                Entry(sequence: message.sequence, publishTime: stamp, delay: Int64(message.logTime) - stamp))
        }
        return entries
    }

    /// Starts a recorder, and kills it after a while.
    private static func kill(_ name: String, in box: Sandbox) async throws -> Kill {
        let file = name + ".mcap"
        let recorder = try box.start("navbus", ["bag", "record", topic, "--name", name, "--out", file])
        try await box.announces("/health/" + name, node: name)
        let joined = now()
        try await Task.sleep(for: .milliseconds(Int.random(in: 200...1_500)))
        let killed = now()
        recorder.send(SIGKILL)
        #expect(try await recorder.wait().status == 128 + SIGKILL)
        return Kill(file: file, joined: joined, killed: killed)
    }

    /// Returns the longest time that the machine delayed another process in the two seconds before a moment: the
    /// publisher between two messages, or the other recorder for one message.
    private static func stall(before moment: Int64, _ published: [Entry]) -> Int64 {
        let recent = published.filter { (moment - 2_000_000_000...moment).contains($0.publishTime) }
        let pauses = zip(recent, recent.dropFirst()).map { $1.publishTime - $0.publishTime }
        let last = recent.last.map { moment - $0.publishTime } ?? 0
        return max(pauses.max() ?? 0, recent.map(\.delay).max() ?? 0, last)
    }

    @Test func killedRecorderLosesAtMostASecondAndTheRestIsRecovered() async throws {
        try await withSandbox { box in
            let witness = try box.start(
                "navbus", ["bag", "record", Self.topic, "--name", "witness", "--out", "whole.mcap"])
            try await box.announces("/health/witness", node: "witness")
            let publisher = try box.start(
                "navbus", ["topic", "pub", Self.topic, "{}", "--rate", "200", "--wait", "60"])
            var kills: [Kill] = []
            for round in 0..<Self.rounds {
                kills += try await withThrowingTaskGroup(of: Kill.self) { group in
                    for number in 0..<Self.recordersPerRound {
                        group.addTask { try await Self.kill("killed-\(round)-\(number)", in: box) }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
            }
            for program in [publisher, witness] {
                program.send(SIGINT)
                #expect(try await program.wait().status == 0, "\(program.errors)")
            }

            let published = try Self.entries(box.path + "/whole.mcap")
            var fullCount = 0
            for kill in kills {
                let kept = try Self.entries("\(box.path)/\(kill.file)")
                let sent = published.filter { $0.publishTime <= kill.killed }
                // Loss is measured between the publisher's stamps: a message that was never published is not lost.
                let loss = (sent.last?.publishTime ?? 0) - (kept.last?.publishTime ?? kill.joined)
                let stall = Self.stall(before: kill.killed, published)
                #expect(
                    loss <= 1_000_000_000 + 2 * stall,
                    "\(kill.file): \(loss) ns, of \(kill.killed - kill.joined) ns; the machine stalled for \(stall) ns")
                guard let first = kept.first, let last = kept.last else { continue }
                // No message before the loss is missing.
                let range = first.sequence...last.sequence
                #expect(kept == published.filter { range.contains($0.sequence) }, "\(kill.file)")
                let whole = "recovered-" + kill.file
                try await box.succeed("navbus", ["bag", "recover", kill.file, "-o", whole])
                #expect(try Self.entries("\(box.path)/\(whole)") == kept, "\(kill.file)")
                fullCount += 1
            }
            #expect(kills.count == 50 && fullCount > 10)
        }
    }
}
