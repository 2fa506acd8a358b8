/// Reads a bag from beginning to end in file order, with or without an index, whole or broken off: it hands out every
/// message that can be read, passes over damaged chunks, and says at the end why it stopped.
///
/// Memory holds one chunk and the definitions.
public struct MCAPLinearReader<Source: ByteSource> {
    private var blocks: BlockReader<Source>
    private var definitions: Definitions
    private var current: BlockContents?

    /// Begins reading. Throws ``BagError/Code/notMCAP``, or ``BagError/Code/truncated`` and
    /// ``BagError/Code/malformed`` where not even the header can be read.
    ///
    /// - Parameter topics: hand out messages of these topics only; nil for all.
    public init(
        _ source: Source, topics: [String]? = nil, options: BagReadOptions = BagReadOptions()
    ) throws(BagError) {
        blocks = try BlockReader(source, options: options)
        definitions = Definitions(topics: topics)
    }

    /// The writer of the bag.
    public var header: BagHeader { blocks.header }
    /// The damage that was passed over so far.
    public var damage: BagDamage { blocks.damage }
    /// Why reading stopped; nil before ``next()`` has returned nil.
    public var ending: BagEnding? { blocks.ending }
    /// Bytes of the bag behind the reader, for a progress bar.
    public var position: Int { blocks.position }

    /// The channel of an id seen so far.
    public func channel(_ id: UInt16) -> BagChannel? { definitions.channels[id] }
    /// The schema of an id seen so far.
    public func schema(_ id: UInt16) -> BagSchema? { definitions.schemas[id] }

    /// The next message, or nil at the end of what can be read. Throws only what the source throws.
    public mutating func next() throws(BagError) -> BagMessage? {
        while true {
            if let message = current?.next() { return message }
            switch try advance() {
            case .block: continue
            case .attachment, .metadata: continue
            case nil: return nil
            }
        }
    }

    /// The next item of the bag; a block's messages are then in `current`.
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

    /// The next message of the block that ``advance()`` has opened.
    mutating func nextInBlock() -> BagMessage? { current?.next() }

    mutating func note(_ error: BagError) { blocks.damage.note(error) }

    var known: Definitions { definitions }
}
