import CCurl
import Glibc

/// How a server is spoken to, whatever is asked.
struct WebManners: Sendable {
    /// Seconds to open a connection.
    var connectTimeout: Double
    /// A file of certificates that are trusted instead of the machine's.
    var authorities: String?
    /// Whether libcurl can speak TLS: without, nothing is said to it that has to do with that.
    var hasTLS: Bool
}

/// A handle of libcurl for one exchange after the other.
///
/// What C calls with its address is called only while libcurl works on the handle, and that it does only for its owner.
final class WebHandle {
    let easy: UnsafeMutableRawPointer
    /// What is under way.
    private(set) var exchange: WebExchange?
    private let clock = DownloadClock.system
    /// Where libcurl says what is wrong.
    private let reason: UnsafeMutablePointer<CChar>
    private var list: UnsafeMutablePointer<curl_slist>?
    private var lines: [String] = []

    /// Fails with ``TileSourceError/Code/configuration`` when libcurl refuses an option, and with
    /// ``TileSourceError/Code/system`` when there is no memory.
    init(_ manners: WebManners) throws(TileSourceError) {
        errno = 0
        guard let easy = curl_easy_init() else { throw WebLibrary.exhausted("begin") }
        self.easy = easy
        let size = Int(CURL_ERROR_SIZE)
        reason = .allocate(capacity: size)
        reason.initialize(repeating: 0, count: size)
        try set(manners)
        try setCallbacks()
    }

    deinit {
        curl_easy_cleanup(easy)
        curl_slist_free_all(list)
        reason.deallocate()
    }

    private func set(_ manners: WebManners) throws(TileSourceError) {
        let milliseconds = Int(max(manners.connectTimeout, 0.001) * 1_000)
        let numbers: [(CURLoption, Int)] = [
            (CURLOPT_NOSIGNAL, 1), (CURLOPT_CONNECTTIMEOUT_MS, milliseconds),
            // Where a server sends elsewhere is decided by us.
            (CURLOPT_FOLLOWLOCATION, 0), (CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1)),
            // The address is asked for as it is shown.
            (CURLOPT_PATH_AS_IS, 1), (CURLOPT_BUFFERSIZE, 32_768), (CURLOPT_NETRC, 0),
        ]
        let secure: [(CURLoption, Int)] = [
            (CURLOPT_SSL_VERIFYPEER, 1), (CURLOPT_SSL_VERIFYHOST, 2),
            (CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2)),
        ]
        var texts: [(CURLoption, String?)] = [
            // Else the environment could send everything through another server.
            (CURLOPT_PROXY, ""), (CURLOPT_NOPROXY, "*"), (CURLOPT_USERAGENT, "navbus"),
        ]
        if manners.hasTLS, let file = manners.authorities { texts += [(CURLOPT_CAINFO, file), (CURLOPT_CAPATH, nil)] }
        for (option, number) in numbers + (manners.hasTLS ? secure : []) {
            try WebLibrary.require(option, navbus_curl_set_number(easy, option, number))
        }
        for (option, text) in texts { try WebLibrary.require(option, navbus_curl_set_text(easy, option, text)) }
        try WebLibrary.require(
            navbus_curl_protocols, navbus_curl_speak_http_only(easy, manners.hasTLS ? 1 : 0))
        try WebLibrary.require(navbus_curl_resolver, navbus_curl_leave_resolver(easy))
    }

    private func setCallbacks() throws(TileSourceError) {
        let context = Unmanaged.passUnretained(self).toOpaque()
        let takeLine: navbus_curl_take = { bytes, size, count, context in
            WebHandle.take(bytes, size, count, context) { $0.takeLine($1) ? $1.count : -1 }
        }
        let takePart: navbus_curl_take = { bytes, size, count, context in
            WebHandle.take(bytes, size, count, context) { $0.takePart($1) }
        }
        let begin: navbus_curl_begin = { context, _, _, _, _ in
            WebHandle.handle(context)?.noteSent()
            return CURL_PREREQFUNC_OK
        }
        try WebLibrary.require(CURLOPT_ERRORBUFFER, navbus_curl_set_errors(easy, reason))
        for (option, take) in [(CURLOPT_HEADERFUNCTION, takeLine), (CURLOPT_WRITEFUNCTION, takePart)] {
            try WebLibrary.require(option, navbus_curl_set_take(easy, option, take))
        }
        try WebLibrary.require(CURLOPT_PREREQFUNCTION, navbus_curl_set_begin(easy, begin))
        for option in [CURLOPT_HEADERDATA, CURLOPT_WRITEDATA, CURLOPT_PREREQDATA] {
            try WebLibrary.require(option, navbus_curl_set_pointer(easy, option, context))
        }
    }

    private static func handle(_ context: UnsafeMutableRawPointer?) -> WebHandle? {
        context.map { Unmanaged<WebHandle>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Gives bytes from libcurl to a handle; the count that libcurl understands: all, a pause, or any other to break off.
    private static func take(
        _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?,
        _ give: (WebHandle, UnsafeBufferPointer<UInt8>) -> Int
    ) -> Int {
        let (total, isTooMany) = size.multipliedReportingOverflow(by: count)
        guard let handle = handle(context), let bytes, !isTooMany, total >= 0 else { return -1 }
        return bytes.withMemoryRebound(to: UInt8.self, capacity: total) {
            give(handle, UnsafeBufferPointer(start: $0, count: total))
        }
    }

    private func noteSent() { exchange?.pace.noteSent(at: clock.now()) }

    private func takeLine(_ line: UnsafeBufferPointer<UInt8>) -> Bool {
        exchange?.takeLine(line, status: { navbus_curl_status(easy) }, at: clock.now) ?? false
    }

    private func takePart(_ bytes: UnsafeBufferPointer<UInt8>) -> Int {
        guard let exchange else { return -1 }
        // It comes again when the pause ends.
        if exchange.ticket != nil { return Int(CURL_WRITEFUNC_PAUSE) }
        return exchange.takePart(bytes, at: clock.now()) ? bytes.count : -1
    }

    // What its owner does.

    /// Takes an exchange on; false when libcurl refuses.
    func begin(_ exchange: WebExchange) -> Bool {
        self.exchange = exchange
        if exchange.lines != lines {
            lines = exchange.lines
            _ = navbus_curl_set_lines(easy, nil)
            curl_slist_free_all(list)
            list = nil
            for line in lines {
                guard let longer = curl_slist_append(list, line) else { return false }
                list = longer
            }
        }
        reason[0] = 0
        let isHead = exchange.question.method == .head
        return navbus_curl_set_lines(easy, list) == CURLE_OK
            && navbus_curl_set_number(easy, isHead ? CURLOPT_NOBODY : CURLOPT_HTTPGET, 1) == CURLE_OK
            && navbus_curl_set_text(easy, CURLOPT_URL, exchange.question.address.text) == CURLE_OK
    }

    /// Gives its exchange away.
    func leave() -> WebExchange? { exchange.take() }

    /// Lets what was paused come; an error when it is not taken.
    func goOn() -> CURLcode { curl_easy_pause(easy, CURLPAUSE_CONT) }

    /// What libcurl says of an error.
    func reason(of code: CURLcode) -> String {
        String(cString: reason[0] == 0 ? curl_easy_strerror(code) : UnsafePointer(reason))
    }
}
