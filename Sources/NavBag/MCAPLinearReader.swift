/// A sequential reader of a bag in file order, with or without an index, whole or truncated.
///
/// It returns every readable message, skips damaged chunks, and at the end reports why it stopped. Memory holds one chunk and the
/// definitions.
package struct MCAPLinearReader<Source: ByteSource> {
    private var blocks: BlockReader<Source>
    private var definitions: Definitions
    private var current: BlockContents?

    /// Begins reading.
    ///
    /// Throws ``BagError/Code/notMCAP``, or ``BagError/Code/truncated`` and ``BagError/Code/malformed`` when the header cannot
    /// be read.
    ///
    /// - Parameter topics: the topics to read; nil for all.
    package init(
        _ source: Source, topics: [String]? = nil, options: BagReadOptions = BagReadOptions()
    ) throws(BagError) {
        blocks = try BlockReader(source, options: options)
        definitions = Definitions(topics: topics)
    }

    /// Begins reading all topics of a bag whose beginning may be damaged, which is skipped.
    ///
    /// Channels are also taken from the summary, because the chunk that defines them may be damaged.
    package init(recovering source: Source, options: BagReadOptions = BagReadOptions()) throws(BagError) {
        blocks = try BlockReader(source, options: options, isRecovery: true)
        let summary = try BagIndex.summary(source, dataStart: blocks.position, options: options)
        definitions = summary.map { Definitions($0, topics: nil) } ?? Definitions(topics: nil)
    }

    /// The damage that was skipped so far.
    package var damage: BagDamage { blocks.damage }
    /// The reason why reading stopped; nil until ``next()`` has returned nil.
    package var ending: BagEnding? { blocks.ending }

    /// Returns the channel with an id, if its definition has been read.
    package func channel(_ id: UInt16) -> BagChannel? { definitions.channels[id] }

    /// Returns the next message, or nil after the last readable one; throws only the errors of the source.
    package mutating func next() throws(BagError) -> BagMessage? {
        while true {
            if let message = current?.next() { return message }
            switch try advance() {
            case .block: continue
            case .attachment, .metadata: continue
            case nil: return nil
            }
        }
    }

    /// Returns the next item of the bag; the messages of a block are then in `current`.
    mutating func advance() throws(BagError) -> BlockReader<Source>.Item? {
        current = nil
        let item = try blocks.next()
        if case .block(let block, let span) = item {
            var failure: BagError?
            let contents = BlockContents(block, &definitions, learning: true, sorted: false, failure: &failure)
            if let failure, span.kind != .partialChunk { blocks.damage.note(failure) }
            blocks.damage.orphanMessages += contents.orphanMessages
            current = contents
        }
        return item
    }

    /// Returns the next message of the block that ``advance()`` has opened.
    mutating func nextInBlock() -> BagMessage? { current?.next() }

    mutating func note(_ error: BagError) { blocks.damage.note(error) }

    var known: Definitions { definitions }
}
