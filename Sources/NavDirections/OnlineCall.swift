import Dispatch
package import NavRouting
import Synchronization

/// A request in flight, for a thread that waits for it.
///
/// The answer is produced on the threads of Swift's concurrency runtime: wait on a separate thread, never inside a task.
package final class OnlineCall: Sendable {
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

    /// Cancels the request; ``wait()`` then returns soon.
    package func cancel() { task.withLock { $0 }?.cancel() }

    /// Returns the answer; blocks until it has arrived.
    package func wait() -> Result<OnlineRoutes, DirectionsError> {
        finished.wait()
        finished.signal()
        return answer.withLock { $0 } ?? .failure(DirectionsError(.cancelled, "the request was cancelled"))
    }
}

extension OnlineRouteProvider {
    /// Starts a request like ``routes(_:on:deadline:)``, for a thread that waits for it.
    package func call(_ request: RouteRequest, on router: Router, deadline: Double? = nil) -> OnlineCall {
        OnlineCall(self, request, on: router, deadline: deadline)
    }
}
