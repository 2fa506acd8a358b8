internal import CZlib
internal import CZstd

/// Compression in the formats that servers use.
package enum Packer {
    /// Compresses bytes as gzip.
    package static func gzip(_ bytes: [UInt8]) -> [UInt8] { deflate(bytes, windowBits: 31) }

    /// Compresses bytes as gzip, zlib or raw deflate, according to zlib's `windowBits`.
    package static func deflate(_ bytes: [UInt8], windowBits: Int32) -> [UInt8] {
        var stream = z_stream()
        let size = Int32(MemoryLayout<z_stream>.size)
        guard deflateInit2_(&stream, 6, Z_DEFLATED, windowBits, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, size) == Z_OK
        else { return [] }
        defer { deflateEnd(&stream) }
        var input = bytes
        var output = [UInt8](repeating: 0, count: Int(deflateBound(&stream, UInt(bytes.count))) + 64)
        let made = input.withUnsafeMutableBufferPointer { input in
            output.withUnsafeMutableBufferPointer { output -> Int in
                stream.next_in = input.baseAddress
                stream.avail_in = UInt32(input.count)
                stream.next_out = output.baseAddress
                stream.avail_out = UInt32(output.count)
                _ = CZlib.deflate(&stream, Z_FINISH)
                return output.count - Int(stream.avail_out)
            }
        }
        return Array(output[..<made])
    }

    /// Compresses bytes as zstd.
    package static func zstd(_ bytes: [UInt8]) -> [UInt8] {
        var output = [UInt8](repeating: 0, count: ZSTD_compressBound(bytes.count))
        let made = output.withUnsafeMutableBytes { output in
            bytes.withUnsafeBytes {
                ZSTD_compress(output.baseAddress, output.count, $0.baseAddress, $0.count, 3)
            }
        }
        return Array(output[..<made])
    }
}
