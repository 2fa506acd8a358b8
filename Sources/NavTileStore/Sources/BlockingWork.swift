import Dispatch
package import NavTileCache

/// A runner of blocking disk work on dedicated threads, so that tasks are not blocked.
package struct BlockingWork: Sendable {
    private let queue: DispatchQueue

    package init(_ label: String, concurrent: Bool = true) {
        queue = DispatchQueue(label: label, attributes: concurrent ? .concurrent : [])
    }

    package func run<Value: Sendable>(
        _ work: @escaping @Sendable () throws(TileSourceError) -> Value
    ) async throws(TileSourceError) -> Value {
        let result: Result<Value, TileSourceError> = await withCheckedContinuation { continuation in
            queue.async {
                continuation.resume(returning: Result { () throws(TileSourceError) in try work() })
            }
        }
        return try result.get()
    }
}
