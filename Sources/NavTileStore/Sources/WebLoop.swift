import CCurl
import Glibc

/// What libcurl keeps of all handles: connections above all.
final class WebMulti: @unchecked Sendable {
    // Unchecked: the thread of its loop alone works on it, except for `wake`, which libcurl lets any thread call.

    fileprivate let multi: UnsafeMutableRawPointer

    /// libcurl is made ready once in a process; what it takes then is never given back.
    private static let isReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    /// Fails with ``TileSourceError/Code/system`` when this machine has no memory or no open files left for it.
    init(connections: Int) throws(TileSourceError) {
        errno = 0
        guard Self.isReady, let multi = curl_multi_init() else { throw WebLibrary.exhausted("begin") }
        self.multi = multi
        // It begins without the files by which it is woken as well, and would then sleep while questions wait.
        guard curl_multi_wakeup(multi) == CURLM_OK else { throw WebLibrary.exhausted("be woken") }
        navbus_curl_multi_set_number(multi, CURLMOPT_MAXCONNECTS, connections)
    }

    deinit { curl_multi_cleanup(multi) }

    /// Ends the wait of its loop, or the next one.
    func wake() { curl_multi_wakeup(multi) }
}

/// Carries exchanges out side by side over connections that are kept; for one thread.
final class WebLoop {
    /// An exchange whose answer is whole, and waits for its meter only.
    private struct Whole {
        var exchange: WebExchange
        var outcome: WebExchange.Outcome
    }

    let shared: WebMulti
    private var multi: UnsafeMutableRawPointer { shared.multi }
    private let manners: WebManners
    private let limits: TransferLimits
    private let concurrency: Int
    private let clock = DownloadClock.system
    private var queue = ArraySlice<WebExchange>()
    private var busy: [WebHandle] = []
    private var idle: [WebHandle] = []
    private var whole: [Whole] = []
    private var nextCheck: Duration

    init(_ shared: WebMulti, _ manners: WebManners, _ limits: TransferLimits, concurrency: Int) {
        self.shared = shared
        self.manners = manners
        self.limits = limits
        self.concurrency = concurrency
        nextCheck = clock.now()
    }

    deinit {
        for handle in busy { curl_multi_remove_handle(multi, handle.easy) }
        // Handles go before what they share.
        busy = []
        idle = []
    }

    func add(_ exchanges: [WebExchange]) {
        for exchange in exchanges {
            // It may have been taken back on the way here.
            if exchange.isCancelled { exchange.end(.cancelled) } else { queue.append(exchange) }
        }
    }

    /// Ends those that are not wanted any more.
    func endCancelled() {
        end(.cancelled) { $0.isCancelled }
    }

    /// Ends all.
    func endAll() { end(.closed) { _ in true } }

    private func end(_ outcome: WebExchange.Outcome, _ isMeant: (WebExchange) -> Bool) {
        let waiting = queue.filter(isMeant) + whole.map(\.exchange).filter(isMeant)
        queue.removeAll(where: isMeant)
        whole.removeAll { isMeant($0.exchange) }
        for exchange in waiting { exchange.end(outcome) }
        for handle in busy where handle.exchange.map(isMeant) ?? false { breakOff(handle, outcome) }
    }

    /// Ends one that is under way, its connection with it.
    private func breakOff(_ handle: WebHandle, _ outcome: WebExchange.Outcome) {
        curl_multi_remove_handle(multi, handle.easy)
        busy.removeAll { $0 === handle }
        handle.leave()?.end(outcome)
    }

    /// Does what can be done now; milliseconds that it may wait before the next turn.
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
        } while !queue.isEmpty && busy.count < concurrency
        guard !busy.isEmpty || !whole.isEmpty || !queue.isEmpty else { return 60_000 }
        let now = clock.now()
        let pause = release(at: now)
        check(at: now)
        let rest = min((nextCheck - now) / .milliseconds(1), pause.map { $0 * 1_000 } ?? .infinity)
        return Int32(min(max(rest.rounded(.up), 0), 1_000))
    }

    /// Waits for sockets, or for ``WebMulti/wake()``.
    func wait(_ milliseconds: Int32) {
        // Where that fails, as for want of memory, it fails at once: not again and again without a pause.
        if curl_multi_poll(multi, nil, 0, milliseconds, nil) != CURLM_OK { usleep(10_000) }
    }

    private func fill() {
        while busy.count < concurrency, let exchange = queue.popFirst() {
            guard let handle = idle.popLast() ?? (try? WebHandle(manners)), handle.begin(exchange),
                curl_multi_add_handle(multi, handle.easy) == CURLM_OK
            else {
                exchange.end(.failed(code: CURLE_OUT_OF_MEMORY.rawValue, reason: "libcurl takes no more transfers"))
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
            let outcome: WebExchange.Outcome =
                code == CURLE_OK ? .answered : .failed(code: code.rawValue, reason: handle.reason(of: code))
            let exchange = handle.leave()
            // One that failed may hold on to what it was doing.
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
    }

    /// Lets those go on that their meter has given leave; seconds until the next may.
    private func release(at now: Duration) -> Double? {
        guard !whole.isEmpty || busy.contains(where: { $0.exchange?.ticket != nil }) else { return nil }
        var shortest: Double?
        let isHeld = { (exchange: WebExchange) -> Bool in
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
            let code = handle.goOn()
            if code != CURLE_OK {
                breakOff(handle, .failed(code: code.rawValue, reason: handle.reason(of: code)))
            } else {
                // What came at once may have to wait again.
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

    /// Breaks off those that take too long, from time to time.
    private func check(at now: Duration) {
        guard now >= nextCheck else { return }
        nextCheck = now + TransferPace.period(limits)
        for handle in busy {
            if let fault = handle.exchange?.pace.fault(limits, at: now) { breakOff(handle, .late(fault)) }
        }
        var late: [(WebExchange, TransferPace.Fault)] = []
        queue.removeAll { exchange in
            guard let fault = exchange.pace.fault(limits, at: now) else { return false }
            late.append((exchange, fault))
            return true
        }
        for (exchange, fault) in late { exchange.end(.late(fault)) }
    }
}
