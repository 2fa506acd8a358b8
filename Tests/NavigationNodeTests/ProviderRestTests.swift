import NavBag
import NavDirections
import NavGeo
import NavKit
import NavMap
import NavMessages
import NavNavigator
import NavRecording
import NavReplay
import NavTestKit
import NavigationNode
import Testing

/// Reroutes while the circuit breaker of the online provider is open after failures.
struct ProviderRestTests {
    /// Returns the messages of a drive with a reroute.
    ///
    /// - Parameters:
    ///   - jump: the fix before which the drive starts over, as after a clock jump.
    ///   - rests: whether the provider rests before a fix.
    private func drive(
        _ map: MapSnapshot, jump: Int? = nil, rests: (Int) -> Bool
    ) throws -> (messages: [OutgoingMessage], asked: [Bool]) {
        var configuration = Helsinki.configuration
        configuration.online.directions.url = "https://provider.example"
        let session = NavigationSession(map: map, configuration: configuration, nodeName: "test")
        let planner = RoutePlanner()
        var messages: [OutgoingMessage] = []
        var asked: [Bool] = []
        for (index, fix) in try Helsinki.drive.get().enumerated() {
            if index == jump, let stamp = fix.stampNs {
                messages += session.startOver(at: NavGeo.Timestamp(nanoseconds: stamp)).messages
            }
            messages += session.note(providerRests: rests(index)).messages
            var outcomes = [session.handle(fix, sequence: UInt64(index + 1))]
            while !outcomes.isEmpty {
                let outcome = outcomes.removeFirst()
                messages += outcome.messages
                for query in outcome.queries {
                    if query.purpose == .reroute { asked.append(query.allowsOnline) }
                    outcomes.append(session.handle(planner.answer(query, on: map), to: query))
                }
            }
        }
        return (messages, asked)
    }

    private func changes(_ messages: [OutgoingMessage]) -> [Bool?] {
        messages.compactMap { message in
            guard case .provider(let change)? = (message.message as? JournalEntry)?.event else { return nil }
            return change.rests
        }
    }

    private func fetching(_ messages: [OutgoingMessage]) -> [NavMessages.RouteProvider?] {
        messages.compactMap { $0.message as? NavMessages.RerouteEvent }.filter { $0.phase == .fetching }.map(\.provider)
    }

    @Test func fetchingEventNamesTheRouter() throws {
        let map = try Helsinki.map.get()
        let (online, asked) = try drive(map) { _ in false }
        #expect(fetching(online) == [.online] && asked == [true] && changes(online).isEmpty)
        let (resting, unasked) = try drive(map) { _ in true }
        #expect(fetching(resting) == [.onBoard] && unasked == [false] && changes(resting) == [true])
        let (rested, again) = try drive(map) { $0 < 5 }
        #expect(fetching(rested) == [.online] && again == [true] && changes(rested) == [true, false])
    }

    @Test(arguments: [(nil, 4..<10_000), (nil, 0..<10_000), (40, 4..<40), (40, 4..<45)])
    func restIsReproducedFromTheJournal(jump: Int?, rest: Range<Int>) throws {
        let tiles = try Tiles()
        let map = MapSnapshot(graph: try TilesetDirectory(path: tiles.path).loadGraph())
        let (messages, _) = try drive(map, jump: jump) { rest.contains($0) }
        try withTemporaryFolder { folder in
            var log = MessageLog(try BagWriter(path: folder + "/drive.mcap", overwrite: true))
            var time: Int64 = 0
            for message in messages {
                time = max(time, message.stamp.nanoseconds)
                try log.write(message.message, topic: message.topic, logTime: time, publishTime: time)
            }
            try log.close()
            var out: MessageLog<FileSink>?
            let summary = try JournalReplay(bag: folder + "/drive.mcap", tiles: tiles.path).run(into: &out)
            #expect(summary.difference == nil && summary.unrecorded == 0)
        }
    }
}
