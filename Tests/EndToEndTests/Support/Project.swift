import Foundation
import NavTestKit
import NavTestSystem

/// Where things are.
enum Project {
    /// The repository.
    static let root = TestData.project

    /// The demo's extract of OpenStreetMap.
    static let map = TestData.fixture("helsinki.osm.pbf")

    /// Python with pyzmq, protobuf, mcap and mcap-protobuf-support: `NAVBUS_PYTHON`, else the system's.
    static let python = Python.path

    /// Whether Python has what the tests of real peers need.
    static let hasPython = Python.has("google.protobuf, mcap, mcap_protobuf, zmq")

    /// Whether Python can write extracts of OpenStreetMap.
    static let hasOsmium = Python.has("osmium")

    /// A program of the system; gpsd lies where only root's `PATH` leads.
    static func find(_ program: String) -> String? {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        return (path + ":/usr/sbin").split(separator: ":").map { "\($0)/\(program)" }.first {
            FileManager.default.isExecutableFile(atPath: $0)
        }
    }
}

/// A JSON document as it comes.
func json(_ text: some StringProtocol) throws -> Any {
    try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
}

/// Message counts by topic, as `navbus bag info --json` tells them.
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
