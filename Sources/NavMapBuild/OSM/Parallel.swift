internal import Dispatch
internal import Synchronization

/// A parallel map over independent work items, whose results do not depend on the number of threads.
package enum Parallel {
    /// Returns the results of `body` for 0..<count, in order.
    ///
    /// - Parameters:
    ///   - count: The number of pieces.
    ///   - jobs: The number of pieces that run at once, at least 1; with 1, the calling thread does all the work.
    ///   - body: The work on one piece. Pieces start in ascending order.
    /// - Throws: The error of the first piece, by number, that failed; later pieces may then never run.
    package static func map<T: Sendable, Failure: Error>(
        _ count: Int, jobs: Int, _ body: @Sendable (Int) throws(Failure) -> T
    ) throws(Failure) -> [T] {
        if jobs <= 1 || count <= 1 {
            var results: [T] = []
            results.reserveCapacity(count)
            for index in 0..<count { results.append(try body(index)) }
            return results
        }
        let next = Atomic<Int>(0)
        let failed = Atomic<Bool>(false)
        let finished = Mutex<[[(Int, Result<T, Failure>)]]>([])
        DispatchQueue.concurrentPerform(iterations: min(jobs, count)) { _ in
            var mine: [(Int, Result<T, Failure>)] = []
            while !failed.load(ordering: .relaxed) {
                let index = next.wrappingAdd(1, ordering: .relaxed).oldValue
                if index >= count { break }
                do throws(Failure) {
                    mine.append((index, .success(try body(index))))
                } catch {
                    mine.append((index, .failure(error)))
                    failed.store(true, ordering: .relaxed)
                }
            }
            let done = mine
            finished.withLock { $0.append(done) }
        }
        var slots = [T?](repeating: nil, count: count)
        var firstFailure: (index: Int, error: Failure)?
        for (index, result) in finished.withLock({ $0 }).joined() {
            switch result {
            case .success(let value): slots[index] = value
            case .failure(let error):
                if index < firstFailure?.index ?? .max { firstFailure = (index, error) }
            }
        }
        if let firstFailure { throw firstFailure.error }
        return slots.compactMap { $0 }
    }
}
