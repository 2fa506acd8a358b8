import Foundation
import Logging
import NavBag
import NavBus
import NavGeo
import NavKit
import NavMessages
import NavRecording
import NavSimulation
import NavTestBus
import NavTestKit
import NavTestSystem
import Testing

/// The recorder on a bus without sockets.
struct BagRecorderTests {
    private static let recorded: Int64 = 1_767_258_000_000_000_000

    private static let fix = TopicDescription(
        name: "/gnss/fix", typeName: GnssFix.fullName, maximumPayloadSize: 100)

    private func recorder(
        on network: InProcessNetwork, _ path: String, _ change: (inout BagRecorder.Options) -> Void
    ) throws -> BagRecorder {
        var options = BagRecorder.Options()
        change(&options)
        return try BagRecorder(
            try InProcessBus(name: "recorder", network: network), path: path, options: options, directory: nil,
            log: NodeLog(node: "recorder", level: .critical),
            now: { MonotonicInstant(nanoseconds: network.now.monotonicNanoseconds) })
    }

    /// A recorder with a publisher of fixes and a caller, on a network without /clock.
    private struct RecorderHarness {
        let network = InProcessNetwork(pipeDepth: 100_000)
        let speaker: InProcessBus
        let caller: InProcessBus
        let fix: Publication

        init() throws {
            speaker = try InProcessBus(name: "speaker", network: network)
            caller = try InProcessBus(name: "caller", network: network)
            fix = try speaker.advertise(BagRecorderTests.fix)
        }

        /// Sets the time in seconds since the network's start, which was at `origin` on the wall clock, ns.
        func setTime(_ second: Int64, origin: Int64 = BagRecorderTests.recorded) {
            network.now = ReceiveTimes(
                monotonicNanoseconds: second * 1_000_000_000, utcNanoseconds: origin + second * 1_000_000_000)
        }

        /// Publishes a fix that the recorder receives.
        func publish(_ payload: [UInt8], at second: Int64, to recorder: BagRecorder) throws {
            try speaker.publish(payload, on: fix, stampNanoseconds: second)
            try recorder.turn(.zero)
            // A client that sends nothing for ten seconds counts as lost.
            _ = try caller.poll(timeout: .zero)
        }
    }

    /// Records the messages that `body` publishes through its argument, a function of topic, type, stamp and payload.
    ///
    /// - Parameters:
    ///   - isStalled: whether the recorder's loop stalls until everything is published.
    ///   - atEnd: receives the recorder at the end.
    private func record(
        _ path: String, _ change: (inout BagRecorder.Options) -> Void = { _ in }, isStalled: Bool = false,
        atEnd: (BagRecorder) -> Void = { _ in },
        _ body: ((String, String, Int64, [UInt8]) throws -> Void) throws -> Void
    ) throws -> (losses: BagRecorder.Losses, paths: [String]) {
        let network = InProcessNetwork(pipeDepth: 100_000)
        network.now.utcNanoseconds = Int64(Date().timeIntervalSince1970 * 1e9)
        let speaker = try InProcessBus(name: "speaker", network: network)
        let recorder = try recorder(on: network, path, change)
        var publications: [String: Publication] = [:]
        try body { topic, type, stamp, payload in
            let publication =
                try publications[topic]
                ?? speaker.advertise(
                    TopicDescription(name: topic, typeName: type, maximumPayloadSize: 1 << 30))
            publications[topic] = publication
            try speaker.publish(payload, on: publication, stampNanoseconds: stamp)
            if !isStalled { try recorder.turn(.zero) }
        }
        let stop = StopSignal([])
        stop.stop()
        let losses = try recorder.run(until: stop)
        atEnd(recorder)
        return (losses, recorder.paths)
    }

    @Test func oversizedMessageIsCountedAndTheRestIsRecorded() throws {
        try withTemporaryFolder { folder in
            let path = folder + "/large.mcap"
            let (losses, _) = try record(path) { publish in
                for (index, size) in [10, 40 << 20, (64 << 20) + 1, 64 << 20, 20].enumerated() {
                    try publish("/nav/journal", JournalEntry.fullName, Int64(index), [UInt8](repeating: 0, count: size))
                }
            }
            #expect(losses.refused == 1 && losses.total == 1)
            #expect(try content(of: path).map(\.data.count) == [10, 40 << 20, 64 << 20, 20])
        }
    }

    /// The catalogue's queue for the journal has 1,024 entries per slow subscriber.
    @Test func everyEntryOfTheJournalIsRecordedAfterAStall() throws {
        try withTemporaryFolder { folder in
            let path = folder + "/stall.mcap"
            let (losses, _) = try record(path, isStalled: true) { publish in
                for index in 0..<20_000 as Range<Int64> {
                    try publish("/nav/journal", JournalEntry.fullName, index, [8])
                }
            }
            #expect(try losses.total == 0 && content(of: path).count == 20_000)
        }
    }

    @Test func hangingDiskIsReportedAndBlocksNothing() throws {
        try withTemporaryFolder { folder in
            // A pipe without a reader's reads takes 64 KiB; its read end stays open, because the writer would otherwise
            // get SIGPIPE.
            let pipe = folder + "/hangs.mcap"
            try #require(mkfifo(pipe, 0o600) == 0 && open(pipe, O_RDONLY | O_NONBLOCK) >= 0)
            var random = SeededRandom(seed: 1)
            let noise = (0..<125_000).flatMap { _ in le(random.next()) }
            let error = #expect(throws: NodeError.self) {
                try record(pipe, { $0.overwrite = true }) { publish in
                    for index in 0..<200 as Range<Int64> { try publish("/noise", "test.Noise", index, noise) }
                }
            }
            let said = error?.description ?? ""
            #expect(said.contains("the disk did not accept it") && said.contains("not written to the disk"), "\(said)")
        }
    }

    @Test func existingRecordingIsContinuedInTheNextFile() throws {
        try withTemporaryFolder { folder in
            let path = folder + "/drive.mcap"
            for round in 0..<3 {
                let (_, paths) = try record(path) { publish in
                    try publish("/gnss/fix", GnssFix.fullName, 1, [UInt8](repeating: 0, count: round))
                }
                #expect(paths == [folder + ["/drive.mcap", "/drive_1.mcap", "/drive_2.mcap"][round]])
            }
            #expect(try content(of: folder + "/drive_2.mcap").map(\.data.count) == [2])
            let (_, again) = try record(path, { $0.overwrite = true }) { _ in }
            #expect(try again == [path] && content(of: path).isEmpty)

            let text = folder + "/notes.mcap"
            try Data("hello".utf8).write(to: URL(fileURLWithPath: text))
            let error = #expect(throws: NodeError.self) { try record(text) { _ in } }
            #expect(error?.description.contains("--overwrite") == true)
        }
    }

    @Test func onlyTheFirstFileOfARecordingOverwrites() throws {
        try withTemporaryFolder { folder in
            let path = folder + "/drive.mcap"
            func record(_ run: UInt8, seconds: Int64, overwrite: Bool) throws -> [String] {
                let change = { (options: inout BagRecorder.Options) in
                    (options.simTime, options.splitSeconds, options.overwrite) = (true, 10, overwrite)
                }
                return try self.record(path, change) { publish in
                    for second in 0..<seconds {
                        let now = Self.recorded + second * 1_000_000_000
                        try publish("/clock", Clock.fullName, now, Clock(stampNs: now).encoded())
                        try publish("/gnss/fix", GnssFix.fullName, now, [run])
                    }
                }.paths
            }
            func files(_ numbers: [String]) -> [String] { numbers.map { "\(folder)/drive\($0).mcap" } }
            #expect(try record(1, seconds: 5, overwrite: false) == files([""]))
            #expect(try record(2, seconds: 15, overwrite: false) == files(["_1", "_2"]))
            #expect(try record(3, seconds: 25, overwrite: true) == files(["", "_3", "_4"]))
            let runs = try files(["", "_1", "_2", "_3", "_4"]).map { path in
                Set(try content(of: path).filter { $0.topic == "/gnss/fix" }.map { $0.data[0] })
            }
            #expect(runs == [[3], [2], [2], [3], [3]])
        }
    }

    @Test func nextFileBeginsWithTheLatchedValues() throws {
        try withTemporaryFolder { folder in
            let path = folder + "/long.mcap"
            let (losses, paths) = try record(path, { ($0.simTime, $0.splitSeconds) = (true, 10) }) { publish in
                for second in 0..<25 as Range<Int64> {
                    let now = Self.recorded + second * 1_000_000_000
                    try publish("/clock", Clock.fullName, now, Clock(stampNs: now).encoded())
                    if second % 20 == 0 {
                        try publish("/nav/state", NavigationState.fullName, now, [8, UInt8(second)])
                    }
                    try publish("/gnss/fix", GnssFix.fullName, now, [UInt8](repeating: 0, count: Int(second)))
                }
            }
            #expect(losses.total == 0)
            #expect(paths == ["long", "long_1", "long_2"].map { "\(folder)/\($0).mcap" })
            let files = try paths.map { try content(of: $0) }
            #expect(files.map { $0.filter { $0.topic == "/gnss/fix" }.count } == [10, 10, 5])
            #expect(
                files.map { $0.filter { $0.topic == "/nav/state" }.map(\.data) } == [[[8, 0]], [[8, 0]], [[8, 20]]])
            #expect(files.allSatisfy { $0.first?.topic == "/nav/state" })
        }
    }

    @Test func recordingFollowsARenamedClock() throws {
        try withTemporaryFolder { folder in
            let (losses, paths) = try record(folder + "/a.mcap", { ($0.simTime, $0.clockTopic) = (true, "/sim/clock") })
            {
                publish in
                for second in 0..<3 as Range<Int64> {
                    let now = Self.recorded + second * 1_000_000_000
                    try publish("/sim/clock", Clock.fullName, now, Clock(stampNs: now).encoded())
                    try publish("/gnss/fix", GnssFix.fullName, now, [UInt8(second)])
                }
            }
            #expect(losses.total == 0)
            let messages = try content(of: try #require(paths.first))
            #expect(messages.map(\.topic) == ["/gnss/fix", "/gnss/fix", "/gnss/fix"])
            #expect(messages.map(\.logTime) == (0..<3).map { UInt64(Self.recorded) + $0 * 1_000_000_000 })
        }
    }

    @Test func eachClockEpochHasASeparateFile() throws {
        try withTemporaryFolder { folder in
            let (losses, paths) = try record(folder + "/loop.mcap", { $0.simTime = true }) { publish in
                for step in 0..<20 as Range<Int64> {
                    let now = Self.recorded + step % 10 * 1_000_000_000
                    let clock = Clock(stampNs: now, epoch: UInt32(step / 10))
                    try publish("/clock", Clock.fullName, now, clock.encoded())
                    if step == 3 { try publish("/nav/state", NavigationState.fullName, now, [8, 1]) }
                    try publish("/gnss/fix", GnssFix.fullName, now, [UInt8(step)])
                }
            }
            #expect(losses.total == 0 && paths == ["loop", "loop_1"].map { "\(folder)/\($0).mcap" })
            let files = try paths.map { try content(of: $0) }
            #expect(
                files.map { $0.filter { $0.topic == "/gnss/fix" }.map { $0.data[0] } } == [
                    Array(0..<10), Array(10..<20),
                ])
            // A value of the first epoch does not apply in the second.
            #expect(files.map { $0.count { $0.topic == "/nav/state" } } == [1, 0])
        }
    }

    @Test func filesAreSplitByTheirSize() throws {
        try withTemporaryFolder { folder in
            var random = SeededRandom(seed: 2)
            let (losses, paths) = try record(folder + "/x.mcap", { $0.splitBytes = 2_000_000 }) { publish in
                for index in 0..<60 as Range<Int64> {
                    let noise = (0..<12_500).flatMap { _ in le(random.next()) }
                    try publish("/noise", "test.Noise", index, noise)
                }
            }
            #expect(losses.total == 0 && paths.count == 4)
            #expect(try paths.reduce(0) { $0 + (try content(of: $1)).count } == 60)
            for path in paths { #expect(try Data(contentsOf: URL(fileURLWithPath: path)).count <= 2_100_000) }
        }
    }

    @Test func oldestFilesAreDeletedAtTheQuota() throws {
        try withTemporaryFolder { folder in
            var random = SeededRandom(seed: 3)
            var named: [String] = []
            func record(_ count: Int64, at path: String) throws -> [String] {
                try self.record(path, { $0.quotaBytes = 2_000_000 }, atEnd: { named = $0.keptPaths }) { publish in
                    for index in 0..<count {
                        let noise = (0..<6_250).flatMap { _ in le(random.next()) }
                        try publish("/noise", "test.Noise", index, noise)
                    }
                }.paths
            }
            func files() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: folder).sorted() }
            let foreign = folder + "/x_notes.mcap"
            try Data("hello".utf8).write(to: URL(fileURLWithPath: foreign))
            let paths = try record(100, at: folder + "/x.mcap")
            #expect(paths.count > 20)
            // The recording lists no deleted file.
            #expect(named.count >= 8 && named == paths.filter { FileManager.default.fileExists(atPath: $0) })
            let size = {
                try files().reduce(0) { $0 + (try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\($1)")).count) }
            }
            #expect(try size() <= 2_000_100)
            let last = (try #require(paths.last) as NSString).lastPathComponent
            let kept = try files()
            #expect(kept.contains(last) && kept.contains("x_notes.mcap") && !kept.contains("x.mcap") && kept.count >= 8)
            // A restarted recorder continues after the last file and within the quota.
            let further = try record(5, at: folder + "/x.mcap")
            #expect(further.first.map { !paths.contains($0) } == true)
            #expect(try files().contains(last) && size() <= 2_000_100)
        }
    }

    @Test func eachFileHasTheAttachmentsAndMetadata() throws {
        try withTemporaryFolder { folder in
            let file = folder + "/vehicle.yaml"
            try Data("a: 1".utf8).write(to: URL(fileURLWithPath: file))
            let (_, paths) = try record(
                folder + "/x.mcap", { ($0.splitBytes, $0.attachments, $0.facts) = (100_000, [file], ["version": "9"]) }
            ) { publish in
                var random = SeededRandom(seed: 4)
                for index in 0..<10 as Range<Int64> {
                    try publish("/noise", "test.Noise", index, (0..<6_250).flatMap { _ in le(random.next()) })
                }
            }
            #expect(paths.count > 3)
            for path in paths {
                let reader = try BagReader(path: path)
                let attachment = try reader.attachment(#require(reader.index.attachments.first))
                #expect(attachment.name == "vehicle.yaml" && attachment.mediaType == "application/yaml")
                #expect(attachment.data == Array("a: 1".utf8) && reader.index.attachments.count == 1)
                let facts = reader.index.metadata.filter { $0.name == "navbus.recorder" }
                #expect(try facts.map { try reader.metadata($0).entries } == [["version": "9"]])
            }
            #expect(throws: NodeError.self) { try record(folder + "/y.mcap", { $0.attachments = ["/none"] }) { _ in } }
            #expect(!FileManager.default.fileExists(atPath: folder + "/y.mcap"))
        }
    }

    /// Otherwise each file would have a single message, and the quota would leave only a few files.
    @Test func filesWithALargeAttachmentHaveRoomForMessages() throws {
        try withTemporaryFolder { folder in
            var random = SeededRandom(seed: 5)
            func noise(_ bytes: Int) -> [UInt8] { (0..<bytes / 8).flatMap { _ in le(random.next()) } }
            let file = folder + "/large.bin"
            try Data(noise(150_000)).write(to: URL(fileURLWithPath: file))
            var kept: [String] = []
            // Files are split at 100 kB, less than the attachment.
            let (losses, paths) = try record(
                folder + "/x.mcap", { ($0.quotaBytes, $0.attachments) = (1_000_000, [file]) },
                atEnd: { kept = $0.keptPaths }
            ) { publish in
                for index in 0..<30 as Range<Int64> { try publish("/noise", "test.Noise", index, noise(10_000)) }
            }
            #expect(losses.total == 0 && (5...10).contains(paths.count))
            #expect(try kept.reduce(0) { $0 + (try content(of: $1)).count } >= 10)
            let sizes = try kept.map { try Data(contentsOf: URL(fileURLWithPath: $0)).count }
            #expect(sizes.reduce(0, +) <= 1_000_100)
        }
    }

    @Test func aSnapshotHasTheLastSecondsAndTheLatchedValues() throws {
        try withTemporaryFolder { folder in
            let stand = try RecorderHarness()
            stand.setTime(0)
            let recorder = try recorder(on: stand.network, folder + "/event.mcap") { $0.snapshotSeconds = 10 }
            let state = try stand.speaker.advertise(
                TopicDescription(name: "/nav/state", typeName: NavigationState.fullName, maximumPayloadSize: 100))
            func run(_ seconds: Range<Int64>) throws {
                for second in seconds {
                    stand.setTime(second)
                    if second % 20 == 3 {
                        try stand.speaker.publish([8, 1], on: state, stampNanoseconds: second)
                    }
                    try stand.publish([], at: second, to: recorder)
                }
            }
            try run(0..<30)
            let first = try snapshot(of: recorder, stand.caller)
            #expect(first.path == folder + "/event.mcap" && first.beforeS == 10)
            let content = try content(of: folder + "/event.mcap")
            // Seconds 19 to 29, with the state of second 3 at the beginning and the state of second 23 at its time.
            #expect(content.map(\.topic).filter { $0 == "/gnss/fix" }.count == 11)
            #expect(first.messageCount == UInt64(content.count) && content.first?.topic == "/nav/state")
            #expect(content.filter { $0.topic == "/nav/state" }.count == 2)
            #expect(content.map(\.logTime).min() == UInt64(Self.recorded) + 19_000_000_000)
            let reader = try BagReader(path: folder + "/event.mcap")
            let reasons = try reader.index.metadata.filter { $0.name == "navbus.snapshot" }.map {
                try reader.metadata($0).entries
            }
            #expect(reasons == [["reason": "a bump"]])

            // Messages after the call go into the next snapshot, whose length is the requested one.
            let second = try snapshot(of: recorder, stand.caller, after: 2) { try run(30..<40) }
            #expect(second.path == folder + "/event_1.mcap")
            let last = try NavTestSystem.content(of: folder + "/event_1.mcap").map(\.logTime).max()
            #expect(last == UInt64(Self.recorded) + 31_000_000_000)
            let stop = StopSignal([])
            stop.stop()
            #expect(try recorder.run(until: stop).total == 0 && recorder.paths.count == 2)
        }
    }

    @Test func theTimeAfterASnapshotCountsFromTheCall() throws {
        try withTemporaryFolder { folder in
            let stand = try RecorderHarness()
            let recorder = try recorder(on: stand.network, folder + "/event.mcap") { $0.snapshotSeconds = 60 }
            func publish(at second: Int64) throws {
                stand.setTime(second)
                try stand.publish([UInt8(second)], at: second, to: recorder)
            }
            try publish(at: 1)
            // Seven seconds without messages.
            stand.setTime(8)
            let answer = try snapshot(of: recorder, stand.caller, after: 5) {
                for second in 9..<16 as Range<Int64> { try publish(at: second) }
            }
            #expect(answer.messageCount == 6)
            #expect(try content(of: folder + "/event.mcap").map { $0.data[0] } == [1, 9, 10, 11, 12, 13])
        }
    }

    @Test func onlyTheFirstSnapshotOverwrites() throws {
        try withTemporaryFolder { folder in
            for run in 0..<2 as Range<UInt8> {
                let stand = try RecorderHarness()
                stand.setTime(0)
                let recorder = try recorder(on: stand.network, folder + "/event.mcap") {
                    ($0.snapshotSeconds, $0.overwrite) = (3_600, true)
                }
                let names = [["event", "event_1"], ["event", "event_2"]][Int(run)]
                for (index, name) in names.enumerated() {
                    try stand.publish([run, UInt8(index)], at: 1, to: recorder)
                    #expect(try snapshot(of: recorder, stand.caller).path == "\(folder)/\(name).mcap")
                }
                #expect(recorder.paths.count == 2)
            }
            let contents = try ["event", "event_1", "event_2"].map { name in
                try content(of: "\(folder)/\(name).mcap").filter { $0.topic == "/gnss/fix" }.map(\.data)
            }
            #expect(contents == [[[1, 0]], [[0, 0], [0, 1]], [[1, 0], [1, 1]]])
        }
    }

    private func snapshot(
        of recorder: BagRecorder, _ caller: InProcessBus, after: Double? = nil, while body: () throws -> Void = {}
    ) throws -> SnapshotResponse {
        var answer: Result<SnapshotResponse, CallStatus>?
        let request = SnapshotRequest(reason: "a bump", afterS: after)
        try caller.call(RecorderService.snapshot, request, options: CallOptions(timeout: .seconds(60))) {
            answer = $0
        }
        try recorder.turn(.zero)
        try body()
        while answer == nil {
            try recorder.turn(.milliseconds(1))
            _ = try caller.poll(timeout: .milliseconds(1))
        }
        return try #require(answer).get()
    }

    /// The wall clock is set from 1970 to the present at second 25, and back by a minute at second 28.
    @Test func aSnapshotHasTheLastSecondsWhenTheClockIsSet() throws {
        try withTemporaryFolder { folder in
            let stand = try RecorderHarness()
            let recorder = try recorder(on: stand.network, folder + "/event.mcap") { $0.snapshotSeconds = 10 }
            for second in 0..<30 as Range<Int64> {
                let origin: Int64 = second < 25 ? 0 : second < 28 ? Self.recorded : Self.recorded - 60_000_000_000
                stand.setTime(second, origin: origin)
                try stand.publish([UInt8(second)], at: second, to: recorder)
            }
            let answer = try snapshot(of: recorder, stand.caller)
            #expect(answer.beforeS == 10 && answer.messageCount == 11)
            #expect(try content(of: folder + "/event.mcap").map { $0.data[0] }.sorted() == Array(19...29))
        }
    }

    /// A file with a time limit ends when the clock is set to before its start; otherwise it would never be full.
    @Test func fileIsSplitWhenTheClockIsSetBack() throws {
        try withTemporaryFolder { folder in
            let network = InProcessNetwork(pipeDepth: 100)
            let speaker = try InProcessBus(name: "speaker", network: network)
            let recorder = try recorder(on: network, folder + "/x.mcap") { $0.splitSeconds = 100 }
            let fix = try speaker.advertise(Self.fix)
            for second in [50, 60, 10, 20] as [Int64] {
                network.now.utcNanoseconds = second * 1_000_000_000
                try speaker.publish([], on: fix, stampNanoseconds: second)
                try recorder.turn(.zero)
            }
            let stop = StopSignal([])
            stop.stop()
            #expect(try recorder.run(until: stop).total == 0)
            let seconds = try recorder.paths.map { try content(of: $0).map { $0.logTime / 1_000_000_000 } }
            #expect(seconds == [[50, 60], [10, 20]])
        }
    }

    @Test func fileWithTheGreatestNumberIsNotPartOfTheSeries() throws {
        try withTemporaryFolder { folder in
            try Data().write(to: URL(fileURLWithPath: folder + "/x_\(Int.max).mcap"))
            let (losses, paths) = try record(folder + "/x.mcap") { publish in
                try publish("/gnss/fix", GnssFix.fullName, 1, [])
            }
            #expect(losses.total == 0 && paths == [folder + "/x.mcap"])
        }
    }

    @Test func topicOfAnotherHostHasItsTypeAndPublisher() throws {
        try withTemporaryFolder { folder in
            func node(_ name: String, _ hosts: HostConfiguration) throws -> BusNode {
                // Nodes of different domains are connected over TCP only.
                var configuration = BusConfiguration(directory: try BusDirectory(path: folder, domain: name))
                configuration.hosts = hosts
                return try BusNode(name: name, configuration: configuration)
            }
            let speaker = try node(
                "speaker", HostConfiguration(listen: try TCPEndpoint("tcp://127.0.0.1:0"), security: .insecure))
            defer { speaker.close() }
            let scan = try speaker.advertise(
                TopicDescription(name: "/lidar/scan", typeName: "test.Scan", qos: .latched, maximumPayloadSize: 100))
            try speaker.publish([1], on: scan, stampNanoseconds: 1)
            let peer = HostConfiguration.Peer(endpoint: try #require(speaker.listeningEndpoint), key: nil)
            let bus = try node("recorder", HostConfiguration(peers: [peer], security: .insecure))
            defer { bus.close() }
            let path = folder + "/peer.mcap"
            let recorder = try BagRecorder(
                bus, path: path, options: BagRecorder.Options(),
                directory: try BusDirectory(path: folder, domain: "recorder"),
                log: NodeLog(node: "recorder", level: .critical))
            try until("the message") {
                _ = try speaker.poll(timeout: .milliseconds(2))
                try recorder.turn(.milliseconds(2))
                return recorder.messageCount > 0
            }
            let stop = StopSignal([])
            stop.stop()
            _ = try recorder.run(until: stop)
            let index = try BagReader(path: path).index
            let channel = try #require(index.channels(topic: "/lidar/scan").first)
            #expect(index.schema(channel.schemaID)?.name == "test.Scan")
            #expect(channel.metadata["qos"] == "latched" && channel.metadata["node"] == "speaker")
        }
    }

    private func le(_ value: UInt64) -> [UInt8] { withUnsafeBytes(of: value.littleEndian) { Array($0) } }

    @Test func recordingInSimTimeHasNoSystemTime() throws {
        try withTemporaryFolder { folder in
            let path = folder + "/sim.mcap"
            let wall = Int64(Date().timeIntervalSince1970 * 1e9)
            let file = folder + "/vehicle.yaml"
            try Data("a: 1".utf8).write(to: URL(fileURLWithPath: file))
            let (losses, _) = try record(path, { ($0.simTime, $0.attachments) = (true, [file]) }) { publish in
                // A node that has started and waits for the player.
                try publish("/nav/state", NavigationState.fullName, wall, [8, 1])
                for second in 0..<5 as Range<Int64> {
                    let now = Self.recorded + second * 1_000_000_000
                    try publish("/clock", Clock.fullName, now, Clock(stampNs: now).encoded())
                    try publish("/gnss/fix", GnssFix.fullName, now - 200_000_000, [])
                    try publish("/other", "test.Other", wall + second, [])
                }
            }
            #expect(losses.total == 0)
            let reader = try BagReader(path: path)
            var cursor = reader.messages(BagQuery(order: .file))
            var count = 0
            while let message = try cursor.next() {
                let range = Self.recorded - 200_000_000...Self.recorded + 4_000_000_000
                #expect(range.contains(Int64(message.logTime)) && range.contains(Int64(message.publishTime)))
                count += 1
            }
            #expect(count == 11 && reader.info().duration == 4_000_000_000)
            let times = try reader.index.attachments.map { try reader.attachment($0).logTime }
            #expect(times == [UInt64(Self.recorded)])
        }
    }

    @Test func recordingWithoutAClockUsesTheSystemTime() throws {
        try withTemporaryFolder { folder in
            let path = folder + "/none.mcap"
            let file = folder + "/vehicle.yaml"
            try Data("a: 1".utf8).write(to: URL(fileURLWithPath: file))
            let wall = UInt64(Date().timeIntervalSince1970 * 1e9)
            _ = try record(path, { ($0.simTime, $0.attachments) = (true, [file]) }) { publish in
                for index in 0..<3 as Range<Int64> { try publish("/gnss/fix", GnssFix.fullName, index, []) }
            }
            #expect(try content(of: path).count == 3)
            let reader = try BagReader(path: path)
            let times = try reader.index.attachments.map { try reader.attachment($0).logTime }
            #expect(times.count == 1 && times.allSatisfy { $0 >= wall - 60_000_000_000 })
        }
    }
}
