import CCurl
import Glibc

/// A multi handle of libcurl, which owns the connections that its easy handles share.
final class CurlMulti: @unchecked Sendable {
    // Unchecked: only the loop's thread uses it, except for `wake`, which libcurl allows on any thread.

    fileprivate let multi: UnsafeMutableRawPointer

    /// Fails with ``HTTPError/Code/system`` when this machine lacks memory or open files.
    init(connections: Int) throws(HTTPError) {
        errno = 0
        guard CurlLibrary.isReady, let multi = curl_multi_init() else { throw CurlLibrary.exhausted("start") }
        self.multi = multi
        // libcurl starts even without descriptors for wake-ups, and would then sleep while requests wait.
        guard curl_multi_wakeup(multi) == CURLM_OK else { throw CurlLibrary.exhausted("wake its loop") }
        navbus_curl_multi_set_number(multi, CURLMOPT_MAXCONNECTS, connections)
    }

    deinit { curl_multi_cleanup(multi) }

    /// Ends the current wait of its loop, or the next one.
    func wake() { curl_multi_wakeup(multi) }
}

/// A loop that runs exchanges concurrently over kept connections, for use by one thread.
final class CurlLoop {
    /// An exchange whose answer is complete and that waits only for its meter.
    private struct Whole {
        var exchange: HTTPExchange
        var outcome: HTTPExchange.Outcome
    }

    let shared: CurlMulti
    private var multi: UnsafeMutableRawPointer { shared.multi }
    private let configuration: HTTPConfiguration
    private var queue = ArraySlice<HTTPExchange>()
    private var busy: [CurlHandle] = []
    private var idle: [CurlHandle] = []
    private var whole: [Whole] = []
    /// The moment of the next check for late answers.
    private var nextCheck = Duration.zero

    init(_ shared: CurlMulti, _ configuration: HTTPConfiguration) {
        self.shared = shared
        self.configuration = configuration
    }

    deinit {
        for handle in busy { curl_multi_remove_handle(multi, handle.easy) }
        // Easy handles must end before the multi handle.
        busy = []
        idle = []
    }

    func add(_ exchanges: [HTTPExchange]) {
        for exchange in exchanges {
            // The exchange may have been cancelled before it arrived here.
            guard !exchange.isCancelled else {
                exchange.end(.cancelled)
                continue
            }
            queue.append(exchange)
            nextCheck = min(nextCheck, exchange.pace.firstCheck)
        }
    }

    func endCancelled() {
        end(.cancelled) { $0.isCancelled }
    }

    func endAll() { end(.closed) { _ in true } }

    private func end(_ outcome: HTTPExchange.Outcome, _ isMeant: (HTTPExchange) -> Bool) {
        // Evaluated once for each exchange: another thread may cancel an exchange at any moment, and each removed
        // exchange must be ended.
        var removed: [HTTPExchange] = []
        func take(_ exchange: HTTPExchange) -> Bool {
            guard isMeant(exchange) else { return false }
            removed.append(exchange)
            return true
        }
        queue.removeAll(where: take)
        whole.removeAll { take($0.exchange) }
        for exchange in removed { exchange.end(outcome) }
        for handle in busy where handle.exchange.map(isMeant) ?? false { breakOff(handle, outcome) }
    }

    /// Cancels a running exchange and closes its connection.
    private func breakOff(_ handle: CurlHandle, _ outcome: HTTPExchange.Outcome) {
        curl_multi_remove_handle(multi, handle.easy)
        busy.removeAll { $0 === handle }
        handle.leave()?.end(outcome)
    }

    /// Performs all possible work; returns the milliseconds until the next call is due.
    func turn() -> Int32 {
        repeat {
            fill()
            var count: Int32 = 0
            let code = curl_multi_perform(multi, &count)
            guard code == CURLM_OK else {
                failAll(code)
                return 1_000
            }
            collect()
        } while !queue.isEmpty && busy.count < configuration.concurrency
        guard !busy.isEmpty || !whole.isEmpty || !queue.isEmpty else { return 60_000 }
        let now = Monotonic.now()
        let pause = release(at: now)
        check(at: now)
        let rest = min((nextCheck - now) / .milliseconds(1), pause.map { $0 * 1_000 } ?? .infinity)
        return Int32(min(max(rest.rounded(.up), 0), 1_000))
    }

    /// Waits for sockets, or for ``CurlMulti/wake()``.
    func wait(_ milliseconds: Int32) {
        // A failure, such as a lack of memory, is immediate and must not be retried without a pause.
        if curl_multi_poll(multi, nil, 0, milliseconds, nil) != CURLM_OK { usleep(10_000) }
    }

    private func fill() {
        while busy.count < configuration.concurrency, let exchange = queue.popFirst() {
            guard let handle = idle.popLast() ?? (try? CurlHandle(configuration)), handle.begin(exchange),
                curl_multi_add_handle(multi, handle.easy) == CURLM_OK
            else {
                exchange.end(.failed(code: CURLE_OUT_OF_MEMORY.rawValue, reason: "libcurl accepts no more transfers"))
                continue
            }
            busy.append(handle)
        }
    }

    private func collect() {
        var left: Int32 = 0
        while let message = curl_multi_info_read(multi, &left)?.pointee {
            guard message.msg == CURLMSG_DONE, let easy = message.easy_handle,
                let index = busy.firstIndex(where: { $0.easy == easy })
            else { continue }
            let code = message.data.result
            let handle = busy.remove(at: index)
            curl_multi_remove_handle(multi, easy)
            let outcome: HTTPExchange.Outcome =
                code == CURLE_OK ? .answered : .failed(code: code.rawValue, reason: handle.reason(of: code))
            let exchange = handle.leave()
            // A handle that failed is not reused, since it may still be active.
            if code == CURLE_OK { idle.append(handle) }
            guard let exchange else { continue }
            if exchange.ticket == nil {
                exchange.end(outcome)
            } else {
                whole.append(Whole(exchange: exchange, outcome: outcome))
            }
        }
    }

    private func failAll(_ code: CURLMcode) {
        let reason = String(cString: curl_multi_strerror(code))
        for handle in busy { breakOff(handle, .failed(code: CURLE_FAILED_INIT.rawValue, reason: reason)) }
        for exchange in queue { exchange.end(.failed(code: CURLE_FAILED_INIT.rawValue, reason: reason)) }
        queue.removeAll()
        // The meter will not release these exchanges any more.
        for done in whole { done.exchange.end(done.outcome) }
        whole.removeAll()
    }

    /// Resumes the exchanges that their meter releases; returns the seconds until the next release.
    private func release(at now: Duration) -> Double? {
        guard !whole.isEmpty || busy.contains(where: { $0.exchange?.ticket != nil }) else { return nil }
        var shortest: Double?
        let isHeld = { (exchange: HTTPExchange) -> Bool in
            guard let ticket = exchange.ticket, let meter = exchange.meter else { return false }
            if let pause = meter.pause(ticket) {
                shortest = min(shortest ?? pause, pause)
                return true
            }
            exchange.release(at: now)
            return false
        }
        for handle in busy {
            guard let exchange = handle.exchange, exchange.ticket != nil, !isHeld(exchange) else { continue }
            let code = handle.resume()
            if code != CURLE_OK {
                breakOff(handle, .failed(code: code.rawValue, reason: handle.reason(of: code)))
            } else {
                // The exchange may be over the limit again at once.
                _ = isHeld(exchange)
            }
        }
        whole.removeAll { whole in
            if isHeld(whole.exchange) { return false }
            whole.exchange.end(whole.outcome)
            return true
        }
        return shortest
    }

    /// Cancels exchanges that exceed a limit.
    private func check(at now: Duration) {
        guard now >= nextCheck else { return }
        nextCheck = now + .seconds(1)
        let isLate = { (exchange: HTTPExchange) -> TransferPace.Fault? in
            let fault = exchange.pace.fault(at: now)
            if fault == nil { self.nextCheck = min(self.nextCheck, exchange.pace.nextCheck(after: now)) }
            return fault
        }
        for handle in busy {
            if let fault = handle.exchange.flatMap(isLate) { breakOff(handle, .late(fault)) }
        }
        var late: [(HTTPExchange, TransferPace.Fault)] = []
        queue.removeAll { exchange in
            guard let fault = isLate(exchange) else { return false }
            late.append((exchange, fault))
            return true
        }
        for (exchange, fault) in late { exchange.end(.late(fault)) }
    }
}
