internal import CZeroMQ
internal import Glibc

/// An error number of libzmq, with the operation that failed.
package struct ZeroMQError: Error, Sendable, CustomStringConvertible {
    /// A libzmq or POSIX error number.
    package struct Code: RawRepresentable, Hashable, Sendable {
        package let rawValue: Int32

        package init(rawValue: Int32) { self.rawValue = rawValue }

        /// Nothing to receive, or no room to send, right now.
        package static let again = Code(rawValue: EAGAIN)
        /// A signal arrived.
        package static let interrupted = Code(rawValue: EINTR)

        package static func ~= (pattern: Code, value: ZeroMQError) -> Bool { value.code == pattern }
    }

    package let code: Code
    package let operation: String

    package init(_ operation: String) {
        code = Code(rawValue: zmq_errno())
        self.operation = operation
    }

    package var description: String {
        "\(operation): \(String(cString: zmq_strerror(code.rawValue)))"
    }

    package var asBusError: BusError { BusError(.transport, "ZeroMQ refused to \(description)") }
}
