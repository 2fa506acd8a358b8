import Dispatch
public import NavRouting
import Synchronization

/// A question that is under way, for a thread that waits for it.
///
/// The answer is made on the threads of the runtime: wait on a thread of one's own, never inside a task.
public final class OnlineCall: Sendable {
    private let answer = Mutex<Result<OnlineRoutes, DirectionsError>?>(nil)
    private let finished = DispatchSemaphore(value: 0)
    private let task = Mutex<Task<Void, Never>?>(nil)

    fileprivate init(_ provider: OnlineRouteProvider, _ request: RouteRequest, on router: Router, deadline: Double?) {
        task.withLock { task in
            task = Task {
                let result: Result<OnlineRoutes, DirectionsError>
                do throws(DirectionsError) {
                    result = .success(try await provider.routes(request, on: router, deadline: deadline))
                } catch {
                    result = .failure(error)
                }
                answer.withLock { $0 = result }
                finished.signal()
            }
        }
    }

    /// Takes the question back; ``wait()`` then returns soon.
    public func cancel() { task.withLock { $0 }?.cancel() }

    /// The answer; blocks until it is there.
    public func wait() -> Result<OnlineRoutes, DirectionsError> {
        finished.wait()
        finished.signal()
        return answer.withLock { $0 } ?? .failure(DirectionsError(.cancelled, "the request was cancelled"))
    }
}

extension OnlineRouteProvider {
    /// Begins to ask; what ``routes(_:on:deadline:)`` does, for a thread.
    public func call(_ request: RouteRequest, on router: Router, deadline: Double? = nil) -> OnlineCall {
        OnlineCall(self, request, on: router, deadline: deadline)
    }
}
