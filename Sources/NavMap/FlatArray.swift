/// A fixed-size buffer of trivial values, which search loops read without bounds checks, copies or reference counting.
///
/// The owner of the array ensures that indices are in range and that nothing is written while it is read.
@usableFromInline
package final class FlatArray<Element: BitwiseCopyable>: @unchecked Sendable {
    @usableFromInline package let count: Int
    /// The first value.
    @usableFromInline package let base: UnsafeMutablePointer<Element>

    @inlinable package init(repeating value: Element, count: Int) {
        self.count = count
        base = .allocate(capacity: max(count, 1))
        base.initialize(repeating: value, count: count)
    }

    /// Allocates values without initialising them; the caller must write each before reading it.
    @inlinable package init(uninitialized count: Int) {
        self.count = count
        base = .allocate(capacity: max(count, 1))
    }

    @inlinable package init(_ elements: ContiguousArray<Element>) {
        count = elements.count
        base = .allocate(capacity: max(count, 1))
        elements.withUnsafeBufferPointer { source in
            if let start = source.baseAddress { base.initialize(from: start, count: count) }
        }
    }

    /// Copies the first `count` values of another array, which must have at least as many.
    @inlinable package init(_ other: FlatArray, prefix count: Int) {
        self.count = count
        base = .allocate(capacity: max(count, 1))
        base.initialize(from: other.base, count: count)
    }

    deinit { base.deallocate() }

    /// Accesses the value at an index without a bounds check.
    @inlinable @inline(__always)
    package subscript(index: Int) -> Element {
        get { base[index] }
        set { base[index] = newValue }
    }
}
