internal import CZeroMQ
internal import Glibc

/// A CURVE public key (Curve25519) that identifies a host.
public struct CurvePublicKey: Sendable, Hashable, CustomStringConvertible {
    /// The length of a key's text, in characters.
    public static let textLength = 40

    /// The key, 32 bytes.
    package let bytes: [UInt8]

    /// Parses a key's text: 40 characters of Z85, ZeroMQ's format.
    public init(_ text: String) throws(BusError) {
        guard text.utf8.count == Self.textLength, let bytes = Z85.decode(text) else {
            throw BusError(
                .invalidArgument,
                "'\(text.prefix(48))' is not a public key: expected 40 characters of Z85 as written by `navbus "
                    + "keygen` (in YAML in single quotes)")
        }
        self.bytes = bytes
    }

    init(bytes: [UInt8]) { self.bytes = bytes }

    /// The key's text, 40 characters of Z85.
    public var description: String { Z85.encode(bytes) }

    /// Reads a file of public keys: one key at the start of each line, optionally followed by a space and its owner's name.
    ///
    /// Empty lines and lines that start with `#` and a space are ignored.
    ///
    /// - Throws: ``BusError`` when the file cannot be read, is writable by users other than its owner, or has a malformed
    ///   line.
    public static func list(contentsOf path: String) throws(BusError) -> [CurvePublicKey] {
        let (bytes, status) = try FileSystem.read(path, limit: 1 << 20, ownedByRoot: true)
        guard status.st_mode & 0o022 == 0 else {
            throw BusError(
                .unsafeDirectory, "\(path) lists the allowed keys, but others may write to it: run chmod 644 \(path)")
        }
        var keys: [CurvePublicKey] = []
        for (index, line) in String(decoding: bytes, as: UTF8.self).split(
            separator: "\n", omittingEmptySubsequences: false
        ).enumerated() {
            guard let word = line.split(whereSeparator: { " \t\r".contains($0) }).first, word != "#" else { continue }
            do throws(BusError) {
                keys.append(try CurvePublicKey(String(word)))
            } catch {
                throw BusError(.invalidArgument, "\(path), line \(index + 1): \(error.description)")
            }
        }
        return keys
    }

    /// Reads a file that holds one public key, as `navbus keygen` writes it.
    public init(contentsOf path: String) throws(BusError) {
        let keys = try Self.list(contentsOf: path)
        guard let key = keys.first, keys.count == 1 else {
            throw BusError(.invalidArgument, "\(path) has \(keys.count) public keys, expected one")
        }
        self = key
    }
}

/// A CURVE secret key and its public key.
///
/// Text forms of this type never show the secret.
public struct CurveKeyPair: Sendable, CustomStringConvertible, CustomReflectable {
    /// The key that identifies this host to others.
    public let publicKey: CurvePublicKey
    let secret: [UInt8]

    /// Generates a new pair.
    ///
    /// - Throws: ``BusError/Code/transport`` when this libzmq was built without CURVE.
    public static func generate() throws(BusError) -> CurveKeyPair {
        try checkCurve()
        var open = [CChar](repeating: 0, count: 41)
        var hidden = [CChar](repeating: 0, count: 41)
        guard zmq_curve_keypair(&open, &hidden) == 0 else { throw ZeroMQError("make a key pair").asBusError }
        guard let publicBytes = Z85.decode(text(open)), let secret = Z85.decode(text(hidden)) else {
            throw BusError(.transport, "ZeroMQ made a key pair that is not Z85")
        }
        return CurveKeyPair(publicKey: CurvePublicKey(bytes: publicBytes), secret: secret)
    }

    private init(publicKey: CurvePublicKey, secret: [UInt8]) {
        (self.publicKey, self.secret) = (publicKey, secret)
    }

    /// Reads a secret key file, as `navbus keygen` writes it.
    ///
    /// - Throws: ``BusError`` when the file is accessible to other users (its mode must be 0600) or holds no key.
    public init(contentsOf path: String) throws(BusError) {
        try Self.checkCurve()
        let (bytes, status) = try FileSystem.read(path, limit: 4096)
        guard status.st_mode & 0o077 == 0 else {
            throw BusError(
                .unsafeDirectory,
                "the secret key \(path) has mode \(String(status.st_mode & 0o777, radix: 8)), which lets others read "
                    + "it: run chmod 600 \(path), or make a new key if others may have read it")
        }
        let words = String(decoding: bytes, as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix("# ") }
        guard words.count == 1, let word = words.first, word.utf8.count == CurvePublicKey.textLength,
            let secret = Z85.decode(word)
        else {
            throw BusError(.invalidArgument, "\(path) has no secret key: make one with `navbus keygen`")
        }
        var open = [CChar](repeating: 0, count: 41)
        guard zmq_curve_public(&open, String(word)) == 0, let publicBytes = Z85.decode(Self.text(open)) else {
            throw BusError(.invalidArgument, "\(path) has no valid CURVE secret key: make one with `navbus keygen`")
        }
        self.init(publicKey: CurvePublicKey(bytes: publicBytes), secret: secret)
    }

    /// Writes the pair: the secret key to `path`, mode 0600, and the public key to `publicPath`.
    ///
    /// - Parameter replacing: whether existing files are replaced; otherwise they are an error and stay.
    public func write(secretTo path: String, publicTo publicPath: String, replacing: Bool) throws(BusError) {
        if !replacing {
            for existing in [path, publicPath] where access(existing, F_OK) == 0 {
                throw BusError(.registry, "\(existing) exists: choose another name, or replace it with --force")
            }
        }
        let secretText = "# A secret key of navbus: it stays on this machine.\n\(Z85.encode(secret))\n"
        try Self.write(secretText, to: path, mode: 0o600, replacing: replacing)
        try Self.write("\(publicKey)\n", to: publicPath, mode: 0o644, replacing: replacing)
    }

    private static func write(_ text: String, to path: String, mode: mode_t, replacing: Bool) throws(BusError) {
        // Never writes into an existing file, so that a foreign mode or open descriptor cannot expose the key.
        let target = replacing ? "\(path).new-\(getpid())" : path
        guard let file = FileDescriptor.open(target, O_WRONLY | O_CREAT | O_EXCL, mode: mode) else {
            throw BusError(.registry, "cannot create \(target): \(FileSystem.reason())")
        }
        guard fchmod(file.rawValue, mode) == 0 else {
            throw BusError(.registry, "cannot protect \(target): \(FileSystem.reason())")
        }
        do throws(BusError) {
            try FileSystem.write(Array(text.utf8), to: file, path: target)
            guard fsync(file.rawValue) == 0, !replacing || rename(target, path) == 0 else {
                throw BusError(.registry, "cannot write \(path): \(FileSystem.reason())")
            }
        } catch {
            unlink(target)
            throw error
        }
    }

    /// Throws when this libzmq cannot encrypt.
    static func checkCurve() throws(BusError) {
        guard zmq_has("curve") == 1 else {
            throw BusError(
                .transport,
                "this libzmq was built without CURVE: install one with it, or set `insecure: true` on a network "
                    + "where everyone may read and write the bus")
        }
    }

    private static func text(_ buffer: [CChar]) -> String {
        String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// The public key's text.
    public var description: String { "the pair of \(publicKey)" }

    /// An empty mirror, so that `dump` shows no secret.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
