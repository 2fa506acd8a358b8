import Glibc
import NavBus
import NavGNSS
import NavGeo
package import NavKit
import NavMessages
import NavRecording

/// The node of the GNSS receiver, which publishes the fixes of gpsd, a device or a file as `/gnss/fix`.
package final class GNSSNode: Node {
    /// The node's default name.
    package static let defaultName = "gnss-node"
    package static let summary =
        "Publishes the fixes of a GNSS receiver: gpsd, a device with NMEA 0183 or UBX, or a recorded file."

    private let context: NodeContext
    private var configuration: GNSSConfiguration
    private let source: GNSSConfiguration.Source
    private let rejected: NodeCounter
    private let overrun: NodeCounter
    private var reader: SourceReader?
    private var trace: TraceInput?
    /// The fixes of the file, from the next one to publish.
    private var fixes: RecordedFixes.Reader?
    private var playback: Playback?
    private var problem: String?
    private var published: UInt64 = 0
    private var lastFix: Int64?
    /// The moment of the node's activation, ns.
    private var activatedAt: Int64 = 0

    /// The longest tolerated silence of a receiver, ns; the same as for a GNSS outage.
    private static let toleratedSilence: Int64 = 2_500_000_000

    /// The most fixes of a file, whose stamps are kept in memory.
    private static let mostFixes = 5_000_000

    /// Checks the source, and reads it if it is a file.
    package init(configuration: GNSSConfiguration, context: NodeContext) throws(NodeError) {
        guard let source = configuration.source else {
            throw NodeError(.usage, GNSSConfiguration.missingSource)
        }
        self.context = context
        self.configuration = configuration
        self.source = source
        rejected = context.counter("input_rejected")
        overrun = context.counter("input_overrun")
        if case .path(let path) = source {
            guard let kind = ByteStream.kind(of: path) else {
                throw NodeError(.missing, "source '\(path)' does not exist")
            }
            guard kind != S_IFDIR else {
                throw NodeError(
                    .usage,
                    "source '\(path)' is a folder; give a device or a file, or convert a ROS 2 bag with "
                        + "'navbus bag convert \(path) --out FILE.mcap' first")
            }
            if kind == S_IFREG {
                let trace = try TraceInput(path: path)
                if let warning = trace.warning(about: path) { context.log.warning("\(warning)") }
                guard trace.fixes.count <= GNSSNode.mostFixes else {
                    throw NodeError(
                        .invalid,
                        "source '\(path)' has more than \(GNSSNode.mostFixes) fixes: play it with 'navbus bag play', or take "
                            + "a part of it with 'navbus bag cut'")
                }
                rejected.add(trace.rejected.reduce(0) { $0 + $1.count })
                self.trace = trace
            }
        }
        try context.advertise([Topics.gnssFix])
    }

    /// Starts reading the source or playing the file.
    package func activate() throws(NodeError) {
        activatedAt = Clocks.monotonic()
        if let trace {
            context.log.info("playing \(trace.fixes.count) fixes of '\(source.text)' at rate \(configuration.rate)")
            if context.subscriberCount(of: Topics.gnssFix) == 0 {
                context.log.info("waiting up to 10 s for a subscriber")
            }
            var stamps: [Int64?] = []
            try trace.fixes.forEach { stamps.append($0.stampNs) }
            let timeless = stamps.count { $0 == nil }
            if timeless > 0 {
                context.log.warning(
                    "\(timeless) of \(stamps.count) fixes have no time: each is played 1 s after the one before")
            }
            playback = Playback(
                stamps: stamps, rate: configuration.rate, loops: configuration.loop)
            return
        }
        let baud = configuration.baud
        switch source {
        case .gpsd(let host, let port):
            start(GPSDParser(), name: "gpsd at \(host):\(port)") { isWanted throws(NodeError) in
                let stream = try ByteStream.connect(host: host, port: port, timeout: 5, while: isWanted)
                try stream.send(GPSDParser.handshake)
                return stream
            }
        case .path(let path):
            start(SerialParser(NMEAParser(epochEnd: .learned)), name: "'\(path)'") { _ throws(NodeError) in
                try ByteStream.serial(path: path, baud: baud)
            }
        }
    }

    private func start<Parser: StreamParser & Sendable>(
        _ parser: Parser, name: String,
        open: @escaping @Sendable (_ isWanted: () -> Bool) throws(NodeError) -> ByteStream
    ) {
        let reader = SourceReader(
            name: name, longestPause: configuration.retryMaximum, log: context.log.part("source"),
            waker: context.makeWaker())
        reader.start(parser, open: open)
        self.reader = reader
    }

    package func deactivate() {
        reader?.stop()
        (reader, playback, fixes, problem, lastFix) = (nil, nil, nil, nil, nil)
    }

    /// Publishes the fixes that have arrived or are due.
    package func turn(_ now: Int64) -> Int64 {
        if let reader {
            let news = reader.take()
            for fix in news.fixes { publish(fix) }
            problem = news.problem
            rejected.set(news.rejected)
            overrun.set(news.overrun)
            return .max
        }
        while let step = playback?.step(now, hasSubscriber: context.subscriberCount(of: Topics.gnssFix) > 0) {
            switch step {
            case .publish(let index):
                // A fix of a file keeps its recorded times: the current time says nothing about its latency.
                guard let fix = fix(at: index) else {
                    playback = nil
                    context.finish()
                    break
                }
                publish(fix)
            case .jump(let gap):
                context.log.info("the file has no fix for \(gap / 3_600_000_000_000) h: skipping the gap")
            case .wait(let moment): return moment
            case .end:
                playback = nil
                context.finish()
            }
        }
        return .max
    }

    /// Returns the next fix of the file; `index` starts at 0 and increases with each call. Nil when the file can no
    /// longer be read.
    private func fix(at index: Int) -> GnssFix? {
        do {
            if index == 0 || fixes == nil, let trace { fixes = try RecordedFixes.Reader(trace.fixes) }
            if let fix = try fixes?.next() { return fix }
            context.log.error("'\(source.text)' has changed and is not played further: restart '\(context.name)'")
        } catch {
            context.log.error("'\(source.text)' can no longer be read: \(error)")
        }
        return nil
    }

    /// Applies the live parameters: the receiver's name in fixes, the rate of a file, the pause between attempts.
    package func reconfigure(_ configuration: GNSSConfiguration) {
        self.configuration = configuration
        reader?.setLongestPause(configuration.retryMaximum)
        if configuration.rate != playback?.rate { playback?.setRate(configuration.rate, at: Clocks.monotonic()) }
    }

    /// Returns the findings about an unreachable or silent source.
    package func findings(_ now: Int64) -> [HealthFinding] {
        var findings: [HealthFinding] = []
        if let problem { findings.append(HealthFinding("source_unreachable", problem, severity: .lost)) }
        let last = lastFix ?? (reader == nil || problem != nil ? nil : activatedAt)
        if let last, now - last > GNSSNode.toleratedSilence {
            let seconds = (now - last) / 1_000_000_000
            let what = lastFix == nil ? "no fix yet from" : "no fix from"
            var advice = ""
            if lastFix == nil, case .gpsd = source {
                advice = ": check that it is gpsd and that a receiver is connected to it (gpsmon)"
            } else if lastFix == nil {
                advice =
                    ": check its power, its antenna and 'serial.baud'; it must send NMEA 0183, or UBX NAV-PVT or NAV-SOL"
            } else if reader != nil {
                advice = ": check the receiver's power, its antenna and its connection"
            }
            findings.append(
                HealthFinding(
                    "fix_stale", "\(what) \(source.text) for \(seconds) s\(advice)", severity: .lost,
                    isLogged: reader != nil))
        }
        return findings
    }

    package func finish() {
        reader?.stop()
        context.log.info("\(published) fixes published")
    }

    private func publish(_ fix: GnssFix) {
        var fix = fix
        if !configuration.receiver.isEmpty { fix.source = configuration.receiver }
        // Fixes of several receivers on one topic are distinguished by their source or frame.
        if fix.frameId == nil, fix.source == nil { fix.source = context.name }
        context.publish(
            fix, on: Topics.gnssFix, stamp: fix.stampNs.map { NavGeo.Timestamp(nanoseconds: $0) } ?? context.stamp)
        published += 1
        lastFix = Clocks.monotonic()
        if published == 1 { context.log.info("first fix published") }
    }
}
