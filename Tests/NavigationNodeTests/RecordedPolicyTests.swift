import NavBag
import NavConfig
import NavGeo
import NavKit
import NavMessages
import NavNavigator
import NavRecording
import NavReplay
import NavTestKit
import NavWire
import NavigationNode
import Testing

/// Replays of drives with the recorded decisions of the owner's policy.
struct RecordedPolicyTests {
    /// Returns the decisions about reroutes in a replay of a bag.
    ///
    /// - Parameter change: Changes the entries of the replay's journal in its bag.
    private func decisions(
        of input: String, to output: String, _ change: (inout JournalEntry) -> Void = { _ in }
    ) throws -> [NavMessages.PolicyDecision] {
        let configuration = try ConfigLoader.load(
            NavigationConfiguration.self, file: nil,
            overrides: ["destination=\(Helsinki.to.text)", "policy.ask=should_reroute"])
        let trace = try TraceInput(path: input)
        var log = MessageLog(try BagWriter(path: output + ".whole", overwrite: true))
        _ = try Replay(map: try Helsinki.map.get(), configuration: configuration).run(
            trace.fixes, others: trace.others, into: &log)
        try log.close()
        var changed = MessageLog(try BagWriter(path: output, overwrite: true))
        var decisions: [NavMessages.PolicyDecision] = []
        let reader = try BagReader(path: output + ".whole")
        var cursor = reader.messages(BagQuery(order: .file))
        while let message = try cursor.next() {
            let topic = try #require(reader.index.channel(message.channelID)).topic
            let (logTime, publishTime) = (Int64(clamping: message.logTime), Int64(clamping: message.publishTime))
            let bytes = Array(message.data)
            switch topic {
            case "/gnss/fix":
                try changed.write(
                    try GnssFix(decoding: bytes), topic: topic, logTime: logTime, publishTime: publishTime)
            case "/nav/journal":
                var entry = try JournalEntry(decoding: bytes)
                change(&entry)
                try changed.write(entry, topic: topic, logTime: logTime, publishTime: publishTime)
            case "/nav/policy/decision":
                let decision = try NavMessages.PolicyDecision(decoding: bytes)
                if decision.kind == .shouldReroute { decisions.append(decision) }
            default: break
            }
        }
        try changed.close()
        return decisions
    }

    @Test func recordedRefusalAppliesOnceAndWithItsReason() throws {
        try withTemporaryFolder { folder in
            var fixes = MessageLog(try BagWriter(path: folder + "/fixes.mcap", overwrite: true))
            for fix in try Helsinki.drive.get() {
                let stamp = try #require(fix.stampNs)
                try fixes.write(fix, topic: "/gnss/fix", logTime: stamp, publishTime: stamp)
            }
            try fixes.close()
            // In the first replay no policy node exists; its journal is then changed to a refusal by the owner.
            let first = try decisions(of: folder + "/fixes.mcap", to: folder + "/1.mcap") { entry in
                guard case .policyDecision(var decision)? = entry.event, decision.kind == .shouldReroute else { return }
                (decision.verdict, decision.decidedBy, decision.reason) = (.no, .client, "wait")
                entry.event = .policyDecision(decision)
            }
            #expect(first.map(\.decidedBy) == [.unavailable] && first.map(\.verdict) == [.yes])
            let second = try decisions(of: folder + "/1.mcap", to: folder + "/2.mcap")
            #expect(second.map(\.decidedBy) == [.recorded, .unavailable] && second.map(\.verdict) == [.no, .yes])
            #expect(second.first?.reason == "wait" && (second.first?.holdS ?? 0) > 0)
        }
    }
}
