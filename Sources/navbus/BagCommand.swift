import ArgumentParser
import Foundation
import NavBag
import NavBus
import NavKit
import NavRecording

/// `navbus bag`.
struct BagCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bag", abstract: "Record, play, inspect, cut, convert and compare bags (MCAP).",
        subcommands: [
            BagRecord.self, BagSnapshot.self, BagPlay.self, BagInfoCommand.self, BagCat.self, BagCheckCommand.self,
            BagRecoverCommand.self, BagCut.self, BagFilter.self, BagMerge.self, BagConvert.self, BagDiffCommand.self,
        ])
}

/// `navbus bag record`.
struct BagRecord: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "record", abstract: "Record topics into a bag until Ctrl-C.",
        discussion: """
            The bag can be read at any moment, also after the recorder was killed: what is older than a second is in it. \
            Where FILE.mcap is a bag already, FILE_1.mcap is recorded into, then FILE_2.mcap, and so on. Exit status 1 when \
            anything that was published is not recorded.
            """)

    @Argument(help: "Topics, * stands for any text; all if none is given.") var topics: [String] = []
    @Option(help: ArgumentHelp("The bag to write (.mcap).", valueName: "FILE.mcap")) var out: String
    @Flag(help: "Order the bag by /clock, for a bag that is being played.") var simTime = false
    @Flag(help: "Take part in lockstep playback and record that alone: equal playbacks give equal bytes.")
    var lockstep = false
    @Flag(help: "Replace a bag that is there.") var overwrite = false
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Go on in another file after so many megabytes, 1 to 1000000.", valueName: "MB"))
    var splitMb: Int?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Go on in another file after so many seconds of recorded time.", valueName: "SECONDS"))
    var splitS: Double?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Delete the oldest files of the recording when all take more than so many megabytes, 2 to 100000000.",
            valueName: "MB"))
    var quotaMb: Int?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Keep the last seconds in memory, and write them into a bag at each 'navbus bag snapshot'.",
            valueName: "SECONDS"))
    var snapshot: Double?
    @Option(
        parsing: .unconditional, help: ArgumentHelp("Megabytes of memory for --snapshot, 1 to 100000.", valueName: "MB")
    ) var snapshotMb =
        256
    @Option(
        help: ArgumentHelp("Attach a file, such as a configuration; may be given several times.", valueName: "FILE"))
    var attach: [String] = []
    @OptionGroup var node: BusOptions

    func validate() throws {
        guard splitMb.map((1...1_000_000).contains) ?? true else {
            throw ValidationError("--split-mb must be from 1 to 1000000")
        }
        guard splitS.map((1...1e9).contains) ?? true else { throw ValidationError("--split-s must be from 1 to 1e9") }
        guard quotaMb.map((2...100_000_000).contains) ?? true else {
            throw ValidationError("--quota-mb must be from 2 to 100000000")
        }
        guard quotaMb == nil || (!overwrite && snapshot == nil) else {
            throw ValidationError("--quota-mb cannot be combined with --overwrite or --snapshot")
        }
        guard snapshot.map((0.1...86_400).contains) ?? true, (1...100_000).contains(snapshotMb) else {
            throw ValidationError("--snapshot must be from 0.1 to 86400 seconds, --snapshot-mb from 1 to 100000")
        }
        guard snapshot == nil || !lockstep else {
            throw ValidationError("--snapshot cannot be combined with --lockstep")
        }
    }

    func run() throws {
        let (bus, directory) = try NodeArguments.join(name: node.name ?? "recorder")
        let stop = StopSignal(waking: bus.makeWaker())
        var options = BagRecorder.Options()
        if !topics.isEmpty { options.topics = topics }
        options.simTime = simTime
        options.lockstep = lockstep
        options.overwrite = overwrite
        options.splitBytes = splitMb.map { $0 * 1_000_000 }
        options.splitSeconds = splitS
        options.quotaBytes = quotaMb.map { $0 * 1_000_000 }
        options.snapshotSeconds = snapshot
        options.snapshotBytes = snapshotMb * 1_000_000
        let environment = ProcessInfo.processInfo.environment
        let launchFile = environment["NAVBUS_LAUNCH_FILE"].flatMap {
            FileManager.default.isReadableFile(atPath: $0) ? $0 : nil
        }
        options.attachments = attach + (launchFile.map { [$0] } ?? [])
        options.facts = [
            "version": NavbusVersion.text, "command": CommandLine.arguments.joined(separator: " "),
            "host": ProcessInfo.processInfo.hostName, "started": Date().formatted(.iso8601),
        ]
        let recorder = try BagRecorder(
            bus, path: out, options: options, directory: directory, log: NodeLog(node: bus.name))
        defer { bus.close() }
        let losses = try recorder.run(until: stop)
        let files = recorder.paths.isEmpty ? "no snapshot was asked for" : recorder.paths.joined(separator: ", ")
        print("\(files): \(recorder.messageCount) messages")
        guard losses.total == 0 else {
            throw NodeError(.system, "the recording is not complete: \(losses.text); see 'navbus bag check'")
        }
    }
}

/// `navbus bag play`.
struct BagPlay: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "play", abstract: "Play a bag onto the bus at its pace, or in lockstep with its nodes.",
        discussion: """
            On a terminal: space pauses and goes on, s plays one moment, b goes back one, left and right go 10 s back and on, \
            up and down double and halve the rate, q quits.
            """)

    @Argument(help: "The bag.") var bag: String
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Times as fast as it was recorded, 0.001 to 1000000; 1 unless given, and no limit in lockstep.",
            valueName: "FACTOR")) var rate: Double?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Seconds from the bag's start at which to start.", valueName: "SECONDS")) var start = 0.0
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Seconds from the bag's start at which to end.", valueName: "SECONDS")) var end: Double?
    @Flag(help: "Start over at the end, in another epoch of /clock.") var loop = false
    @Flag(help: "Begin paused.") var paused = false
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Play so many moments, everything up to the next stamp, then pause.", valueName: "COUNT"))
    var step: Int?
    @Flag(help: "Wait after each moment until every node that lives by /clock has handled it.") var lockstep = false
    @Option(
        name: .customLong("wait-for"),
        help: ArgumentHelp(
            "Who takes part in lockstep; every node with sim_time: true at the start unless given.",
            valueName: "NODE,NODE")) var waitFor: String?
    @Option(
        name: .customLong("barrier-timeout"), parsing: .unconditional,
        help: ArgumentHelp("How long a node may take for a moment in lockstep.", valueName: "SECONDS")) var patience =
        30.0
    @Flag(
        name: .customLong("skip-failed"), help: "Go on without a node that dies or does not answer in lockstep.")
    var skipFailed = false
    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp("Topics to play, * stands for any text; all if none is given.", valueName: "TOPIC"))
    var topics: [String] = []
    @Option(
        name: .customLong("as-input"),
        help: ArgumentHelp(
            "Leave out what this node published when the bag was recorded, to feed it again.", valueName: "NODE"))
    var inputOf: String?
    @Flag(help: "Publish /clock with the bag's time.") var clock = false
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The longest stretch of the bag without a message that is waited for; a longer one is jumped.",
            valueName: "SECONDS")) var maxGap = 3_600.0
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "How many subscribers each topic should have before the first message; playing starts without them after --wait.",
            valueName: "COUNT")) var subscribers = 1
    @Option(parsing: .unconditional, help: ArgumentHelp("How long to wait for them, seconds.", valueName: "SECONDS"))
    var wait = 10.0
    @OptionGroup var node: BusOptions

    func validate() throws {
        guard rate.map(BagPlayer.rates.contains) ?? true else {
            throw ValidationError("--rate must be from 0.001 to 1000000")
        }
        guard start >= 0, start <= 1e9, end.map({ $0 >= start && $0 <= 1e9 }) ?? true else {
            throw ValidationError("--start and --end must be seconds, the end not before the start")
        }
        guard maxGap > 0 else { throw ValidationError("--max-gap must be above 0") }
        guard subscribers >= 0, wait >= 0, wait <= 1e6 else {
            throw ValidationError("--subscribers and --wait must be at least 0")
        }
        guard patience > 0, patience <= 1e6 else { throw ValidationError("--barrier-timeout must be above 0") }
        guard lockstep || (waitFor == nil && !skipFailed) else {
            throw ValidationError("--wait-for and --skip-failed need --lockstep")
        }
        if let step, step < 1 { throw ValidationError("--step must be at least 1") }
    }

    func run() throws {
        let (bus, directory) = try NodeArguments.join(name: node.name ?? "player")
        defer { bus.close() }
        let stop = StopSignal(waking: bus.makeWaker())
        var options = BagPlayer.Options()
        options.rate = rate
        options.start = start
        options.end = end
        options.loop = loop
        if !topics.isEmpty { options.topics = topics }
        options.inputOf = inputOf
        options.remaps = try node.remaps()
        options.clock = clock
        options.longestGap = maxGap
        options.subscribers = subscribers
        options.wait = wait
        options.lockstep = lockstep
        options.participants = waitFor.map { $0.split(separator: ",").map(String.init) } ?? []
        options.patience = patience
        options.leavesOutFailed = skipFailed
        let control = PlayerControl(
            isPaused: paused || step != nil, steps: step ?? 0, waking: bus.makeWaker())
        let player = try BagPlayer(
            bus, path: bag, options: options, control: control, directory: directory, stop: stop,
            log: NodeLog(node: bus.name))
        let keys = PlayerKeys(control, stop, waking: bus.makeWaker())
        defer { keys?.end() }
        let bar = ProgressBar()
        try player.run { player in
            let rate = player.rate.map { $0 == 1 ? "" : ", \(Format.decimal($0, $0 < 1 ? 3 : 1)) times" } ?? ""
            bar.show(
                player.progress,
                "\(Format.seconds(player.played)) of \(Format.seconds(player.duration)), \(player.messageCount) messages"
                    + rate + (player.isPaused ? ", paused" : ""))
        }
        bar.finish()
        print("\(bag): \(player.messageCount) messages played")
    }
}

/// `navbus bag info`.
struct BagInfoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "info", abstract: "Say what a bag holds.")

    @Argument(help: "The bag.") var bag: String
    @Flag(help: "Print JSON.") var json = false

    private struct Document: Encodable {
        var duration_s: Double
        var messages: UInt64?
        var start_ns: UInt64?
        var end_ns: UInt64?
        var bytes: Int
        var topics: [Topic]
    }

    private struct Topic: Encodable {
        var topic: String
        var type: String
        var messages: UInt64?
    }

    func run() throws {
        let info: BagInfo
        let origin: BagIndex.Origin
        do throws(BagError) {
            let reader = try BagReader(path: bag)
            info = reader.info()
            origin = reader.index.origin
        } catch {
            throw NodeError(.invalid, error.description)
        }
        // Each publisher of a topic has a channel.
        var topics: [Topic] = []
        for channel in info.channels {
            if let last = topics.last, last.topic == channel.channel.topic, last.type == channel.schemaName {
                topics[topics.count - 1].messages = last.messages.flatMap { sum in
                    channel.messageCount.map { sum &+ $0 }
                }
            } else {
                topics.append(
                    Topic(
                        topic: channel.channel.topic, type: channel.schemaName, messages: channel.messageCount))
            }
        }
        if json {
            print(
                try navbus.json(
                    Document(
                        duration_s: Double(info.duration) * 1e-9, messages: info.messageCount,
                        start_ns: info.timeRange?.lowerBound, end_ns: info.timeRange?.upperBound, bytes: info.fileBytes,
                        topics: topics)))
            return
        }
        let duration = String(format: "%.1f", Double(info.duration) * 1e-9)
        print("\(bag): \(info.messageCount.map { "\($0)" } ?? "?") messages, \(duration) s, \(info.fileBytes) bytes")
        if let range = info.timeRange {
            let format = ISO8601DateFormatter()
            print(
                "from \(format.string(from: Date(timeIntervalSince1970: Double(range.lowerBound) * 1e-9))) to \(format.string(from: Date(timeIntervalSince1970: Double(range.upperBound) * 1e-9)))"
            )
        }
        for packing in info.packings {
            let name = packing.compression.isEmpty ? "uncompressed" : packing.compression
            print("\(packing.chunkCount) chunks, \(name), ratio " + String(format: "%.1f", packing.ratio))
        }
        if case .scan(let ending, _) = origin {
            print("note: the bag has no usable index (\(ending)); it was read through")
            print("      'navbus bag recover' makes a bag with an index of it")
        }
        let width = topics.map(\.topic.count).max() ?? 0
        for topic in topics {
            print(
                "  \(topic.topic.padding(toLength: width, withPad: " ", startingAt: 0))  \(topic.messages.map { "\($0)" } ?? "?")\t\(topic.type)"
            )
        }
    }
}
