internal import CNavProto
internal import Glibc

/// A message that is encoded and decoded through its protobuf-c struct; generated code conforms.
protocol WireMessage: Message {
    associatedtype CStruct
    /// Fills the struct with the defaults of its descriptor.
    static func prepare(_ c: UnsafeMutablePointer<CStruct>)
    /// Unpacks bytes into blocks of the allocator; `nil` when they are malformed or the allocator refused.
    static func unpack(
        _ allocator: UnsafeMutablePointer<ProtobufCAllocator>, _ bytes: UnsafeRawBufferPointer
    ) -> UnsafeMutablePointer<CStruct>?
    /// Copies the value into a prepared struct; strings, arrays and inner messages go to the arena.
    func fill(_ c: UnsafeMutablePointer<CStruct>, _ arena: Wire.Arena)
    init(reading c: UnsafePointer<CStruct>) throws(MessageError)
}

/// The codec that generated code calls, and the conversions between Swift values and protobuf-c's.
///
/// Both directions use an arena that starts with 1 KiB of stack, so that a small message needs no heap except for the Swift
/// values themselves.
enum Wire {
    typealias Arena = UnsafeMutablePointer<nav_arena>

    /// The bytes of stack that an encode or decode starts with; a larger message uses the heap.
    static var stackBytes: Int { 1024 }
    /// Returns the most bytes of C structs that unpacking may take.
    ///
    /// An empty inner message of 2 bytes takes several hundred, so hostile bytes expand 76-fold and more, while valid ones
    /// (numbers, text, packed columns) stay under 32-fold.
    static func expansionLimit(_ size: Int) -> Int { 256 << 10 + 32 &* size }

    // MARK: codec

    @inline(__always)
    static func withArena<R>(limit: Int, _ body: (Arena) -> R) -> R {
        withUnsafeTemporaryAllocation(byteCount: stackBytes, alignment: 16) { stack in
            var arena = nav_arena_make(stack.baseAddress, stack.count, limit)
            defer { if arena.chunks != nil { nav_arena_free(&arena) } }
            return withUnsafeMutablePointer(to: &arena, body)
        }
    }

    @inline(__always)
    static func pack<M: WireMessage, R>(
        _ value: M, _ body: (_ size: Int, _ write: (UnsafeMutableRawBufferPointer) -> Void) -> R
    ) -> R {
        withArena(limit: Int.max / 2) { arena in
            let c = message(value, arena)
            let base = UnsafePointer(UnsafeRawPointer(c).assumingMemoryBound(to: ProtobufCMessage.self))
            let size = protobuf_c_message_get_packed_size(base)
            return body(size) { out in
                precondition(out.count >= size, "encode(into:) was given a buffer smaller than it asked for")
                guard size > 0, let start = out.baseAddress else { return }
                protobuf_c_message_pack(base, start.assumingMemoryBound(to: UInt8.self))
            }
        }
    }

    static func encode<M: WireMessage>(_ value: M, into buffer: (Int) -> UnsafeMutableRawBufferPointer) {
        pack(value) { size, write in write(buffer(size)) }
    }

    static func encoded<M: WireMessage>(_ value: M) -> [UInt8] {
        pack(value) { size, write in
            [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
                write(UnsafeMutableRawBufferPointer(buffer))
                count = size
            }
        }
    }

    static func decode<M: WireMessage>(_ bytes: UnsafeRawBufferPointer, limit: Int) throws(MessageError) -> M {
        guard bytes.count <= limit, bytes.count <= Int(Int32.max) else {
            throw .tooLarge(type: M.fullName, size: bytes.count, limit: limit)
        }
        let most = expansionLimit(bytes.count)
        // Plain variables instead of a Result: the value is large, and a Result would copy it twice.
        var value: M?
        var failure: MessageError?
        withArena(limit: most) { arena in
            var allocator = nav_arena_allocator(arena)
            guard let c = M.unpack(&allocator, bytes) else {
                failure =
                    arena.pointee.exhausted != 0
                    ? .expandsTooMuch(type: M.fullName, size: bytes.count, limit: most)
                    : .malformed(type: M.fullName, size: bytes.count)
                return
            }
            do throws(MessageError) { value = try M(reading: c) } catch { failure = error }
        }
        if let value { return value }
        throw failure ?? .malformed(type: M.fullName, size: bytes.count)
    }

    // MARK: to C

    @inline(__always)
    static func take(_ size: Int, _ arena: Arena) -> UnsafeMutableRawPointer {
        guard let block = nav_arena_alloc(arena, size) else {
            preconditionFailure("out of memory: \(size) bytes for a message that is being sent")
        }
        return block
    }

    @inline(__always)
    static func take<T>(_ type: T.Type, _ count: Int, _ arena: Arena) -> UnsafeMutablePointer<T> {
        take(count * MemoryLayout<T>.stride, arena).assumingMemoryBound(to: T.self)
    }

    static func string(_ value: String, _ arena: Arena) -> UnsafeMutablePointer<CChar> {
        var value = value
        let copy: UnsafeMutablePointer<CChar>? = value.withUTF8 { text in
            let out = take(CChar.self, text.count + 1, arena)
            out[text.count] = 0
            guard let start = text.baseAddress else { return out }
            if memchr(start, 0, text.count) != nil { return nil }
            memcpy(out, start, text.count)
            return out
        }
        if let copy { return copy }
        let clean = String(String.UnicodeScalarView(value.unicodeScalars.map { $0 == "\0" ? "\u{fffd}" : $0 }))
        return string(clean, arena)
    }

    static func strings(
        _ values: [String], _ arena: Arena
    ) -> UnsafeMutablePointer<UnsafeMutablePointer<CChar>?> {
        let out = take(UnsafeMutablePointer<CChar>?.self, values.count, arena)
        for (index, value) in values.enumerated() { out[index] = string(value, arena) }
        return out
    }

    static func bytes(_ value: [UInt8], _ arena: Arena) -> ProtobufCBinaryData {
        ProtobufCBinaryData(len: value.count, data: scalars(value, arena))
    }

    static func byteStrings(_ values: [[UInt8]], _ arena: Arena) -> UnsafeMutablePointer<ProtobufCBinaryData> {
        let out = take(ProtobufCBinaryData.self, values.count, arena)
        for (index, value) in values.enumerated() { out[index] = bytes(value, arena) }
        return out
    }

    static func scalars<T: BitwiseCopyable>(_ values: [T], _ arena: Arena) -> UnsafeMutablePointer<T> {
        let out = take(T.self, values.count, arena)
        values.withUnsafeBufferPointer { source in
            if let start = source.baseAddress { out.update(from: start, count: source.count) }
        }
        return out
    }

    static func bools(_ values: [Bool], _ arena: Arena) -> UnsafeMutablePointer<protobuf_c_boolean> {
        scalars(values.map { $0 ? 1 : 0 }, arena)
    }

    static func enums<E: ProtoEnum, C>(_ values: [E], _ arena: Arena) -> UnsafeMutablePointer<C> {
        UnsafeMutableRawPointer(scalars(values, arena)).assumingMemoryBound(to: C.self)
    }

    static func message<M: WireMessage>(_ value: M, _ arena: Arena) -> UnsafeMutablePointer<M.CStruct> {
        let c = take(M.CStruct.self, 1, arena)
        M.prepare(c)
        value.fill(c, arena)
        return c
    }

    static func messages<M: WireMessage>(
        _ values: [M], _ arena: Arena
    ) -> UnsafeMutablePointer<UnsafeMutablePointer<M.CStruct>?> {
        let out = take(UnsafeMutablePointer<M.CStruct>?.self, values.count, arena)
        let structs = take(M.CStruct.self, values.count, arena)
        for (index, value) in values.enumerated() {
            M.prepare(structs + index)
            value.fill(structs + index, arena)
            out[index] = structs + index
        }
        return out
    }

    // MARK: from C

    /// Returns the string in a block of the decoding arena; the block's size reveals an embedded NUL.
    static func string(_ c: UnsafeMutablePointer<CChar>?, _ field: StaticString) throws(MessageError) -> String? {
        guard let c else { return nil }
        let count = nav_arena_block_size(c) - 1
        let text = UnsafeBufferPointer(start: UnsafeRawPointer(c).assumingMemoryBound(to: UInt8.self), count: count)
        guard memchr(c, 0, count) == nil, let value = String(validating: text, as: UTF8.self) else {
            throw .invalidString(field: "\(field)")
        }
        return value
    }

    static func strings(
        _ c: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?, _ count: Int, _ field: StaticString
    ) throws(MessageError) -> [String] {
        guard let c else { return [] }
        var out: [String] = []
        out.reserveCapacity(count)
        for index in 0..<count {
            if let value = try string(c[index], field) { out.append(value) }
        }
        return out
    }

    static func bytes(_ c: ProtobufCBinaryData) -> [UInt8] {
        scalars(c.data, c.len)
    }

    static func byteStrings(_ c: UnsafeMutablePointer<ProtobufCBinaryData>?, _ count: Int) -> [[UInt8]] {
        UnsafeBufferPointer(start: c, count: c == nil ? 0 : count).map { bytes($0) }
    }

    static func scalars<T: BitwiseCopyable>(_ c: UnsafeMutablePointer<T>?, _ count: Int) -> [T] {
        count == 0 ? [] : Array(UnsafeBufferPointer(start: c, count: c == nil ? 0 : count))
    }

    static func bools(_ c: UnsafeMutablePointer<protobuf_c_boolean>?, _ count: Int) -> [Bool] {
        UnsafeBufferPointer(start: c, count: c == nil ? 0 : count).map { $0 != 0 }
    }

    static func enums<E: ProtoEnum, C>(_ c: UnsafeMutablePointer<C>?, _ count: Int) -> [E] {
        guard let c, count > 0 else { return [] }
        return Array(
            UnsafeBufferPointer(start: UnsafeRawPointer(c).assumingMemoryBound(to: E.self), count: count))
    }

    static func message<M: WireMessage>(_ c: UnsafeMutablePointer<M.CStruct>?) throws(MessageError) -> M? {
        guard let c else { return nil }
        return try M(reading: c)
    }

    static func messages<M: WireMessage>(
        _ c: UnsafeMutablePointer<UnsafeMutablePointer<M.CStruct>?>?, _ count: Int
    ) throws(MessageError) -> [M] {
        guard let c else { return [] }
        var out: [M] = []
        out.reserveCapacity(count)
        for index in 0..<count {
            if let inner = c[index] { out.append(try M(reading: inner)) }
        }
        return out
    }
}
