internal import Glibc
internal import Synchronization

/// The bytes of large payloads that a publisher's connections still hold.
///
/// libzmq limits a slow subscriber's queue by a number of messages, which must not change during a connection: both
/// ends of its pipe count credit by the mark it was created with, and a connection whose mark is lowered may never be
/// granted credit again. Therefore the marks are fixed, and large payloads are limited here, in bytes.
final class QueuedBytes: Sendable {
    private let bytes = Atomic<Int>(0)
    private let releases = Atomic<UInt64>(0)

    /// The bytes that are queued now; a payload that is queued for several subscribers counts once.
    var count: Int { bytes.load(ordering: .relaxed) }

    /// The number of payloads released since the start; it does not change while the slowest connection takes nothing.
    var releaseCount: UInt64 { releases.load(ordering: .relaxed) }

    fileprivate func add(_ size: Int) { bytes.wrappingAdd(size, ordering: .relaxed) }

    fileprivate func release(_ size: Int) {
        bytes.wrappingSubtract(size, ordering: .relaxed)
        releases.wrappingAdd(1, ordering: .relaxed)
    }
}

/// A payload that libzmq reads in place for all connections and releases on its own thread.
final class SharedPayload {
    let bytes: UnsafeRawBufferPointer
    /// The received payload that owns the bytes; nil when this object owns a copy of the bytes.
    private let received: Payload?
    private let queued: QueuedBytes?

    /// Copies `payload`; nil when memory is exhausted.
    init?(copying payload: UnsafeRawBufferPointer, countedBy queued: QueuedBytes?) {
        guard let memory = malloc(max(1, payload.count)) else { return nil }
        let copy = UnsafeMutableRawBufferPointer(start: memory, count: payload.count)
        copy.copyMemory(from: payload)
        (bytes, received) = (UnsafeRawBufferPointer(copy), nil)
        self.queued = queued
        queued?.add(payload.count)
    }

    /// Shares the bytes of a received payload.
    init(forwarding payload: Payload, countedBy queued: QueuedBytes?) {
        (bytes, received) = (payload.buffer.bytes, payload)
        self.queued = queued
        queued?.add(payload.count)
    }

    deinit {
        if received == nil { free(UnsafeMutableRawPointer(mutating: bytes.baseAddress)) }
        queued?.release(bytes.count)
    }
}
