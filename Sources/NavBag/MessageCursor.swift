/// A cursor over the messages of a query that opens chunks only as needed.
///
/// After an error the damaged chunk is skipped, and ``next()`` may be called again for the messages after it.
package struct MessageCursor<Source: ByteSource> {
    private let source: Source
    private let loader: BlockLoader
    private let query: BagQuery
    private var definitions: Definitions
    /// The spans to read: by start time, then by offset; or in file order.
    private let spans: [BagSpan]
    private var nextSpan = 0
    /// The open blocks with messages left: a heap by next log time, then by offset in the bag.
    private var open: ContiguousArray<BlockContents> = []
    private var openBytes = 0
    private let maxOpenBytes: Int
    /// The damage of blocks, reported after the messages before it have been returned.
    private var deferred: [BagError] = []

    /// The number of skipped messages of channels that the index does not define.
    package private(set) var orphanMessages = 0

    init(_ source: Source, _ index: BagIndex, _ query: BagQuery, _ options: BagReadOptions) {
        self.source = source
        self.query = query
        loader = BlockLoader(options)
        maxOpenBytes = max(options.maxOpenBytes, options.chunkLimit)
        let definitions = Definitions(index, topics: query.topics)
        self.definitions = definitions
        var wanted = index.spans.filter { span in
            let ends = query.end.map { span.startTime < $0 } ?? true
            guard ends, span.endTime >= query.start else { return false }
            guard !span.messageIndexes.isEmpty else { return true }
            return span.messageIndexes.contains { definitions.selection(of: $0.channel) == .wanted }
        }
        if query.order == .logTime {
            wanted.sort { ($0.startTime, $0.offset) < ($1.startTime, $1.offset) }
        }
        spans = wanted
    }

    /// The share of this query that has been read, 0...1, each chunk weighted equally, for a progress bar.
    package var progress: Double {
        let left = open.reduce(0.0) { $0 + Double($1.entries.count - $1.position) / Double($1.entries.count) }
        return spans.isEmpty ? 1 : (Double(nextSpan) - left) / Double(spans.count)
    }

    /// Returns the next message, or nil after the last.
    ///
    /// - Throws: ``BagError/Code/malformed``, ``BagError/Code/crcMismatch``,
    ///   ``BagError/Code/unsupportedCompression`` or ``BagError/Code/limitExceeded`` for a chunk that cannot be read;
    ///   ``BagError/Code/io`` from the source.
    package mutating func next() throws(BagError) -> BagMessage? {
        while true {
            if nextSpan < spans.count, open.isEmpty || mustOpenMore {
                try openNext()
                continue
            }
            guard !open.isEmpty else {
                guard let error = deferred.popLast() else { return nil }
                throw error
            }
            let message = open[0].next()
            settle()
            return message
        }
    }

    /// Whether an unopened span may hold a message earlier than the next one of the open spans.
    private var mustOpenMore: Bool {
        query.order == .logTime && spans[nextSpan].startTime <= open[0].nextTime
    }

    private mutating func openNext() throws(BagError) {
        let span = spans[nextSpan]
        nextSpan += 1
        // The declared size of a whole chunk is checked against its record when it is unpacked, so this bounds the memory.
        let size = min(span.uncompressedSize, loader.options.chunkLimit)
        guard open.isEmpty || openBytes + size <= maxOpenBytes else {
            throw BagError(
                .limitExceeded,
                "chunks that overlap in time exceed \(maxOpenBytes) bytes together; read in file order, or raise "
                    + "maxOpenBytes", offset: span.offset)
        }
        let block = try loader.load(span, from: source)
        var failure: BagError?
        let contents = BlockContents(
            block, &definitions, learning: false, start: query.start, end: query.end,
            sorted: query.order == .logTime, failure: &failure)
        orphanMessages += contents.orphanMessages
        if let failure, span.kind != .partialChunk { deferred.insert(failure, at: 0) }
        guard !contents.isExhausted else { return }
        if query.order == .logTime, contents.nextTime < span.startTime {
            throw BagError(
                .malformed,
                "a chunk has messages older than its index says, so they cannot be merged by time; ignore the "
                    + "summary to read it", offset: span.offset)
        }
        openBytes += contents.bytes.count
        open.append(contents)
        var child = open.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard precedes(child, parent) else { break }
            open.swapAt(child, parent)
            child = parent
        }
    }

    /// Restores the heap after a message was taken from the first block, dropping the block when it is exhausted.
    private mutating func settle() {
        if open[0].isExhausted {
            openBytes -= open[0].bytes.count
            open.swapAt(0, open.count - 1)
            open.removeLast()
        }
        var parent = 0
        while true {
            var child = 2 * parent + 1
            guard child < open.count else { return }
            if child + 1 < open.count, precedes(child + 1, child) { child += 1 }
            guard precedes(child, parent) else { return }
            open.swapAt(child, parent)
            parent = child
        }
    }

    private func precedes(_ a: Int, _ b: Int) -> Bool {
        (open[a].nextTime, open[a].offset) < (open[b].nextTime, open[b].offset)
    }
}
