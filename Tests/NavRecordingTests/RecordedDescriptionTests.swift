import Foundation
import Logging
import NavBag
import NavBus
import NavKit
import NavMessages
import NavRecording
import NavTestKit
import Testing

/// The descriptions of nodes in a recording.
struct RecordedDescriptionTests {
    /// A node that reports its version and parameters.
    private final class DescribedNode: NodeServiceProvider {
        let tiles: String

        init(tiles: String) { self.tiles = tiles }

        func getInfo(_ request: GetInfoRequest, _ call: UnaryCall<GetInfoResponse>) throws {
            call.finish(GetInfoResponse(node: "speaker", version: "7.1", host: "roof"))
        }
        func getParameters(_ request: GetParametersRequest, _ call: UnaryCall<GetParametersResponse>) throws {
            call.finish(GetParametersResponse(parameters: [Parameter(key: "tiles", value: .stringValue(tiles))]))
        }
        func barrier(_ request: BarrierRequest, _ call: UnaryCall<BarrierResponse>) throws { throw missing }
        func getSchema(_ request: GetSchemaRequest, _ call: UnaryCall<GetSchemaResponse>) throws { throw missing }
        func setParameters(_ request: SetParametersRequest, _ call: UnaryCall<SetParametersResponse>) throws {
            throw missing
        }
        func shutdown(_ request: ShutdownRequest, _ call: UnaryCall<ShutdownResponse>) throws { throw missing }
        func changeState(_ request: ChangeStateRequest, _ call: UnaryCall<ChangeStateResponse>) throws {
            throw missing
        }
        private var missing: CallStatus { CallStatus(.unimplemented, "not here") }
    }

    /// A node of another host may have the same name as a local one.
    @Test(arguments: [[true], [false], [true, false]])
    func bagHasTheVersionsAndParametersOfNodes(areHere: [Bool]) throws {
        try withTemporaryFolder { folder in
            let tiles = folder + "/tiles"
            try FileManager.default.createDirectory(atPath: tiles, withIntermediateDirectories: true)
            try Data("{}".utf8).write(to: URL(fileURLWithPath: tiles + "/tileset.json"))
            // Nodes of different domains are connected over TCP only.
            func directory(isHere: Bool) throws -> BusDirectory {
                try BusDirectory(path: folder, domain: isHere ? "here" : "away")
            }
            func node(_ name: String, isHere: Bool, _ hosts: HostConfiguration?) throws -> BusNode {
                var configuration = BusConfiguration(directory: try directory(isHere: isHere))
                configuration.hosts = hosts
                return try BusNode(name: name, configuration: configuration)
            }
            let provider = DescribedNode(tiles: tiles)
            let speakers = try areHere.map { isHere in
                let listen = try TCPEndpoint("tcp://127.0.0.1:0")
                let speaker = try node(
                    "speaker", isHere: isHere, isHere ? nil : HostConfiguration(listen: listen, security: .insecure))
                try speaker.serve(NodeService.served(by: provider))
                return speaker
            }
            defer { for speaker in speakers { speaker.close() } }
            let peers = speakers.compactMap(\.listeningEndpoint).map { HostConfiguration.Peer(endpoint: $0, key: nil) }
            let bus = try node(
                "recorder", isHere: true, peers.isEmpty ? nil : HostConfiguration(peers: peers, security: .insecure))
            defer { bus.close() }
            let path = folder + "/described.mcap"
            let recorder = try BagRecorder(
                bus, path: path, options: BagRecorder.Options(), directory: try directory(isHere: true),
                log: NodeLog(node: "recorder", level: .critical))
            let stop = StopSignal([])
            // Once the recorder has subscribed, the bus connects to the peers.
            try until("the other host", seconds: 60) {
                for node in speakers + [bus] { _ = try node.poll(timeout: .milliseconds(20)) }
                return bus.peerAnnouncements.count == peers.count
            }
            nonisolated(unsafe) let answering = speakers
            let isOver = DispatchSemaphore(value: 0)
            Thread {
                defer { isOver.signal() }
                try? until("the description", seconds: 60) {
                    for node in answering { _ = try node.poll(timeout: .milliseconds(20)) }
                    let names = (try? BagReader(path: path))?.index.metadata.map(\.name) ?? []
                    return names.contains("navbus.node/speaker") && names.contains("navbus.parameters/speaker")
                }
                stop.stop()
            }.start()
            _ = try recorder.run(until: stop)
            isOver.wait()
            let reader = try BagReader(path: path)
            func entries(_ name: String) throws -> [String: String]? {
                try reader.index.metadata.first { $0.name == name }.map { try reader.metadata($0).entries }
            }
            // The answer of one node is not attributed to another.
            #expect(reader.index.metadata.count { $0.name == "navbus.node/speaker" } == 1)
            let facts = try #require(try entries("navbus.node/speaker"))
            #expect(facts["version"] == "7.1" && facts["host"] == "roof")
            #expect(facts["command"]?.isEmpty == (areHere[0] ? false : nil))
            #expect(try entries("navbus.parameters/speaker") == ["tiles": tiles])
            // A path on another host does not refer to local files.
            #expect(reader.index.attachments.map(\.name) == (areHere[0] ? ["tileset.json"] : []))
        }
    }
}
