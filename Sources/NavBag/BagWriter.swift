/// A bag written to a file.
package typealias BagWriter = MCAPWriter<FileSink>

extension MCAPWriter where Sink == FileSink {
    /// Creates the file at `path`; see ``FileSink/init(path:overwrite:durable:)``.
    package init(
        path: String, overwrite: Bool = false, durable: Bool = false, options: BagWriteOptions = BagWriteOptions()
    ) throws(BagError) {
        try self.init(FileSink(path: path, overwrite: overwrite, durable: durable), options: options)
    }
}

extension MCAPWriter {
    /// Writes one message from an array.
    package mutating func write(
        channel: UInt16, sequence: UInt32, logTime: UInt64, publishTime: UInt64, data: [UInt8]
    ) throws(BagError) {
        try data.span.withUnsafeBytes { (bytes) throws(BagError) in
            try write(channel: channel, sequence: sequence, logTime: logTime, publishTime: publishTime, data: bytes)
        }
    }

    /// Writes one message from a slice, such as the data of a ``BagMessage``.
    package mutating func write(
        channel: UInt16, sequence: UInt32, logTime: UInt64, publishTime: UInt64, data: ArraySlice<UInt8>
    ) throws(BagError) {
        try data.span.withUnsafeBytes { (bytes) throws(BagError) in
            try write(channel: channel, sequence: sequence, logTime: logTime, publishTime: publishTime, data: bytes)
        }
    }
}
