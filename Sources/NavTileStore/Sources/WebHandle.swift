import CCurl

/// How a server is spoken to, whatever is asked.
struct WebManners: Sendable {
    /// Seconds to open a connection.
    var connectTimeout: Double
    /// A file of certificates that are trusted instead of the machine's.
    var authorities: String?
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

    /// Nil when libcurl has no memory, or refuses an option.
    init?(_ manners: WebManners) {
        guard let easy = curl_easy_init() else { return nil }
        self.easy = easy
        let size = Int(CURL_ERROR_SIZE)
        reason = .allocate(capacity: size)
        reason.initialize(repeating: 0, count: size)
        guard set(manners), setCallbacks() else { return nil }
    }

    deinit {
        curl_easy_cleanup(easy)
        curl_slist_free_all(list)
        reason.deallocate()
    }

    private func set(_ manners: WebManners) -> Bool {
        let milliseconds = Int(max(manners.connectTimeout, 0.001) * 1_000)
        let numbers: [(CURLoption, Int)] = [
            (CURLOPT_NOSIGNAL, 1), (CURLOPT_CONNECTTIMEOUT_MS, milliseconds),
            // Where a server sends elsewhere is decided by us.
            (CURLOPT_FOLLOWLOCATION, 0), (CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1)),
            // The address is asked for as it is shown.
            (CURLOPT_PATH_AS_IS, 1), (CURLOPT_BUFFERSIZE, 32_768), (CURLOPT_NETRC, 0),
            (CURLOPT_SSL_VERIFYPEER, 1), (CURLOPT_SSL_VERIFYHOST, 2),
            (CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2)),
        ]
        guard numbers.allSatisfy({ navbus_curl_set_number(easy, $0.0, $0.1) == CURLE_OK }),
            navbus_curl_speak_http_only(easy) == CURLE_OK, navbus_curl_leave_resolver(easy) == CURLE_OK,
            // Else the environment could send everything through another server.
            navbus_curl_set_text(easy, CURLOPT_PROXY, "") == CURLE_OK,
            navbus_curl_set_text(easy, CURLOPT_NOPROXY, "*") == CURLE_OK,
            navbus_curl_set_text(easy, CURLOPT_USERAGENT, "navbus") == CURLE_OK
        else { return false }
        guard let file = manners.authorities else { return true }
        return navbus_curl_set_text(easy, CURLOPT_CAINFO, file) == CURLE_OK
            && navbus_curl_set_text(easy, CURLOPT_CAPATH, nil) == CURLE_OK
    }

    private func setCallbacks() -> Bool {
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
        return navbus_curl_set_errors(easy, reason) == CURLE_OK
            && navbus_curl_set_take(easy, CURLOPT_HEADERFUNCTION, takeLine) == CURLE_OK
            && navbus_curl_set_take(easy, CURLOPT_WRITEFUNCTION, takePart) == CURLE_OK
            && navbus_curl_set_begin(easy, begin) == CURLE_OK
            && [CURLOPT_HEADERDATA, CURLOPT_WRITEDATA, CURLOPT_PREREQDATA].allSatisfy {
                navbus_curl_set_pointer(easy, $0, context) == CURLE_OK
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
