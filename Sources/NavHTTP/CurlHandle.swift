import CCurl
import Glibc

/// An easy handle of libcurl, reused for successive exchanges.
///
/// libcurl calls back with the handle's address, but only while its owner runs libcurl.
final class CurlHandle {
    let easy: UnsafeMutableRawPointer
    private(set) var exchange: HTTPExchange?
    /// The buffer for libcurl's error texts.
    private let reason: UnsafeMutablePointer<CChar>
    private var list: UnsafeMutablePointer<curl_slist>?
    private var lines: [String] = []

    /// Fails with ``HTTPError/Code/configuration`` when libcurl refuses an option, and with ``HTTPError/Code/system`` when
    /// there is no memory.
    init(_ configuration: HTTPConfiguration) throws(HTTPError) {
        errno = 0
        guard CurlLibrary.isReady, let easy = curl_easy_init() else { throw CurlLibrary.exhausted("start") }
        self.easy = easy
        let size = Int(CURL_ERROR_SIZE)
        reason = .allocate(capacity: size)
        reason.initialize(repeating: 0, count: size)
        try set(configuration)
        try setCallbacks()
    }

    deinit {
        curl_easy_cleanup(easy)
        curl_slist_free_all(list)
        reason.deallocate()
    }

    private func set(_ configuration: HTTPConfiguration) throws(HTTPError) {
        let hasTLS = configuration.library.hasTLS
        let milliseconds = Int(max(configuration.limits.connectTimeout, 0.001) * 1_000)
        let numbers: [(CURLoption, Int)] = [
            (CURLOPT_NOSIGNAL, 1), (CURLOPT_CONNECTTIMEOUT_MS, milliseconds),
            // Redirects are handled by the client.
            (CURLOPT_FOLLOWLOCATION, 0), (CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1)),
            // The path is requested exactly as messages show it.
            (CURLOPT_PATH_AS_IS, 1), (CURLOPT_BUFFERSIZE, 32_768), (CURLOPT_NETRC, 0),
            // A proxy's response to CONNECT is not the server's response.
            (CURLOPT_SUPPRESS_CONNECT_HEADERS, 1),
        ]
        let secure: [(CURLoption, Int)] = [
            (CURLOPT_SSL_VERIFYPEER, 1), (CURLOPT_SSL_VERIFYHOST, 2),
            (CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2)),
        ]
        var texts: [(CURLoption, String?)] = [
            // Otherwise the environment could send all requests through a proxy.
            (CURLOPT_PROXY, configuration.proxy ?? ""), (CURLOPT_NOPROXY, configuration.proxy == nil ? "*" : ""),
            (CURLOPT_USERAGENT, "navbus"),
        ]
        if hasTLS, let file = configuration.authorities { texts += [(CURLOPT_CAINFO, file), (CURLOPT_CAPATH, nil)] }
        for (option, number) in numbers + (hasTLS ? secure : []) {
            try CurlLibrary.require(option, navbus_curl_set_number(easy, option, number))
        }
        for (option, text) in texts { try CurlLibrary.require(option, navbus_curl_set_text(easy, option, text)) }
        try CurlLibrary.require(navbus_curl_protocols, navbus_curl_speak_http_only(easy, hasTLS ? 1 : 0))
        try CurlLibrary.require(navbus_curl_resolver, navbus_curl_leave_resolver(easy))
    }

    private func setCallbacks() throws(HTTPError) {
        let context = Unmanaged.passUnretained(self).toOpaque()
        let takeLine: navbus_curl_take = { bytes, size, count, context in
            CurlHandle.take(bytes, size, count, context) { $0.takeLine($1) ? $1.count : -1 }
        }
        let takePart: navbus_curl_take = { bytes, size, count, context in
            CurlHandle.take(bytes, size, count, context) { $0.takePart($1) }
        }
        let begin: navbus_curl_begin = { context, _, _, _, _ in
            CurlHandle.handle(context)?.noteSent()
            return CURL_PREREQFUNC_OK
        }
        try CurlLibrary.require(CURLOPT_ERRORBUFFER, navbus_curl_set_errors(easy, reason))
        for (option, take) in [(CURLOPT_HEADERFUNCTION, takeLine), (CURLOPT_WRITEFUNCTION, takePart)] {
            try CurlLibrary.require(option, navbus_curl_set_take(easy, option, take))
        }
        try CurlLibrary.require(CURLOPT_PREREQFUNCTION, navbus_curl_set_begin(easy, begin))
        for option in [CURLOPT_HEADERDATA, CURLOPT_WRITEDATA, CURLOPT_PREREQDATA] {
            try CurlLibrary.require(option, navbus_curl_set_pointer(easy, option, context))
        }
    }

    private static func handle(_ context: UnsafeMutableRawPointer?) -> CurlHandle? {
        context.map { Unmanaged<CurlHandle>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Passes bytes from libcurl to a handle; returns their count to continue, a pause, or any other number to cancel.
    private static func take(
        _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?,
        _ give: (CurlHandle, UnsafeBufferPointer<UInt8>) -> Int
    ) -> Int {
        let (total, isTooMany) = size.multipliedReportingOverflow(by: count)
        guard let handle = handle(context), let bytes, !isTooMany, total >= 0 else { return -1 }
        return bytes.withMemoryRebound(to: UInt8.self, capacity: total) {
            give(handle, UnsafeBufferPointer(start: $0, count: total))
        }
    }

    private func noteSent() { exchange?.pace.noteSent(at: Monotonic.now()) }

    private func takeLine(_ line: UnsafeBufferPointer<UInt8>) -> Bool {
        exchange?.takeLine(line, status: { navbus_curl_status(easy) }, at: Monotonic.now) ?? false
    }

    private func takePart(_ bytes: UnsafeBufferPointer<UInt8>) -> Int {
        guard let exchange else { return -1 }
        // libcurl delivers the bytes again when the pause ends.
        if exchange.ticket != nil { return Int(CURL_WRITEFUNC_PAUSE) }
        return exchange.takePart(bytes, at: Monotonic.now()) ? bytes.count : -1
    }

    // MARK: Called by its owner

    /// Begins an exchange; returns false when libcurl rejects it.
    func begin(_ exchange: HTTPExchange) -> Bool {
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
        return navbus_curl_set_lines(easy, list) == CURLE_OK && set(exchange.request.method)
            && navbus_curl_set_text(easy, CURLOPT_URL, exchange.request.address.text) == CURLE_OK
    }

    private func set(_ method: HTTPRequest.Method) -> Bool {
        switch method {
        case .get: return navbus_curl_set_number(easy, CURLOPT_HTTPGET, 1) == CURLE_OK
        case .head: return navbus_curl_set_number(easy, CURLOPT_NOBODY, 1) == CURLE_OK
        case .post(var body):
            // libcurl copies the body, with the size that was set before.
            return navbus_curl_set_number(easy, CURLOPT_POST, 1) == CURLE_OK
                && navbus_curl_set_number(easy, CURLOPT_POSTFIELDSIZE, body.count) == CURLE_OK
                && body.withUnsafeMutableBytes {
                    navbus_curl_set_pointer(easy, CURLOPT_COPYPOSTFIELDS, $0.baseAddress) == CURLE_OK
                }
        }
    }

    func leave() -> HTTPExchange? { exchange.take() }

    /// Continues after a pause; returns an error when the paused bytes are rejected.
    func resume() -> CURLcode { curl_easy_pause(easy, CURLPAUSE_CONT) }

    /// Returns libcurl's text for an error.
    func reason(of code: CURLcode) -> String {
        String(cString: reason[0] == 0 ? curl_easy_strerror(code) : UnsafePointer(reason))
    }
}
