import Foundation
import Logging
import NavBag
import NavBus
import NavKit
import NavMessages
import NavRecording
import NavTestKit
import Testing

/// What a recording says about the nodes that it heard.
struct RecordedDescriptionTests {
    /// A node that answers with its version and parameters.
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

    @Test(arguments: [false, true])
    func bagHasTheVersionsAndParametersOfNodes(isOnAnotherHost: Bool) throws {
        try withTemporaryFolder { folder in
            let tiles = folder + "/tiles"
            try FileManager.default.createDirectory(atPath: tiles, withIntermediateDirectories: true)
            try Data("{}".utf8).write(to: URL(fileURLWithPath: tiles + "/tileset.json"))
            // Nodes of different domains meet over TCP only.
            func directory(_ name: String) throws -> BusDirectory {
                try BusDirectory(path: folder, domain: isOnAnotherHost ? name : "one")
            }
            func node(_ name: String, _ hosts: HostConfiguration) throws -> BusNode {
                var configuration = BusConfiguration(directory: try directory(name))
                if isOnAnotherHost { configuration.hosts = hosts }
                return try BusNode(name: name, configuration: configuration)
            }
            let speaker = try node(
                "speaker", HostConfiguration(listen: try TCPEndpoint("tcp://127.0.0.1:0"), security: .insecure))
            defer { speaker.close() }
            let provider = DescribedNode(tiles: tiles)
            try speaker.serve(NodeService.served(by: provider))
            var peers: [HostConfiguration.Peer] = []
            if isOnAnotherHost {
                peers = [HostConfiguration.Peer(endpoint: try #require(speaker.listeningEndpoint), key: nil)]
            }
            let bus = try node("recorder", HostConfiguration(peers: peers, security: .insecure))
            defer { bus.close() }
            let path = folder + "/described.mcap"
            let recorder = try BagRecorder(
                bus, path: path, options: BagRecorder.Options(), directory: try directory("recorder"),
                log: NodeLog(node: "recorder", level: .critical))
            let stop = StopSignal([])
            nonisolated(unsafe) let answering = speaker
            let isOver = DispatchSemaphore(value: 0)
            Thread {
                defer { isOver.signal() }
                try? until("the description", seconds: 60) {
                    _ = try answering.poll(timeout: .milliseconds(20))
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
            let facts = try #require(try entries("navbus.node/speaker"))
            #expect(facts["version"] == "7.1" && facts["host"] == "roof")
            #expect(facts["command"]?.isEmpty == (isOnAnotherHost ? nil : false))
            #expect(try entries("navbus.parameters/speaker") == ["tiles": tiles])
            // A path of another host says nothing about the files of this one.
            #expect(reader.index.attachments.map(\.name) == (isOnAnotherHost ? [] : ["tileset.json"]))
        }
    }
}
