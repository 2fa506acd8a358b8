/// A fixed number of plain values at one address: what the searches' inner loops run over, without checks, copies or
/// reference counts.
///
/// Whoever holds the array sees to it that indices are in range and that nobody writes what others read.
final class FlatArray<Element: BitwiseCopyable>: @unchecked Sendable {
    let count: Int
    let base: UnsafeMutablePointer<Element>

    init(repeating value: Element, count: Int) {
        self.count = count
        base = .allocate(capacity: max(count, 1))
        base.initialize(repeating: value, count: count)
    }

    init(_ elements: ContiguousArray<Element>) {
        count = elements.count
        base = .allocate(capacity: max(count, 1))
        elements.withUnsafeBufferPointer { source in
            if let start = source.baseAddress { base.initialize(from: start, count: count) }
        }
    }

    deinit { base.deallocate() }

    @inline(__always)
    subscript(index: Int) -> Element {
        get { base[index] }
        set { base[index] = newValue }
    }
}
