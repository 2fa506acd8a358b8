import Foundation
import NavBus
import NavTestBus
import Testing

/// Guarantees of services beyond a successful call, on both buses.
@Suite struct ServiceGuaranteeTests {
    @Test(arguments: Implementation.allCases)
    func misspeltNameIsUnimplementedWithASuggestion(_ implementation: Implementation) throws {
        let pair = try Pair(implementation)
        try pair.server.serve(ServiceConformanceTests.service) { $0.finish([]) }
        let status = try pair.call("Sya").status
        #expect(status.code == .unimplemented)
        #expect(status.message == "'test.Echo' has no method 'Sya'; did you mean 'Say'?")
        var end: CallStatus?
        _ = try pair.client.call("test.Ecko", "Say", [], options: CallOptions(timeout: .seconds(50))) {
            if case .end(let status) = $0 { end = status }
        }
        try pair.turn { end != nil }
        #expect(end?.code == .unavailable)
        #expect(end?.message.hasSuffix("did you mean 'test.Echo'?") == true)
    }

    @Test(arguments: Implementation.allCases)
    func serverSuggestsTheMostSimilarService(_ implementation: Implementation) throws {
        let pair = try Pair(implementation)
        try pair.server.serve(ServiceConformanceTests.service) { $0.finish([]) }
        var options = CallOptions(timeout: .seconds(50))
        options.node = "server"
        var end: CallStatus?
        _ = try pair.client.call("test.Ecko", "Say", [], options: options) {
            if case .end(let status) = $0 { end = status }
        }
        try pair.turn { end != nil }
        #expect(end?.code == .unimplemented)
        #expect(end?.message == "this node does not serve 'test.Ecko'; did you mean 'test.Echo'?")
    }

    @Test(arguments: Implementation.allCases)
    func mismatchOfUnaryAndStreamIsReported(_ implementation: Implementation) throws {
        let pair = try Pair(implementation)
        try pair.server.serve(ServiceConformanceTests.service) { $0.finish([]) }
        var options = CallOptions(timeout: .seconds(50))
        options.expectsStream = false
        let stream = try pair.call("Count", [], options).status
        #expect(stream.code == .unimplemented && stream.message.contains("answers with a stream"))
        options.expectsStream = true
        let unary = try pair.call("Say", [], options).status
        #expect(unary.code == .unimplemented && unary.message.contains("has one answer"))
        #expect(try pair.call("Count", [], options).status == .ok)
    }

    @Test(arguments: Implementation.allCases)
    func unaryCallWithoutAnAnswerIsInternal(_ implementation: Implementation) throws {
        let pair = try Pair(implementation)
        try pair.server.serve(ServiceConformanceTests.service) { $0.finish(.ok) }
        #expect(try pair.call("Say").status.code == .internal)
        #expect(try pair.call("Count").status == .ok)
        #expect(pair.client.serviceStatistics.violations == 1)
    }

    @Test(arguments: Implementation.allCases)
    func answerOverTheCallersLimitIsNotSent(_ implementation: Implementation) throws {
        let pair = try Pair(implementation)
        var wasSent: Bool?
        try pair.server.serve(ServiceConformanceTests.service) { wasSent = $0.finish([UInt8](repeating: 0, count: 11)) }
        var options = CallOptions(timeout: .seconds(50))
        options.maximumResponseSize = 10
        let answer = try pair.call("Say", [], options)
        #expect(answer.status.code == .resourceExhausted)
        #expect(answer.responses.isEmpty)
        #expect(wasSent == false)
    }

    @Test(arguments: Implementation.allCases)
    func workerThreadStreamsWithCreditAndEndsTheCall(_ implementation: Implementation) throws {
        let pair = try Pair(implementation)
        try pair.server.serve(ServiceConformanceTests.service) { call in
            let responder = call.makeResponder()
            Thread.detachNewThread {
                for value in 0..<1000 {
                    while !responder.send([UInt8(truncatingIfNeeded: value)]) {
                        guard !responder.isCancelled else { return }
                        _ = responder.waitForCredit(timeout: .seconds(1))
                    }
                }
                responder.finish([255])
            }
        }
        var options = CallOptions(timeout: .seconds(500))
        options.window = 8
        let answer = try pair.call("Count", [], options)
        #expect(answer.status == .ok)
        #expect(answer.responses == (0..<1000).map { [UInt8(truncatingIfNeeded: $0)] } + [[255]])
    }

    @Test(arguments: Implementation.allCases)
    func cancelledCallNotifiesItsWorker(_ implementation: Implementation) throws {
        let pair = try Pair(implementation)
        var responder: CallResponder?
        try pair.server.serve(ServiceConformanceTests.service) { responder = $0.makeResponder() }
        let id = try pair.client.call("test.Echo", "Wait", [], options: CallOptions(timeout: .seconds(500))) { _ in }
        try pair.turn { responder != nil }
        try pair.client.cancel(id)
        try pair.turn { responder?.isCancelled == true }
        responder?.finish([1])
        #expect(responder?.send([1]) == false)
        #expect(try pair.call("Nothing").status.code == .unimplemented)
    }

    @Test(arguments: Implementation.allCases)
    func handlersMayCallCancelAndCloseAndNestingIsBounded(_ implementation: Implementation) throws {
        let pair = try Pair(implementation)
        var (depth, deepest) = (0, 0)
        let other = ServiceDescription(name: "test.Other", methods: [MethodDescription("Back")])
        try pair.client.serve(other) { call in
            depth += 1
            deepest = max(deepest, depth)
            let inner = try? pair.client.callBlocking(
                "test.Other", "Back", [], options: CallOptions(timeout: .seconds(500)))
            depth -= 1
            call.finish(inner?.status.code == .ok ? .ok : CallStatus(inner?.status.code ?? .unknown, "inner"))
        }
        let outer = try pair.client.callBlocking("test.Other", "Back", [], options: CallOptions(timeout: .seconds(500)))
        #expect(outer.status.code == .resourceExhausted)
        #expect(deepest == ServiceServer.maximumNesting)

        try pair.server.serve(ServiceConformanceTests.service) { _ in pair.server.close() }
        // The call ends as unavailable, unless its helper's loop first finds that the server is closed.
        if let status = try? pair.call("Say").status { #expect(status.code == .unavailable) }
        #expect(busError { try pair.server.runServices(timeout: .zero) }?.code == .closed)
        var end: CallStatus?
        let first = try pair.client.call("test.Other", "Gone", [], options: CallOptions(timeout: .seconds(50))) {
            event in
            if case .end(let status) = event {
                end = status
                pair.client.close()
            }
        }
        #expect(end?.code == .unimplemented)
        #expect(busError { try pair.client.cancel(first) }?.code == .closed)
    }

    @Test func fullTableAndUsedNameAreDifferentErrors() throws {
        let node = try InProcessBus(name: "n", network: InProcessNetwork())
        for index in 0..<ServiceDescription.maximumServices {
            try node.serve(ServiceDescription(name: "s\(index)", methods: [])) { _ in }
        }
        let full = busError { try node.serve(ServiceDescription(name: "more", methods: [])) { _ in } }
        #expect(full?.code == .limitReached)
        let taken = busError { try node.serve(ServiceDescription(name: "s1", methods: [])) { _ in } }
        #expect(taken?.code == .serviceConflict)
    }

    @Test func busyServerIsNotMistakenForADeadOne() throws {
        let network = InProcessNetwork()
        let (server, client) = (
            try InProcessBus(name: "server", network: network), try InProcessBus(name: "client", network: network)
        )
        var held: ServerCall?
        try server.serve(ServiceConformanceTests.service) { held = $0 }
        var end: CallStatus?
        _ = try client.call("test.Echo", "Wait", [], options: CallOptions(timeout: .seconds(60))) {
            if case .end(let status) = $0 { end = status }
        }
        _ = try server.poll(timeout: .zero)
        // The server's loop stalls for nine seconds, while the client's continues.
        for _ in 0..<90 {
            network.now.monotonicNanoseconds += 100_000_000
            _ = try client.poll(timeout: .zero)
        }
        #expect(end == nil)
        _ = try server.poll(timeout: .zero)
        _ = try client.poll(timeout: .zero)
        held?.finish([1])
        _ = try client.poll(timeout: .zero)
        #expect(end == .ok)
    }

    @Test func hungServerEndsItsCallsAfterTheSilenceLimit() throws {
        let network = InProcessNetwork()
        let (server, client) = (
            try InProcessBus(name: "server", network: network), try InProcessBus(name: "client", network: network)
        )
        try server.serve(ServiceConformanceTests.service) { _ in }
        var end: CallStatus?
        _ = try client.call("test.Echo", "Wait", [], options: CallOptions(timeout: .seconds(60))) {
            if case .end(let status) = $0 { end = status }
        }
        for _ in 0..<110 {
            network.now.monotonicNanoseconds += 100_000_000
            _ = try client.poll(timeout: .zero)
        }
        #expect(end?.code == .unavailable)
        #expect(client.serviceStatistics.serversSilent == 1)
    }

    @Test func clientThatReadsNothingGetsItsAnswersLaterOrIsDropped() throws {
        let network = InProcessNetwork()
        let (server, client) = (
            try InProcessBus(name: "server", network: network), try InProcessBus(name: "client", network: network)
        )
        try server.serve(ServiceConformanceTests.service) { $0.finish($0.request.bytes) }
        var answers = 0
        for _ in 0..<9000 {
            _ = try client.call("test.Echo", "Say", [7], options: CallOptions(timeout: .seconds(60))) {
                if case .end(let status) = $0, status == .ok { answers += 1 }
            }
            _ = try server.poll(timeout: .zero)
        }
        #expect(server.serviceStatistics.answersDelayed == 9000 - 8192)
        for _ in 0..<20 {
            _ = try client.poll(timeout: .zero)
            network.now.monotonicNanoseconds += 10_000_000
            _ = try server.poll(timeout: .zero)
        }
        #expect(answers == 9000)
        #expect(server.serviceStatistics.answersLost == 0)
    }
}
