import NIOCore

/// Runs tasks on the loop of a source's connections.
///
/// Between the head of an answer and the next question a task changes threads several times; on the loop itself it changes
/// none, which takes a third of the processor's time off a small tile.
final class LoopExecutor: TaskExecutor {
    let loop: any EventLoop

    init(_ loop: any EventLoop) { self.loop = loop }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

/// A source whose questions are best asked on a loop.
protocol LoopBound {
    /// Where; nil for anywhere.
    var executor: LoopExecutor? { get }
}
