import Foundation
import NavBus
import NavKit
import NavMessages
import NavTestBus
import NavTestKit
import Testing

/// Typed clients and servers over both buses.
struct TypedServiceTests {
    enum Medium: CaseIterable { case inProcess, betweenProcesses }

    /// Creates two nodes on one bus; with real sockets, the server polls on a separate thread.
    private func withPair(
        _ medium: Medium, _ provider: @escaping @Sendable () -> Cache, _ body: (any Bus) throws -> Void
    ) throws {
        switch medium {
        case .inProcess:
            let network = InProcessNetwork()
            let cache = provider()
            let server = try InProcessBus(name: "server", network: network)
            try server.serve(TileCacheService.served(by: cache))
            try body(try InProcessBus(name: "client", network: network))
        case .betweenProcesses:
            try withTemporaryFolder { folder in
                let directory = try BusDirectory(path: folder, domain: "t")
                let stop = StopSignal([])
                let isReady = DispatchSemaphore(value: 0)
                let isOver = DispatchSemaphore(value: 0)
                Thread.detachNewThread {
                    defer { isOver.signal() }
                    do {
                        let server = try BusNode(name: "server", configuration: BusConfiguration(directory: directory))
                        let cache = provider()
                        try server.serve(TileCacheService.served(by: cache))
                        isReady.signal()
                        while !stop.isStopped { _ = try server.poll(timeout: .milliseconds(20)) }
                        server.close()
                    } catch {
                        Issue.record(error)
                        isReady.signal()
                    }
                }
                isReady.wait()
                defer {
                    stop.stop()
                    isOver.wait()
                }
                let client = try BusNode(name: "client", configuration: BusConfiguration(directory: directory))
                defer { client.close() }
                try body(client)
            }
        }
    }

    private let options = CallOptions(timeout: .seconds(30))

    @Test(arguments: Medium.allCases)
    func methodIsCalledWithItsTypes(_ medium: Medium) throws {
        try withPair(medium, { Cache() }) { client in
            let answer = try client.callBlocking(
                TileCacheService.getTile, GetTileRequest(key: TileKey(zoom: 12, x: 3, y: 4)), options: options)
            #expect(answer.data == [12, 3, 4])
            let stream = try client.callBlocking(
                TileCacheService.loadRegion, LoadRegionRequest(), options: options)
            #expect(stream.map { $0.progress?.completedCount } == [1, 2, 3] as [UInt64])
        }
    }

    // On the in-process bus time advances only on demand, so an answer of another thread would race with the deadline.
    @Test func anotherThreadMayAnswer() throws {
        try withPair(.betweenProcesses, { Cache() }) { client in
            let answer = try client.callBlocking(TileCacheService.statistics, StatisticsRequest(), options: options)
            #expect(answer == StatisticsResponse())
        }
    }

    @Test(arguments: Medium.allCases)
    func aThrownStatusIsTheStatusOfTheCall(_ medium: Medium) throws {
        try withPair(medium, { Cache() }) { client in
            let refused = #expect(throws: CallStatus.self) {
                try client.callBlocking(TileCacheService.purge, PurgeRequest(), options: options)
            }
            #expect(refused == CallStatus(.permissionDenied, "not today", details: [7]))
            let missing = #expect(throws: CallStatus.self) {
                try client.callBlocking(TileCacheService.getRegion, GetRegionRequest(regionId: "x"), options: options)
            }
            #expect(missing == CallStatus(.notFound, "no region 'x'"))
            let unforeseen = #expect(throws: CallStatus.self) {
                try client.callBlocking(TileCacheService.listRegions, ListRegionsRequest(), options: options)
            }
            #expect(unforeseen?.code == .unknown)
        }
    }

    @Test(arguments: Medium.allCases)
    func undecodableRequestIsAnInvalidArgument(_ medium: Medium) throws {
        try withPair(medium, { Cache() }) { client in
            for method in ["GetTile", "LoadRegion"] {
                let (responses, status) = try client.callBlocking(
                    TileCacheService.name, method, [0xff, 0xff, 0xff], options: options)
                #expect(responses.isEmpty && status.code == .invalidArgument)
                #expect(status.message.contains("Request: 3 bytes are not a valid message"))
            }
        }
    }

    @Test(arguments: Medium.allCases)
    func releasedCallEndsAtOnce(_ medium: Medium) throws {
        try withPair(medium, { Cache() }) { client in
            let answered = #expect(throws: CallStatus.self) {
                try client.callBlocking(TileCacheService.removeRegion, RemoveRegionRequest(), options: options)
            }
            #expect(answered == CallStatus(.internal, "the handler of 'RemoveRegion' ended without an answer"))
        }
    }

    @Test func callReleasedOnAnotherThreadEndsAtOnce() throws {
        try withPair(.betweenProcesses, { Cache() }) { client in
            let passedOn = #expect(throws: CallStatus.self) {
                try client.callBlocking(TileCacheService.updateRegion, UpdateRegionRequest(), options: options)
            }
            #expect(passedOn == CallStatus(.internal, "the handler of 'UpdateRegion' ended without an answer"))
        }
    }

    @Test func undecodableAnswerIsAnInternalError() throws {
        let network = InProcessNetwork()
        let server = try InProcessBus(name: "server", network: network)
        let client = try InProcessBus(name: "client", network: network)
        try server.serve(ServiceDescription(TileCacheService.descriptor)) { call in call.finish([0xff, 0xff]) }
        let unary = #expect(throws: CallStatus.self) {
            try client.callBlocking(TileCacheService.getTile, GetTileRequest(), options: options)
        }
        #expect(unary?.code == .internal && unary?.message.contains("TileCache/GetTile") == true)
        var ends: [CallStatus] = []
        try client.call(TileCacheService.loadRegion, LoadRegionRequest(), options: options) { event in
            if case .end(let status) = event { ends.append(status) }
        }
        while ends.isEmpty { try client.runServices(timeout: .milliseconds(10)) }
        try client.runServices(timeout: .milliseconds(10))
        #expect(ends.map(\.code) == [.internal])
    }

    @Test func releasedProviderIsUnavailable() throws {
        let network = InProcessNetwork()
        let server = try InProcessBus(name: "server", network: network)
        let client = try InProcessBus(name: "client", network: network)
        try server.serve(TileCacheService.served(by: Cache()))
        let gone = #expect(throws: CallStatus.self) {
            try client.callBlocking(TileCacheService.getTile, GetTileRequest(), options: options)
        }
        #expect(gone?.code == .unavailable)
    }
}

/// A provider that answers in every possible way.
private final class Cache: TileCacheServiceProvider {
    func getTile(_ request: GetTileRequest, _ call: UnaryCall<GetTileResponse>) throws {
        let tile = request.key ?? TileKey()
        call.finish(GetTileResponse(data: [tile.zoom, tile.x, tile.y].map { UInt8(truncatingIfNeeded: $0 ?? 0) }))
    }

    func loadRegion(_ request: LoadRegionRequest, _ call: StreamCall<LoadRegionResponse>) throws {
        for count in UInt64(1)...2 { call.send(Cache.part(count)) }
        call.finish(Cache.part(3))
    }

    private static func part(_ count: UInt64) -> LoadRegionResponse {
        LoadRegionResponse(progress: RegionProgress(completedCount: count))
    }

    func statistics(_ request: StatisticsRequest, _ call: UnaryCall<StatisticsResponse>) throws {
        let responder = call.makeResponder()
        Thread.detachNewThread { responder.finish(StatisticsResponse()) }
    }

    func purge(_ request: PurgeRequest, _ call: UnaryCall<PurgeResponse>) throws {
        throw CallStatus(.permissionDenied, "not today", details: [7])
    }

    func getRegion(_ request: GetRegionRequest, _ call: UnaryCall<GetRegionResponse>) throws {
        throw NodeError(.missing, "no region '\(request.regionId ?? "")'")
    }

    func listRegions(_ request: ListRegionsRequest, _ call: UnaryCall<ListRegionsResponse>) throws {
        throw CancellationError()
    }

    func removeRegion(_ request: RemoveRegionRequest, _ call: UnaryCall<RemoveRegionResponse>) throws {}

    func updateRegion(_ request: UpdateRegionRequest, _ call: UnaryCall<UpdateRegionResponse>) throws {
        let responder = call.makeResponder()
        Thread.detachNewThread { withExtendedLifetime(responder) {} }
    }

    func cancelLoad(_ request: CancelLoadRequest, _ call: UnaryCall<CancelLoadResponse>) throws {}
    func estimateRegion(_ request: EstimateRegionRequest, _ call: UnaryCall<EstimateRegionResponse>) throws {}
    func coverage(_ request: TileCoverageRequest, _ call: UnaryCall<TileCoverageResponse>) throws {}
}
