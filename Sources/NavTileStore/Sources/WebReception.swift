import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NavGeo
import Synchronization

/// Takes one answer in, on the loop of its connection: checked, unpacked and hashed part by part.
final class WebReception: HTTPClientResponseDelegate {
    typealias Response = WebReply

    /// A body that nobody wants has gone on for too long.
    private struct Enough: Error {}

    private struct State {
        var reply: WebReply?
        var intake: BodyIntake?
        var drained = 0
        var sent: Duration
        /// Waits for the meter.
        var wait: Task<Void, Never>?
    }

    private let question: WebQuestion
    private let transfer: Transfer
    private let watch: TransferWatch
    private let meter: TransferMeter?
    private let now: @Sendable () -> Timestamp
    private let state: Mutex<State>

    init(
        _ question: WebQuestion, _ transfer: Transfer, watch: TransferWatch, meter: TransferMeter?,
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.question = question
        self.transfer = transfer
        self.watch = watch
        self.meter = meter
        self.now = now
        state = Mutex(State(sent: watch.now))
    }

    func didSendRequestHead(task: HTTPClient.Task<WebReply>, _ head: HTTPRequestHead) {
        let sent = watch.now
        transfer.noteSent(at: sent)
        state.withLock { $0.sent = sent }
    }

    func didReceiveHead(task: HTTPClient.Task<WebReply>, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
        let received = watch.now
        transfer.noteHead(at: received)
        let status = Int(head.status.code)
        do throws(TileSourceError) {
            try state.withLock { (state) throws(TileSourceError) in
                state.reply = WebReply(
                    status: status, headers: head.headers, received: now(), delay: (received - state.sent) / .seconds(1)
                )
                if status == 200 || status == 206, question.method == .get {
                    state.intake = try BodyIntake(question, head.headers)
                }
            }
            return task.eventLoop.makeSucceededVoidFuture()
        } catch {
            return task.eventLoop.makeFailedFuture(error)
        }
    }

    func didReceiveBodyPart(task: HTTPClient.Task<WebReply>, _ part: ByteBuffer) -> EventLoopFuture<Void> {
        let count = part.readableBytes
        transfer.note(count, at: watch.now)
        do {
            try state.withLock { state in
                guard state.intake != nil else {
                    // A short one is read, so that the connection can be used again; a long one ends with it.
                    state.drained += count
                    guard state.drained <= 65_536 else { throw Enough() }
                    return
                }
                try part.withUnsafeReadableBytes { try state.intake?.take($0) }
            }
        } catch {
            return task.eventLoop.makeFailedFuture(error)
        }
        guard let meter, meter.mustWait(after: count) else { return task.eventLoop.makeSucceededVoidFuture() }
        transfer.hold(at: watch.now)
        let promise = task.eventLoop.makePromise(of: Void.self)
        let wait = Task { [transfer, watch] in
            try? await meter.wait()
            transfer.release(at: watch.now)
            promise.succeed()
        }
        state.withLock { $0.wait = wait }
        return promise.futureResult
    }

    func didReceiveError(task: HTTPClient.Task<WebReply>, _ error: any Error) {
        state.withLock { $0.wait }?.cancel()
    }

    func didFinishRequest(task: HTTPClient.Task<WebReply>) throws -> WebReply {
        try state.withLock { state in
            guard var reply = state.reply else { throw HTTPClientError.remoteConnectionClosed }
            try state.intake?.finish(into: &reply)
            state.intake = nil
            return reply
        }
    }

    /// What an error means when the head had come and its body is of no interest.
    func reply(despite error: any Error) -> WebReply? {
        error is Enough ? state.withLock { $0.reply } : nil
    }
}
