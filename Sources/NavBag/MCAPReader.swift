/// A reader that uses a bag's index: any topics, any time range, in log time order.
///
/// Opening reads only the summary, whatever the size of the bag. A bag without a usable summary (unfinished, unindexed, damaged) is read
/// once as a whole, and is then handled like an indexed bag. ``BagIndex/origin`` states which case applies and how the bag ends.
package struct MCAPReader<Source: ByteSource> {
    /// The source of the bytes.
    package let source: Source
    /// The options given to the initialiser.
    package let options: BagReadOptions
    /// The writer of the bag.
    package let header: BagHeader
    /// The index of the bag.
    package let index: BagIndex

    /// Reads header and index.
    ///
    /// - Throws: ``BagError/Code/notMCAP`` for another kind of file, ``BagError/Code/truncated`` and
    ///   ``BagError/Code/malformed`` when the header cannot be read, ``BagError/Code/io`` from the source.
    package init(_ source: Source, options: BagReadOptions = BagReadOptions()) throws(BagError) {
        self.source = source
        self.options = options
        let dataStart: Int
        (header, dataStart) = try BlockReader.readHeader(source)
        if !options.ignoreSummary,
            let index = try BagIndex.summary(source, dataStart: dataStart, options: options)
        {
            self.index = index
        } else {
            index = try BagIndex.scan(source, options: options)
        }
    }

    /// Returns a cursor over the messages of a query.
    package func messages(_ query: BagQuery = BagQuery()) -> MessageCursor<Source> {
        MessageCursor(source, index, query, options)
    }

    /// Reads one of ``BagIndex/metadata``.
    package func metadata(_ location: BagRecordLocation) throws(BagError) -> BagMetadata {
        try source.metadata(location.offset, location.length, limit: options.storedLimit)
    }

    /// Reads one of ``BagIndex/attachments`` into memory, and checks its CRC if the options require it.
    package func attachment(_ location: BagRecordLocation) throws(BagError) -> BagAttachment {
        try source.attachment(location.offset, location.length, options)
    }
}

extension MCAPReader: Sendable where Source: Sendable {}

/// A bag read from a file.
package typealias BagReader = MCAPReader<BagFile>

extension MCAPReader where Source == BagFile {
    /// Opens the file at `path` and reads its index; see ``BagFile/init(path:)`` and ``init(_:options:)``.
    package init(path: String, options: BagReadOptions = BagReadOptions()) throws(BagError) {
        do throws(BagError) {
            try self.init(BagFile(path: path), options: options)
        } catch {
            if error.code == .io { throw error }
            throw BagError(error.code, "cannot read \(path): \(error.reason)", offset: error.offset)
        }
    }
}

/// A selection of a bag's messages, and their order.
package struct BagQuery: Hashable, Sendable {
    /// The order of messages.
    package enum Order: Hashable, Sendable {
        /// By log time, then by file order; chunks that overlap in time are open together.
        case logTime
        /// In file order; one chunk is open at a time.
        case file
    }

    /// The topics to read, nil for all; topics that are not in the bag match nothing.
    package var topics: [String]?
    /// The first log time, inclusive, ns.
    package var start: UInt64 = 0
    /// The end of the log times, exclusive, ns; nil for no end.
    package var end: UInt64?
    package var order = Order.logTime

    /// Creates a query, by default for all messages by log time.
    package init(topics: [String]? = nil, start: UInt64 = 0, end: UInt64? = nil, order: Order = .logTime) {
        self.topics = topics
        self.start = start
        self.end = end
        self.order = order
    }
}
