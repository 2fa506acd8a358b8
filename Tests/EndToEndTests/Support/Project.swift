import Foundation
import NavTestKit
import NavTestSystem

/// Paths of the repository and of tools.
enum Project {
    static let root = TestData.project

    /// The demo's extract of OpenStreetMap.
    static let map = TestData.fixture("helsinki.osm.pbf")

    /// Python with pyzmq, protobuf, mcap and mcap-protobuf-support: `NAVBUS_PYTHON`, else the system's.
    static let python = Python.path

    /// Whether Python has the packages for the tests with Python peers.
    static let hasPython = Python.has("google.protobuf, mcap, mcap_protobuf, zmq")

    /// Whether Python can write extracts of OpenStreetMap.
    static let hasOsmium = Python.has("osmium")

    /// Returns the path of a system program; gpsd is only in root's `PATH`.
    static func find(_ program: String) -> String? {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        return (path + ":/usr/sbin").split(separator: ":").map { "\($0)/\(program)" }.first {
            FileManager.default.isExecutableFile(atPath: $0)
        }
    }
}

/// Parses a JSON document.
func json(_ text: some StringProtocol) throws -> Any {
    try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
}

/// Returns the message counts by topic from the output of `navbus bag info --json`.
func topicCounts(of info: String) throws -> [String: Int] {
    guard let document = try json(info) as? [String: Any], let topics = document["topics"] as? [[String: Any]] else {
        throw Failure("no topics in \(info)")
    }
    return try Dictionary(
        uniqueKeysWithValues: topics.map { topic in
            guard let name = topic["topic"] as? String, let count = topic["messages"] as? Int else {
                throw Failure("no count in \(topic)")
            }
            return (name, count)
        })
}
