import Foundation
import Logging
import NavBag
import NavBus
import NavKit
import NavMessages
import NavRecording
import NavTestBus
import NavTestKit
import Testing

/// The player and its options, on a bus without sockets.
struct BagPlayerTests {
    private static let second: UInt64 = 1_000_000_000
    private static let start: UInt64 = 1_767_258_000 * second

    /// Creates a bag of ten seconds: a fix each second, a state with every fifth, and a message that is not protobuf.
    private func makeBag(in folder: String, at moments: [UInt64] = (0..<10).map { start + $0 * second }) throws
        -> String
    {
        let path = folder + "/drive.mcap"
        var writer = try BagWriter(path: path)
        let text = try writer.addChannel(
            topic: "/notes", schemaName: "", schemaEncoding: "", schemaData: [], messageEncoding: "json")
        try writer.write(channel: text, sequence: 1, logTime: moments[0], publishTime: 0, data: Array("{}".utf8))
        var log = MessageLog(writer)
        for (index, moment) in moments.enumerated() {
            let fix = GnssFix(latitude: Double(index), longitude: 0)
            try log.write(fix, topic: "/gnss/fix", logTime: Int64(clamping: moment), publishTime: Int64(index))
            if index % 5 == 0 {
                try log.write(
                    NavigationState(stampNs: Int64(index)), topic: "/nav/state", logTime: Int64(clamping: moment),
                    publishTime: Int64(index))
            }
        }
        try log.close()
        return path
    }

    /// Plays as fast as possible and returns the received messages.
    private func play(
        _ path: String, stopAfter count: Int? = nil, control: PlayerControl = PlayerControl(),
        _ change: (inout BagPlayer.Options) -> Void = { _ in }, listening: @escaping ([Delivery]) -> Void = { _ in }
    ) throws -> [Delivery] {
        let network = InProcessNetwork(pipeDepth: 100_000)
        let ear = try InProcessBus(name: "ear", network: network)
        _ = try ear.subscribe(
            matching: TopicFilter(include: ["*"]), qos: .keepLast(100_000), maximumPayloadSize: 1 << 22)
        var options = BagPlayer.Options()
        options.rate = BagPlayer.rates.upperBound
        options.linger = 0
        options.wait = 0
        change(&options)
        let stop = StopSignal([])
        let player = try BagPlayer(
            try InProcessBus(name: "player", network: network), path: path, options: options, control: control,
            stop: stop, log: NodeLog(node: "player", level: .critical))
        var heard: [Delivery] = []
        func listen() { while let delivery = try? ear.poll(timeout: .zero) { heard.append(delivery) } }
        try player.run { player in
            listen()
            listening(heard)
            if let count, player.messageCount >= count { stop.stop() }
        }
        listen()
        return heard
    }

    private func fixes(_ heard: [Delivery], on topic: String = "/gnss/fix") throws -> [Double] {
        try heard.filter { $0.topic == topic }.map { try GnssFix(decoding: $0.payload.bytes).latitude ?? -1 }
    }

    @Test func everythingIsPlayedInOrderWithItsStamps() throws {
        try withTemporaryFolder { folder in
            let heard = try play(try makeBag(in: folder))
            #expect(try fixes(heard) == (0..<10).map(Double.init))
            #expect(heard.map(\.topic).filter { $0 == "/nav/state" }.count == 2)
            #expect(!heard.contains { $0.topic == "/notes" || $0.topic == "/clock" })
            #expect(heard.filter { $0.topic == "/gnss/fix" }.map(\.header.stampNanoseconds) == Array(0..<10))
            #expect(heard.filter { $0.topic == "/gnss/fix" }.map(\.header.sequence) == Array(1...10))
        }
    }

    @Test func startAndEndCutTheBag() throws {
        try withTemporaryFolder { folder in
            let bag = try makeBag(in: folder)
            let middle = try play(bag) { ($0.start, $0.end) = (3, 6.5) }
            #expect(try fixes(middle) == [3, 4, 5, 6])
            let error = #expect(throws: NodeError.self) { try play(bag) { $0.start = 1e9 } }
            #expect(error?.description.contains("past the end of the bag") == true)
        }
    }

    @Test func lastLatchedValueBeforeTheStartIsPlayed() throws {
        try withTemporaryFolder { folder in
            let path = folder + "/team.mcap"
            var writer = try BagWriter(path: path)
            for (topic, qos) in [("/team/mode", "latched"), ("/team/beat", "keep_last")] {
                let channel = try writer.addChannel(
                    topic: topic, schemaName: Clock.fullName, schemaEncoding: "protobuf", schemaData: [],
                    messageEncoding: "protobuf", metadata: ["qos": qos])
                for moment in [Self.start, Self.start + 9 * Self.second] {
                    try writer.write(channel: channel, sequence: 1, logTime: moment, publishTime: moment, data: [])
                }
            }
            try writer.close()
            let heard = try play(path) { $0.start = 3 }
            #expect(heard.map(\.topic).sorted() == ["/team/beat", "/team/mode", "/team/mode"])
        }
    }

    /// At rate 10 the bag would take a year.
    @Test(.timeLimit(.minutes(2))) func yearsWithoutMessagesAreSkipped() throws {
        try withTemporaryFolder { folder in
            let years = 10 * 365 * 86_400 * Self.second
            let moments = [0, 1, 2, years, years + Self.second].map { Self.start + $0 }
            let heard = try play(try makeBag(in: folder, at: moments)) {
                ($0.rate, $0.clock) = (10, true)
            }
            #expect(try fixes(heard).count == 5)
            let clock = try heard.filter { $0.topic == "/clock" }.map {
                try #require(try Clock(decoding: $0.payload.bytes).stampNs)
            }
            #expect(clock == clock.sorted() && clock.count < 1_000)
        }
    }

    @Test func delayedPlayerContinuesWithoutCatchingUp() throws {
        try withTemporaryFolder { folder in
            let moments = (0..<200).map { Self.start + UInt64($0) * Self.second / 10 }
            var before: Int?
            var after: Int?
            _ = try play(try makeBag(in: folder, at: moments)) {
                $0.rate = 10
            } listening: { heard in
                if before == nil, heard.count > 20 {
                    before = heard.count
                    Thread.sleep(forTimeInterval: 1)
                } else if before != nil, after == nil {
                    after = heard.count
                }
            }
            // A hundred messages would be due in a second; at most ten are played between two reports.
            #expect(try #require(after) - #require(before) < 60)
        }
    }

    @Test func everyPublisherOfATopicIsPlayedOnOneTopic() throws {
        try withTemporaryFolder { folder in
            let path = folder + "/two.mcap"
            var log = MessageLog(try BagWriter(path: path))
            for index in 0..<6 {
                try GnssFix(latitude: Double(index), longitude: 0).encoded().withUnsafeBytes {
                    try log.write(
                        $0, topic: "/gnss/fix", type: GnssFix.fullName, sequence: UInt64(index / 2 + 1),
                        publisher: UInt64(index % 2 + 7), logTime: Int64(index), publishTime: 0)
                }
            }
            try log.close()
            #expect(try BagReader(path: path).index.channels.map(\.metadata) == [["boot_id": "7"], ["boot_id": "8"]])
            #expect(try fixes(try play(path)) == [0, 1, 2, 3, 4, 5])
        }
    }

    @Test func topicsAreChosenAndRenamed() throws {
        try withTemporaryFolder { folder in
            let bag = try makeBag(in: folder)
            let heard = try play(bag) {
                $0.topics = ["/gnss/*"]
                $0.remaps = ["/gnss/fix": "/rear/fix"]
            }
            #expect(Set(heard.map(\.topic)) == ["/rear/fix"])
            #expect(try fixes(heard, on: "/rear/fix").count == 10)
            let error = #expect(throws: NodeError.self) { try play(bag) { $0.topics = ["/nothing"] } }
            #expect(error?.description.contains("/gnss/fix, /nav/state, /notes") == true)
        }
    }

    @Test func theClockIsRenamedLikeOtherTopics() throws {
        try withTemporaryFolder { folder in
            let heard = try play(try makeBag(in: folder)) {
                $0.clock = true
                $0.remaps = ["/clock": "/sim/clock"]
            }
            #expect(Set(heard.map(\.topic)) == ["/gnss/fix", "/nav/state", "/sim/clock"])
        }
    }

    @Test func theClockRunsAheadOfEveryMessage() throws {
        try withTemporaryFolder { folder in
            let heard = try play(try makeBag(in: folder)) {
                $0.clock = true
                $0.rate = 50
            }
            var clock: Int64 = 0
            var seen = 0
            for delivery in heard {
                if delivery.topic == "/clock" {
                    let now = try #require(try Clock(decoding: delivery.payload.bytes).stampNs)
                    #expect(now >= clock)
                    clock = now
                    seen += 1
                } else if delivery.topic == "/gnss/fix" {
                    #expect(clock == Int64(Self.start) + delivery.header.stampNanoseconds * 1_000_000_000)
                }
            }
            // 10 ms of real time are half a second of the bag.
            #expect(seen >= 18)
        }
    }

    @Test func loopContinuesUntilItIsStopped() throws {
        try withTemporaryFolder { folder in
            let heard = try play(try makeBag(in: folder), stopAfter: 30) { $0.loop = true }
            let places = try fixes(heard)
            #expect(places.count > 20)
            #expect(Array(places.prefix(20)) == (0..<20).map { Double($0 % 10) })
        }
    }

    /// Without a pause, a busy loop would play many more passes before the next report, which stops it.
    @Test func loopOverOneMomentPausesBetweenItsPasses() throws {
        try withTemporaryFolder { folder in
            let heard = try play(try makeBag(in: folder), stopAfter: 3) { ($0.loop, $0.end) = (true, 0.5) }
            #expect(try fixes(heard) == [0, 0])
        }
    }

    @Test func eachLoopAnnouncesItsEpochBeforeItsMessages() throws {
        try withTemporaryFolder { folder in
            let heard = try play(try makeBag(in: folder), stopAfter: 30) {
                $0.loop = true
                $0.clock = true
            }
            var epoch: UInt32?
            var time: Int64 = 0
            var fixes = 0
            for delivery in heard {
                if delivery.topic == "/clock" {
                    let clock = try Clock(decoding: delivery.payload.bytes)
                    if clock.epoch == epoch { #expect(clock.stampNs ?? 0 >= time) }
                    epoch = clock.epoch
                    time = clock.stampNs ?? 0
                } else if delivery.topic == "/gnss/fix" {
                    #expect(epoch == UInt32(fixes / 10))
                    fixes += 1
                }
            }
            #expect(epoch ?? 0 >= 2)
        }
    }

    @Test func latchedMessagesAreClearedAtALoop() throws {
        try withTemporaryFolder { folder in
            let heard = try play(try makeBag(in: folder), stopAfter: 15) {
                $0.loop = true
                $0.clock = true
            }
            let states = try heard.filter { $0.topic == "/nav/state" }.map {
                try NavigationState(decoding: $0.payload.bytes).stampNs
            }
            #expect(Array(states.prefix(4)) == [0, 5, nil, 0])
        }
    }

    @Test func startInTheMiddlePublishesTheLatchedValueOfThatTime() throws {
        try withTemporaryFolder { folder in
            let heard = try play(try makeBag(in: folder)) { ($0.start, $0.end) = (7, 9) }
            #expect(heard.map(\.topic) == ["/nav/state", "/gnss/fix", "/gnss/fix"])
            #expect(try NavigationState(decoding: heard[0].payload.bytes).stampNs == 5)
        }
    }

    @Test func pausedPlayerPlaysOnlyItsSteps() throws {
        try withTemporaryFolder { folder in
            let control = PlayerControl(isPaused: true, steps: 3)
            func pause(_ heard: [Delivery]) -> Int? {
                heard.firstIndex { delivery in
                    delivery.topic == "/clock" && (try? Clock(decoding: delivery.payload.bytes))?.paused == true
                }
            }
            // After the steps the time is stopped until the player resumes, as /clock shows.
            let heard = try play(
                try makeBag(in: folder), control: control, { $0.clock = true },
                listening: { if pause($0) != nil, control.isPaused { control.togglePause() } })
            #expect(try fixes(heard).count == 10)
            let pause = pause(heard)
            let before = heard[..<(try #require(pause))]
            #expect(try fixes(Array(before)) == [0, 1, 2])
        }
    }

    /// Plays, and controls the player after a number of fixes. The time is stopped until then; otherwise the bag would
    /// end before a subscriber on a busy machine had received them.
    private func play(
        _ folder: String, after count: Int, rate: Double = 20, clock: Bool = true,
        _ keys: @escaping (PlayerControl) -> Void
    ) throws -> [Delivery] {
        let control = PlayerControl(isPaused: true, steps: count)
        var isDone = false
        return try play(try makeBag(in: folder), control: control) {
            ($0.clock, $0.rate) = (clock, rate)
        } listening: { heard in
            guard !isDone, heard.filter({ $0.topic == "/gnss/fix" }).count >= count else { return }
            isDone = true
            keys(control)
            control.togglePause()
        }
    }

    @Test func seekBeginsAnEpochWithTheLatchedValuesOfThatTime() throws {
        try withTemporaryFolder { folder in
            let heard = try play(folder, after: 8) { $0.seek(by: -1e6) }
            let places = try fixes(heard)
            #expect(Array(places.suffix(10)) == (0..<10).map(Double.init), "\(places)")
            #expect(places.count >= 18 && Array(places.prefix(8)) == (0..<8).map(Double.init))
            let epochs = try heard.filter { $0.topic == "/clock" }.map { try Clock(decoding: $0.payload.bytes).epoch }
            #expect(Set(epochs) == [0, 1])
        }
        try withTemporaryFolder { folder in
            let onward = try play(folder, after: 2) { $0.seek(by: 1e6) }
            #expect(try fixes(onward).last == 9 && fixes(onward).count < 8)
            // The state of second 5 applies to the point from which playback continues.
            let states = try onward.filter { $0.topic == "/nav/state" }.map {
                try NavigationState(decoding: $0.payload.bytes).stampNs
            }
            #expect(states == [0, 5])
        }
    }

    @Test func stepBackPlaysThePreviousMoment() throws {
        try withTemporaryFolder { folder in
            let control = PlayerControl(isPaused: true, steps: 6)
            var backward = 0
            let heard = try play(try makeBag(in: folder), control: control) {
                $0.clock = true
            } listening: { heard in
                let count = heard.filter { $0.topic == "/gnss/fix" }.count
                if count == 6 + backward, backward < 3 {
                    backward += 1
                    control.stepBack()
                } else if count == 9 {
                    control.togglePause()
                }
            }
            #expect(try fixes(heard) == [0, 1, 2, 3, 4, 5, 4, 3, 2, 3, 4, 5, 6, 7, 8, 9])
        }
    }

    @Test func theRateChangesWhilePlaying() throws {
        try withTemporaryFolder { folder in
            // At rate 1 the bag would take nine seconds; /clock contains the rate.
            let heard = try play(folder, after: 1, rate: 1) { $0.changeRate(by: 1e9) }
            let rates = try heard.filter { $0.topic == "/clock" }.compactMap {
                try Clock(decoding: $0.payload.bytes).rate
            }
            #expect(Set(rates) == [1, BagPlayer.rates.upperBound])
            #expect(try fixes(heard).count == 10)
        }
    }

    @Test func progressIsTheShareOfTimeEvenAfterASeek() throws {
        try withTemporaryFolder { folder in
            // The player is paused before the seek, because on a busy machine the bag could end between two reports.
            let control = PlayerControl(isPaused: true, steps: 5)
            var shares: [(place: Double, share: Double)] = []
            let network = InProcessNetwork(pipeDepth: 100_000)
            var options = BagPlayer.Options()
            (options.rate, options.linger, options.wait, options.start) = (20, 0, 0, 1)
            let player = try BagPlayer(
                try InProcessBus(name: "player", network: network), path: try makeBag(in: folder), options: options,
                control: control, stop: StopSignal([]), log: NodeLog(node: "player", level: .critical))
            var isDone = false
            try player.run { player in
                shares.append((player.played, player.progress))
                if player.played >= 4, !isDone {
                    isDone = true
                    control.seek(by: -3)
                    control.togglePause()
                }
            }
            #expect(player.duration == 8 && shares.last?.share == 1)
            #expect(shares.allSatisfy { abs($0.share - $0.place / 8) < 1e-9 })
            #expect(zip(shares, shares.dropFirst()).contains { $1.share < $0.share })
        }
    }

    @Test func playbackAsInputSkipsTheTopicsOfTheNode() throws {
        try withTemporaryFolder { folder in
            let bag = try makeBag(in: folder)
            // The bag does not record publishers, so the usual topics of the node are skipped.
            #expect(try Set(play(bag) { $0.inputOf = "navigation-node" }.map(\.topic)) == ["/gnss/fix"])
            #expect(try Set(play(bag) { $0.inputOf = "gnss-node" }.map(\.topic)) == ["/nav/state"])
            #expect(throws: NodeError.self) { try play(bag) { $0.inputOf = "stranger" } }

            let path = folder + "/named.mcap"
            var log = MessageLog(try BagWriter(path: path))
            for (topic, node) in [("/a", "one"), ("/nav/b", "two"), ("/c", "two")] {
                try [UInt8]().withUnsafeBytes {
                    try log.write(
                        $0, topic: topic, type: GnssFix.fullName, sequence: 1, publisher: 7, node: node, logTime: 5,
                        publishTime: 5)
                }
            }
            try log.close()
            #expect(try play(path) { $0.inputOf = "two" }.map(\.topic) == ["/a"])
            let error = #expect(throws: NodeError.self) { try play(path) { $0.inputOf = "three" } }
            #expect(error?.description.contains("one, two") == true)
        }
    }

    @Test func playbackAsInputKeepsMessagesOfOtherPublishersOnTheNodesTopics() throws {
        try withTemporaryFolder { folder in
            let path = folder + "/two.mcap"
            var log = MessageLog(try BagWriter(path: path))
            for index in 0..<20 as Range<Int64> {
                let isRear = index % 2 == 1
                let payload = GnssFix(latitude: Double(index), longitude: 0).encoded()
                for topic in ["/gnss/fix", "/log", "/team/mode"] {
                    try payload.withUnsafeBytes {
                        try log.write(
                            $0, topic: topic, type: GnssFix.fullName, sequence: 1, publisher: isRear ? 8 : 7,
                            node: isRear ? "gnss-rear" : "gnss-node", isLatched: topic == "/team/mode",
                            logTime: Int64(Self.start) + index * Int64(Self.second), publishTime: index)
                    }
                }
            }
            // The recorder had no name for this publisher.
            try [UInt8]().withUnsafeBytes {
                try log.write(
                    $0, topic: "/log", type: GnssFix.fullName, sequence: 1, publisher: 9,
                    logTime: Int64(Self.start) + 20 * Int64(Self.second), publishTime: 20)
            }
            try log.close()
            let odd = (0..<10).map { Double(2 * $0 + 1) }
            let heard = try play(path) { $0.inputOf = "gnss-node" }
            #expect(try fixes(heard) == odd)
            #expect(try fixes(heard, on: "/log") == odd)
            #expect(try fixes(play(path) { $0.inputOf = "gnss-rear" }) == odd.map { $0 - 1 })
            // The latched value at the start is the last one among the played messages.
            let late = try play(path) { ($0.inputOf, $0.start) = ("gnss-node", 10.5) }
            #expect(try fixes(late, on: "/team/mode") == [9, 11, 13, 15, 17, 19])

            // A step back leads to an instant with a played message.
            let control = PlayerControl(isPaused: true, steps: 3)
            var isDone = false
            let back = try play(path, stopAfter: 4, control: control) {
                ($0.inputOf, $0.topics) = ("gnss-node", ["/gnss/fix"])
            } listening: { heard in
                guard !isDone, heard.count == 3 else { return }
                isDone = true
                control.stepBack()
            }
            #expect(try fixes(back) == [1, 3, 5, 3])
        }
    }

    @Test func topicsThatCannotBeAnnouncedAreSkipped() throws {
        try withTemporaryFolder { folder in
            let path = folder + "/odd.mcap"
            var log = MessageLog(try BagWriter(path: path))
            for (topic, type) in [("gps", GnssFix.fullName), ("/untyped", ""), ("/gnss/fix", GnssFix.fullName)] {
                try log.write([UInt8](), topic: topic, type: type, sequence: 1, logTime: 5, publishTime: 5)
            }
            try log.close()
            #expect(try play(path).map(\.topic) == ["/gnss/fix"])
            #expect(try Set(play(path) { $0.remaps = ["gps": "/gps"] }.map(\.topic)) == ["/gnss/fix", "/gps"])
            let none = #expect(throws: NodeError.self) { try play(path) { $0.topics = ["/untyped"] } }
            #expect(none?.code == .usage)
            let wrong = #expect(throws: NodeError.self) { try play(path) { $0.remaps = ["/gnss/fix": "gnss"] } }
            #expect(wrong?.description.contains("'gnss'") == true)
        }
    }

    @Test func extremeStampsDoNotTrap() throws {
        try withTemporaryFolder { folder in
            let moments: [UInt64] = [.max - 1, .max]
            let path = folder + "/end.mcap"
            var writer = try BagWriter(path: path)
            let channel = try writer.addChannel(
                topic: "/gnss/fix", schemaName: GnssFix.fullName, schemaEncoding: "protobuf", schemaData: [],
                messageEncoding: "protobuf")
            for moment in moments {
                try writer.write(channel: channel, sequence: 1, logTime: moment, publishTime: .max, data: [])
            }
            try writer.close()
            #expect(try play(path) { $0.clock = true }.filter { $0.topic == "/gnss/fix" }.count == 2)
            #expect(try play(path) { $0.start = 1e9 }.count <= 2)
        }
    }

    @Test(arguments: [0, -1, .nan, .infinity, 1e-300, 1e300])
    func aRateOutOfRangeIsRefused(rate: Double) throws {
        try withTemporaryFolder { folder in
            let bag = try makeBag(in: folder)
            let error = #expect(throws: NodeError.self) { try play(bag) { $0.rate = rate } }
            #expect(error?.code == .usage)
        }
    }

    @Test func extremePaceDoesNotOverflow() {
        #expect(Pace.nanoseconds(from: 0, to: 1_000, rate: 2) == 500)
        #expect(Pace.nanoseconds(from: 1_000, to: 0, rate: 1) == 0)
        let longest = Pace.nanoseconds(from: .min, to: .max, rate: 0.001)
        #expect(longest > 0 && longest <= .max / 2)
        #expect(Pace.nanoseconds(from: .max, to: .min, rate: 1) == 0)
        #expect(Pace.moment(1.5, after: 10) == 1_500_000_010)
        #expect(Pace.moment(1e9, after: .max - 5) == .max)
        #expect(Pace.moment(-1, after: 5) == 5)
    }
}
