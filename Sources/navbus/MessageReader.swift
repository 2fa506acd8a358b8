import NavBus
import NavKit
import NavMessages

/// A reader that converts messages of any topic to text: by a file of descriptors, by the compiled-in schema if it equals the publisher's,
/// otherwise by the schema that the publisher serves.
final class MessageReader {
    private enum Schema {
        case pool(SchemaPool, type: String)
        case none(String)
    }

    private struct Key: Hashable {
        let bootID: UInt64
        let topic: String
    }

    private let tool: ToolBus
    private let descriptors: SchemaPool?
    private let type: String?
    private var schemas: [Key: Schema] = [:]
    private var publishers: [UInt64: Announcement] = [:]
    /// The boot ids of publishers that have left.
    private var strangers: Set<UInt64> = []
    private var noted: Set<String> = []

    /// Creates a reader.
    ///
    /// - Parameters:
    ///   - descriptors: a schema that takes precedence over all others.
    ///   - type: the type of the messages, overriding the publishers' announcements.
    init(_ tool: ToolBus, descriptors: SchemaPool?, type: String?) {
        self.tool = tool
        self.descriptors = descriptors
        self.type = type
    }

    /// Returns the node that sent a message; nil when it has left.
    func publisher(of delivery: Delivery) throws -> Announcement? {
        let bootID = delivery.header.bootID
        if let known = publishers[bootID] { return known }
        // The registry is read once for each publisher that it lacks.
        guard !strangers.contains(bootID), strangers.count < 4096 else { return nil }
        for node in try tool.snapshot().nodes { publishers[node.bootID] = node }
        if publishers[bootID] == nil { strangers.insert(bootID) }
        return publishers[bootID]
    }

    func json(_ delivery: Delivery, indent: Bool) throws -> Result<String, NodeError> {
        switch try schema(delivery) {
        case .none(let reason): return .failure(.printable(.missing, reason))
        case .pool(let pool, let type):
            do throws(MessageError) {
                let text = try pool.json(decoding: delivery.payload.bytes, as: type, indent: indent)
                if text.unknownFieldCount > 0 {
                    note("\(delivery.topic): the messages have fields that the local schema of \(type) does not have")
                }
                return .success(text.json)
            } catch {
                return .failure(NodeError(.invalid, "\(delivery.topic): \(error)"))
            }
        }
    }

    /// Returns the schema and the type of a message; nil when they are not known.
    func pool(of delivery: Delivery) throws -> (pool: SchemaPool, type: String)? {
        guard case .pool(let pool, let type) = try schema(delivery) else { return nil }
        return (pool, type)
    }

    private func note(_ text: String) {
        if noted.count < 1000, noted.insert(text).inserted { Console.note(text) }
    }

    private func schema(_ delivery: Delivery) throws -> Schema {
        let key = Key(bootID: delivery.header.bootID, topic: delivery.topic)
        if let known = schemas[key] { return known }
        let found = try find(delivery)
        if schemas.count > 4096 { schemas.removeAll() }
        schemas[key] = found
        return found
    }

    private func find(_ delivery: Delivery) throws -> Schema {
        let node = try publisher(of: delivery)
        let announced = node?.topics.first { $0.name == delivery.topic }
        guard
            let type = type ?? announced?.typeName
                ?? TopicCatalogue.topic(named: delivery.topic)?.type.fullName
        else { return .none("the publisher of \(delivery.topic) has left, and the type is unknown: give --type") }
        if let descriptors {
            return descriptors.message(named: type) != nil
                ? .pool(descriptors, type: type) : .none("the file of descriptors has no type '\(type)'")
        }
        let builtIn = NavMessages.Schema.type(named: type)
        let fingerprint = delivery.header.schemaFingerprint
        if let builtIn, fingerprint == 0 || fingerprint == builtIn.schemaFingerprint {
            return .pool(.builtIn, type: type)
        }
        var reason = "its publisher has left"
        if let node {
            switch try tool.schema(of: type, from: node) {
            case .success(let pool) where pool.message(named: type) != nil: return .pool(pool, type: type)
            case .success: reason = "the schema of node '\(node.node)' lacks it"
            case .failure(let error): reason = error.description
            }
        }
        if builtIn != nil {
            note(
                "\(delivery.topic): the publisher has another version of \(type), and \(reason); fields may be missing")
            return .pool(.builtIn, type: type)
        }
        return .none(
            "the type '\(type)' of \(delivery.topic) is unknown here, and \(reason): "
                + "give --descriptors FILE, or --raw for the bytes")
    }
}
