internal import CZeroMQ

/// The libzmq library in use, for tools that inspect an installation.
public enum ZeroMQLibrary {
    /// Its version, for example `4.3.4`.
    public static var version: String {
        var (major, minor, patch) = (Int32(0), Int32(0), Int32(0))
        zmq_version(&major, &minor, &patch)
        return "\(major).\(minor).\(patch)"
    }

    /// Whether it was built with CURVE, which encrypts connections between hosts.
    public static var hasCurve: Bool { zmq_has("curve") == 1 }
}
