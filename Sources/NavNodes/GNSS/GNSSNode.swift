import NavBus
import NavGNSS
import NavGeo
import NavMessages

/// The receiver's node: publishes what gpsd, a device or a file says as `/gnss/fix`.
public final class GNSSNode {
    private let link: NodeLink
    private let log: NodeLog
    private let configuration: GNSSConfiguration
    private let source: GNSSConfiguration.Source
    private var published: UInt64 = 0
    private var rejected = 0
    private var lastFix: MonotonicInstant?
    private var problem: String?
    private var nextHealth = MonotonicInstant(nanoseconds: 0)

    /// Joins the bus.
    public init(link: NodeLink, configuration: GNSSConfiguration, log: NodeLog) throws(NodeError) {
        guard let source = configuration.source else {
            throw NodeError(.usage, "no source: give --set source=gpsd://localhost:2947, a device or a file")
        }
        self.link = link
        self.configuration = configuration
        self.source = source
        self.log = log
        try link.advertise(["/gnss/fix", TopicCatalogue.health(of: link.bus.name)])
    }

    /// Publishes until the source's end (of a file) or until `stop` is set.
    public func run(until stop: StopSignal) throws(NodeError) {
        switch source {
        case .gpsd(let host, let port):
            try keepReading(stop, GPSDParser(), name: "gpsd at \(host):\(port)") { () throws(NodeError) in
                let stream = try ByteStream.connect(host: host, port: port, timeout: 5) { !stop.isStopped }
                try stream.send(GPSDParser.handshake)
                return stream
            }
        case .path(let path):
            guard let isFile = ByteStream.isRegularFile(path) else {
                throw NodeError(.missing, "source '\(path)' does not exist")
            }
            if isFile {
                try playFile(path, stop)
            } else {
                let baud = configuration.baud
                try keepReading(stop, NMEAParser(configuration: .init(epochEnd: .learned)), name: "'\(path)'") {
                    () throws(NodeError) in
                    try ByteStream.serial(path: path, baud: baud)
                }
            }
        }
        log.info("\(published) fixes published")
    }

    // MARK: Streams

    private func keepReading<Parser: StreamParser>(
        _ stop: StopSignal, _ parser: Parser, name: String, open: () throws(NodeError) -> ByteStream
    ) throws(NodeError) {
        let shortest = min(1, configuration.retryMaximum)
        var pause = shortest
        while !stop.isStopped {
            let before = published
            do throws(NodeError) {
                let stream = try open()
                log.info("reading \(name)")
                problem = nil
                try read(stream, parser, stop, name)
            } catch {
                if problem != error.description, !stop.isStopped { log.warning("\(error); trying again") }
                problem = error.description
            }
            if published > before { pause = shortest }
            try rest(pause, stop)
            pause = min(pause * 2, configuration.retryMaximum)
        }
    }

    private func read<Parser: StreamParser>(
        _ stream: ByteStream, _ parser: Parser, _ stop: StopSignal, _ name: String
    ) throws(NodeError) {
        var parser = parser
        while !stop.isStopped {
            switch stream.read(milliseconds: 100) {
            case .bytes(let bytes): for fix in parser.consume(bytes) { publish(fix) }
            case .nothing: break
            case .ended(let reason):
                for fix in parser.finish() { publish(fix) }
                throw NodeError(.system, "\(name): \(reason)")
            }
            rejected = parser.rejections.total
            try serve(.zero)
        }
    }

    private func rest(_ seconds: Double, _ stop: StopSignal) throws(NodeError) {
        let end = MonotonicClock.now() + Duration(clampingSeconds: seconds)
        while !stop.isStopped, MonotonicClock.now() < end { try serve(.milliseconds(50)) }
    }

    // MARK: Files

    private func playFile(_ path: String, _ stop: StopSignal) throws(NodeError) {
        let trace = try TraceInput(path: path)
        rejected = trace.rejected.reduce(0) { $0 + $1.count }
        log.info("playing \(trace.fixes.count) fixes of '\(path)' at rate \(configuration.rate)")
        let deadline = MonotonicClock.now() + .seconds(10)
        if link.subscriberCount(of: "/gnss/fix") == 0 { log.info("waiting up to 10 s for a subscriber") }
        while !stop.isStopped, link.subscriberCount(of: "/gnss/fix") == 0, MonotonicClock.now() < deadline {
            try serve(.milliseconds(20))
        }
        repeat {
            let begin = MonotonicClock.now()
            let first = trace.fixes.lazy.compactMap(\.stampNs).first ?? 0
            for fix in trace.fixes {
                guard !stop.isStopped else { return }
                let span = Pace.nanoseconds(from: first, to: fix.stampNs ?? first, rate: configuration.rate)
                let due = begin + .nanoseconds(span)
                while !stop.isStopped, MonotonicClock.now() < due {
                    try serve(min(due - MonotonicClock.now(), .milliseconds(100)))
                }
                publish(fix)
            }
        } while configuration.loop && !stop.isStopped
        try rest(1, stop)
    }

    // MARK: Bus

    private func publish(_ fix: GnssFix) {
        var fix = fix
        if !configuration.receiver.isEmpty { fix.source = configuration.receiver }
        if fix.receiveStampNs == nil { fix.receiveStampNs = WallClock.now().nanoseconds }
        if fix.receiveMonotonicNs == nil { fix.receiveMonotonicNs = MonotonicClock.now().nanoseconds }
        link.publish(fix, on: "/gnss/fix", stamp: fix.stampNs.map { NavGeo.Timestamp(nanoseconds: $0) } ?? WallClock.now())
        published += 1
        lastFix = MonotonicClock.now()
        if published == 1 { log.info("first fix published") }
    }

    private func serve(_ timeout: Duration) throws(NodeError) {
        do throws(BusError) {
            _ = try link.bus.poll(timeout: timeout)
        } catch {
            throw NodeError(.system, error.description)
        }
        let now = MonotonicClock.now()
        guard now >= nextHealth else { return }
        nextHealth = now + .seconds(1)
        var reasons: [HealthReason] = []
        if let problem { reasons.append(HealthReason(code: "source.unreachable", message: problem)) }
        if let lastFix, now - lastFix > .milliseconds(2_500) {
            reasons.append(HealthReason(code: "gnss.stale", message: "no fix for \((now - lastFix).components.seconds) s"))
        }
        link.publishHealth(
            reasons: reasons, counters: [Counter(name: "input.rejected", value: UInt64(clamping: rejected))])
    }
}

/// A parser that takes bytes as they come.
protocol StreamParser {
    var rejections: RejectionCounts { get }
    mutating func consume(_ bytes: [UInt8]) -> [GnssFix]
    mutating func finish() -> [GnssFix]
}

extension NMEAParser: StreamParser {}
extension GPSDParser: StreamParser {}
