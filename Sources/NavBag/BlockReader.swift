import Glibc

/// A reader that walks a bag from its beginning without an index, and reports how the bag ends.
struct BlockReader<Source: ByteSource> {
    enum Item {
        case block(Block, BagSpan)
        case attachment(offset: Int, length: Int)
        case metadata(offset: Int, length: Int)
    }

    let source: Source
    let options: BagReadOptions
    let header: BagHeader
    private(set) var position: Int
    private(set) var ending: BagEnding?
    var damage = BagDamage()
    private let loader: BlockLoader
    private var crc: UInt32 = 0
    private var checked = 0
    /// The approximate size of the blocks into which bare records are gathered, bytes.
    private static var runSize: Int { 1 << 20 }

    /// Reads the magic bytes and the header.
    ///
    /// - Parameter isRecovery: whether a damaged beginning is skipped where a chunk follows.
    /// - Throws: ``BagError/Code/notMCAP`` for another kind of file; ``BagError/Code/truncated`` or
    ///   ``BagError/Code/malformed`` when the header cannot be read.
    init(_ source: Source, options: BagReadOptions, isRecovery: Bool = false) throws(BagError) {
        self.source = source
        self.options = options
        loader = BlockLoader(options)
        do throws(BagError) {
            (header, position) = try Self.readHeader(source)
        } catch {
            guard isRecovery, error.code != .io else { throw error }
            if error.code == .notMCAP, let (header, end) = try? Self.readHeader(source, expectsMagic: false) {
                (self.header, position) = (header, end)
                damage.note(error)
            } else {
                (header, position) = (BagHeader(profile: "", library: ""), 0)
                guard try resynchronise(after: error) else { throw error }
            }
        }
        guard isRecovery, !(try isRecord(at: position)) else { return }
        // The header's length is damaged.
        position = Layout.magic.count
        _ = try resynchronise(after: BagError(.malformed, "no record follows the header", offset: position))
    }

    static func readHeader(_ source: Source, expectsMagic: Bool = true) throws(BagError) -> (BagHeader, end: Int) {
        let magic = Layout.magic.count
        let head = try source.withBytes(at: 0, count: min(source.count, magic)) { (bytes) throws(BagError) in
            Array(bytes)
        }
        guard !expectsMagic || head.elementsEqual(Layout.magic.prefix(head.count)), !head.isEmpty else {
            throw BagError(.notMCAP, "not an MCAP file: it does not begin with the MCAP magic bytes", offset: 0)
        }
        guard source.count >= magic + Layout.recordHeader else {
            throw BagError(.truncated, "the file ends after \(source.count) bytes, before its header", offset: 0)
        }
        let (opcode, length) = try Self.recordHeader(source, at: magic)
        guard opcode == Opcode.header else {
            throw BagError(.malformed, "the first record is \(Opcode.name(opcode)) instead of a Header", offset: magic)
        }
        let content = magic + Layout.recordHeader
        guard length <= source.count - content else {
            throw BagError(.truncated, "the file ends in the middle of its header", offset: magic)
        }
        guard length <= Layout.piece else {
            throw BagError(.malformed, "the header claims \(length) bytes", offset: magic)
        }
        let header = try source.withBytes(at: content, count: length) { (bytes) throws(BagError) -> BagHeader in
            var cursor = ByteCursor(bytes, base: content)
            return try BagHeader(&cursor)
        }
        return (header, content + length)
    }

    /// Returns the opcode and content length at `offset`, where nine bytes must be readable; a length beyond `Int` becomes `Int.max`.
    static func recordHeader(_ source: Source, at offset: Int) throws(BagError) -> (opcode: UInt8, length: Int) {
        try source.withBytes(at: offset, count: Layout.recordHeader) { (bytes) throws(BagError) in
            let length = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 1, as: UInt64.self))
            return (bytes[0], Int(clamping: length))
        }
    }

    /// Returns the next item, or nil at the end; ``ending`` then has the reason.
    ///
    /// After an invalid record it skips to the next chunk, or else to the footer. It throws only the errors of the source.
    mutating func next() throws(BagError) -> Item? {
        while ending == nil {
            let left = source.count - position
            guard left >= Layout.recordHeader else {
                stop(left == 0 ? "the file ends without a footer" : "the file ends inside a record's first bytes")
                return nil
            }
            let start = position
            let (opcode, length) = try Self.recordHeader(source, at: start)
            let whole = length <= left - Layout.recordHeader
            let size = whole ? length + Layout.recordHeader : left
            switch opcode {
            case Opcode.chunk:
                if let item = try chunk(at: start, size: size, whole: whole) { return item }
                continue
            case 0:
                let error = BagError(.malformed, "a record has opcode 0; the rest cannot be read", offset: start)
                guard try resynchronise(after: error) else {
                    ending = .malformed(error)
                    return nil
                }
            case _ where !whole:
                let reason =
                    "\(Opcode.name(opcode)) record claims \(length) bytes, but \(left - Layout.recordHeader) are left"
                guard try resynchronise(after: BagError(.malformed, reason, offset: start)) else {
                    stop(reason)
                    return nil
                }
            case Opcode.schema, Opcode.channel, Opcode.message:
                if let item = try bareRun(at: start) { return item }
            case Opcode.attachment:
                try pass(size)
                return .attachment(offset: start, length: size)
            case Opcode.metadata:
                try pass(size)
                return .metadata(offset: start, length: size)
            case Opcode.dataEnd:
                try checkDataCRC(at: start, length: length)
                position += size
            case Opcode.footer:
                try finish(at: start + size)
                return nil
            case Opcode.header, Opcode.messageIndex, Opcode.chunkIndex, Opcode.attachmentIndex, Opcode.statistics,
                Opcode.metadataIndex, Opcode.summaryOffset:
                try pass(size)
            default:
                // An unknown record is allowed; if no valid record follows it, it is damage.
                if !(try isRecord(at: start + size)),
                    try resynchronise(after: BagError(.malformed, "no record begins here", offset: start))
                {
                    continue
                }
                damage.noteUnknown(opcode)
                try pass(size)
            }
        }
        return nil
    }

    /// Whether a record may begin at `offset`: its opcode is not 0 and the declared number of bytes follows.
    private func isRecord(at offset: Int) throws(BagError) -> Bool {
        guard source.count - offset >= Layout.recordHeader else { return offset == source.count }
        let (opcode, length) = try Self.recordHeader(source, at: offset)
        return opcode != 0 && length <= source.count - offset - Layout.recordHeader
    }

    /// Records damage and moves to the next readable record; returns false, with nothing recorded, when there is none.
    private mutating func resynchronise(after error: BagError) throws(BagError) -> Bool {
        guard let place = try resumption(after: position) else { return false }
        damage.note(error)
        try pass(place - position)
        return true
    }

    /// Returns the offset of the next chunk after `start`, or else of the footer at the end; nil when there is neither.
    private func resumption(after start: Int) throws(BagError) -> Int? {
        var first = start + 1
        while first < source.count {
            let size = min(Layout.piece, source.count - first)
            let available = source.count - first
            let place = try source.withBytes(at: first, count: size) { (bytes) throws(BagError) -> Int? in
                var place = 0
                while place < bytes.count, let base = bytes.baseAddress,
                    let found = memchr(base + place, Int32(Opcode.chunk), bytes.count - place)
                {
                    place = UnsafeRawPointer(found) - base
                    let record = UnsafeRawBufferPointer(rebasing: bytes[place...])
                    if ChunkHeader.mayBegin(record, available: available - place) { return place }
                    place += 1
                }
                return nil
            }
            if let place { return first + place }
            guard size < available else { break }
            // A record cut by the end of this piece is whole in the next piece.
            first += size - ChunkHeader.longestBeginning
        }
        let footer = source.count - Layout.magic.count - Layout.footerContent - Layout.recordHeader
        guard footer > start else { return nil }
        let isFooter = try source.withBytes(at: footer, count: source.count - footer) { (bytes) throws(BagError) in
            bytes[0] == Opcode.footer && bytes[1] == UInt8(Layout.footerContent)
                && bytes.suffix(Layout.magic.count).elementsEqual(Layout.magic)
        }
        return isFooter ? footer : nil
    }

    private mutating func stop(_ reason: String) {
        ending = .truncated(BagError(.truncated, reason, offset: position))
    }

    /// Skips `size` bytes and adds them to the data section's CRC.
    private mutating func pass(_ size: Int) throws(BagError) {
        while options.checkCRC, checked < position + size {
            let piece = min(Layout.piece, position + size - checked)
            crc = try source.withBytes(at: checked, count: piece) {
                (bytes) throws(BagError) -> UInt32 in Checksum.of(bytes, continuing: crc)
            }
            checked += piece
        }
        position += size
    }

    private mutating func chunk(at start: Int, size claimed: Int, whole: Bool) throws(BagError) -> Item? {
        // A record that declares more bytes than remain was truncated, or its length is damaged.
        let next = whole ? nil : try resumption(after: start)
        let size = next.map { $0 - start } ?? claimed
        let content = start + Layout.recordHeader
        var result: Item?
        do throws(BagError) {
            result = try source.withBytes(
                at: content, count: min(max(0, size - Layout.recordHeader), options.storedLimit)
            ) {
                (bytes) throws(BagError) -> Item in
                var cursor = ByteCursor(bytes, base: content)
                let header = try ChunkHeader(&cursor)
                let records = try loader.chunk(bytes, base: content, partial: !whole)
                let span = BagSpan(
                    kind: whole ? .chunk : .partialChunk, offset: start, length: size, startTime: header.startTime,
                    endTime: header.endTime, compression: header.compression,
                    compressedSize: min(header.recordsLength, size), uncompressedSize: header.uncompressedSize)
                return .block(Block(bytes: records, offset: start), span)
            }
        } catch {
            if error.code == .io { throw error }
            // A length that contradicts the fields after it may point anywhere.
            if whole, error.code == .malformed, !(try isRecord(at: start + size)), try resynchronise(after: error) {
                return nil
            }
            damage.note(error)
        }
        if whole {
            try pass(size)
        } else if next != nil {
            damage.note(
                BagError(.malformed, "a chunk claims more bytes than precede the next one", offset: start))
            try pass(size)
        } else {
            stop("the file ends inside a chunk, after \(size) of its bytes")
        }
        return result
    }

    /// Reads consecutive Schema, Channel and Message records, up to about ``runSize`` bytes; the first is always read
    /// whole.
    private mutating func bareRun(at start: Int) throws(BagError) -> Item? {
        var end = start
        while source.count - end >= Layout.recordHeader {
            let (opcode, length) = try Self.recordHeader(source, at: end)
            guard (Opcode.schema...Opcode.message).contains(opcode),
                length <= source.count - end - Layout.recordHeader
            else { break }
            let next = end + Layout.recordHeader + length
            guard end == start || next - start <= Self.runSize else { break }
            end = next
        }
        let size = end - start
        guard size <= options.chunkLimit else {
            damage.note(
                BagError(
                    .limitExceeded,
                    "a record has \(size) bytes; the limit is \(options.chunkLimit), raise maxChunkBytes "
                        + "to read it", offset: start))
            try pass(size)
            return nil
        }
        let bytes = try source.withBytes(at: start, count: size) { (bytes) throws(BagError) in Array(bytes) }
        try pass(size)
        let span = BagSpan(
            kind: .bare, offset: start, length: size, startTime: 0, endTime: 0, compression: "", compressedSize: size,
            uncompressedSize: size)
        return .block(Block(bytes: bytes, offset: start), span)
    }

    private mutating func checkDataCRC(at offset: Int, length: Int) throws(BagError) {
        try pass(0)
        guard options.checkCRC, length >= 4 else { return }
        let stored = try source.withBytes(at: offset + Layout.recordHeader, count: 4) { (bytes) throws(BagError) in
            UInt32(littleEndian: bytes.loadUnaligned(as: UInt32.self))
        }
        guard stored != 0, stored != crc else { return }
        damage.note(BagError(.crcMismatch, "the data section is damaged: its CRC differs", offset: offset))
    }

    private mutating func finish(at end: Int) throws(BagError) {
        position = end
        let magic = Layout.magic.count
        guard source.count - end >= magic else { return stop("the file ends before its closing magic bytes") }
        let isMagic = try source.withBytes(at: end, count: magic) { (bytes) throws(BagError) in
            bytes.elementsEqual(Layout.magic)
        }
        guard isMagic, source.count == end + magic else {
            ending = .malformed(BagError(.malformed, "data follows the footer instead of the magic", offset: end))
            return
        }
        ending = .complete
    }
}
