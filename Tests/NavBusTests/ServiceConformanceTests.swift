import Foundation
import NavBus
import NavTestKit
import Testing

/// The behaviour of calls, on the bus between processes and on its in-process double.
@Suite struct ServiceConformanceTests {
    static let service = ServiceDescription(
        name: "test.Echo",
        methods: [
            MethodDescription("Say"), MethodDescription("Count", isServerStreaming: true), MethodDescription("Wait"),
        ])

    @Test(arguments: Implementation.allCases)
    func unaryCallIsAnsweredAndItsMetadataReceived(_ implementation: Implementation) throws {
        let pair = try Pair(implementation)
        try pair.server.serve(Self.service) { call in
            #expect(call.metadata == [MetadataEntry("k", [1, 2])])
            #expect(call.finish(call.request.bytes.reversed()))
        }
        var options = CallOptions(timeout: .seconds(30))
        options.metadata = [MetadataEntry("k", [1, 2])]
        let (responses, status) = try pair.call("Say", [1, 2, 3], options)
        #expect(status == .ok)
        #expect(responses == [[3, 2, 1]])
    }

    @Test(arguments: Implementation.allCases)
    func unknownMethodIsUnimplementedAndErrorsKeepTheirDetails(_ implementation: Implementation) throws {
        let pair = try Pair(implementation)
        let failure = CallStatus(.notFound, "no", details: [9], trailers: [MetadataEntry("t", [7])])
        try pair.server.serve(Self.service) { $0.finish(failure) }
        #expect(try pair.call("Nothing").status.code == .unimplemented)
        #expect(try pair.call("Say").status == failure)
    }

    @Test(arguments: Implementation.allCases)
    func anAbsentServerIsUnavailable(_ implementation: Implementation) throws {
        let pair = try Pair(implementation)
        #expect(try pair.call("Say").status.code == .unavailable)
    }

    @Test(arguments: Implementation.allCases)
    func servedServicesAreDiscoveredBeforeACall(_ implementation: Implementation) throws {
        let pair = try Pair(implementation)
        #expect(try !pair.client.isServed("test.Echo", by: nil))
        try pair.server.serve(Self.service) { $0.finish([]) }
        try pair.turn { (try? pair.client.isServed("test.Echo", by: nil)) == true }
        #expect(try pair.client.isServed("test.Echo", by: pair.server.name))
        #expect(try !pair.client.isServed("test.Echo", by: "nobody"))
        #expect(try !pair.client.isServed("test.Other", by: nil))
    }

    @Test(arguments: Implementation.allCases)
    func aDeadlineEndsTheCallOnBothSides(_ implementation: Implementation) throws {
        let pair = try Pair(implementation)
        var held: ServerCall?
        var wasCancelled = false
        try pair.server.serve(Self.service) { call in
            held = call
            call.onCancel = { wasCancelled = true }
        }
        #expect(try pair.call("Wait", [], CallOptions(timeout: .milliseconds(300))).status.code == .deadlineExceeded)
        try pair.turn { wasCancelled }
        #expect(held?.isCancelled == true)
        #expect(held?.finish([1]) == false)
        #expect(pair.server.serviceStatistics.serving == 0)
    }

    @Test(arguments: Implementation.allCases)
    func cancelledCallEndsAtOnceOnBothSides(_ implementation: Implementation) throws {
        let pair = try Pair(implementation)
        var (isHeld, wasCancelled, status) = (false, false, CallStatus?.none)
        try pair.server.serve(Self.service) { call in
            isHeld = true
            call.onCancel = { wasCancelled = true }
        }
        let id = try pair.client.call(Self.service.name, "Wait", [], options: CallOptions(timeout: .seconds(50))) {
            if case .end(let end) = $0 { status = end }
        }
        try pair.turn { isHeld }
        try pair.client.cancel(id)
        #expect(status?.code == .cancelled)
        try pair.turn { wasCancelled }
    }

    @Test(arguments: Implementation.allCases)
    func streamWaitsForItsSlowReader(_ implementation: Implementation) throws {
        let pair = try Pair(implementation)
        var (sent, received, status) = (0, 0, CallStatus?.none)
        try pair.server.serve(Self.service) { call in
            let push = { [unowned call] in
                while sent < 10_000, call.send([UInt8(truncatingIfNeeded: sent)]) { sent += 1 }
                if sent == 10_000 { call.finish(.ok) }
            }
            call.onCredit = push
            push()
        }
        var options = CallOptions(timeout: .seconds(500))
        (options.window, options.grantsAutomatically) = (16, false)
        let id = try pair.client.call(Self.service.name, "Count", [], options: options) { event in
            switch event {
            case .response(let payload):
                #expect(payload.bytes == [UInt8(truncatingIfNeeded: received)])
                received += 1
            case .end(let end): status = end
            }
        }
        var granted = 0
        try pair.turn {
            #expect(sent <= granted + 16)
            let owed = received - granted
            granted += owed
            try pair.client.grant(id, messages: owed)
            return status != nil
        }
        #expect(status == .ok)
        #expect(received == 10_000)
    }

    @Test(arguments: Implementation.allCases)
    func closingServerEndsItsCallsAsUnavailable(_ implementation: Implementation) throws {
        let pair = try Pair(implementation)
        var (isHeld, status) = (false, CallStatus?.none)
        try pair.server.serve(Self.service) { _ in isHeld = true }
        _ = try pair.client.call(Self.service.name, "Wait", [], options: CallOptions(timeout: .seconds(500))) {
            if case .end(let end) = $0 { status = end }
        }
        try pair.turn { isHeld }
        pair.server.close()
        try until("the end") {
            try pair.client.runServices(timeout: .milliseconds(5))
            return status != nil
        }
        #expect(status?.code == .unavailable)
    }

    @Test(arguments: Implementation.allCases)
    func responsesOfAClosingServerAreDelivered(_ implementation: Implementation) throws {
        for _ in 0..<20 {
            let pair = try Pair(implementation)
            var (status, answer) = (CallStatus?.none, [UInt8]())
            try pair.server.serve(Self.service) { [unowned server = pair.server] call in
                call.finish([7])
                server.close()
            }
            _ = try pair.client.call(Self.service.name, "Say", [], options: CallOptions(timeout: .seconds(500))) {
                switch $0 {
                case .response(let payload): answer = payload.bytes
                case .end(let end): status = end
                }
            }
            try until("the end") {
                // A call on a closed node is an error.
                _ = try? pair.server.runServices(timeout: .milliseconds(1))
                try pair.client.runServices(timeout: .milliseconds(5))
                return status != nil
            }
            #expect(status?.code == .ok)
            #expect(answer == [7])
        }
    }

    @Test(arguments: Implementation.allCases)
    func oversizedRequestAndExcessCallAreResourceExhausted(_ implementation: Implementation) throws {
        let pair = try Pair(implementation)
        var service = Self.service
        (service.maximumRequestSize, service.maximumConcurrentCalls) = (10, 1)
        var held: [ServerCall] = []
        try pair.server.serve(service) { held.append($0) }
        #expect(try pair.call("Wait", [UInt8](repeating: 0, count: 11)).status.code == .resourceExhausted)
        _ = try pair.client.call(service.name, "Wait", [], options: CallOptions(timeout: .seconds(500))) { _ in }
        try pair.turn { held.count == 1 }
        #expect(try pair.call("Wait").status.code == .resourceExhausted)
    }

    @Test(arguments: Implementation.allCases)
    func thousandConcurrentCallsGetTheirOwnAnswers(_ implementation: Implementation) throws {
        let pair = try Pair(implementation)
        var held: [ServerCall] = []
        try pair.server.serve(Self.service) { held.append($0) }
        var answers: [Int: [UInt8]] = [:]
        for value in 0..<1000 {
            let request = withUnsafeBytes(of: UInt32(value)) { [UInt8]($0) }
            _ = try pair.client.call(Self.service.name, "Say", request, options: CallOptions(timeout: .seconds(500))) {
                if case .response(let payload) = $0 { answers[value] = payload.bytes }
            }
        }
        try pair.turn { held.count == 1000 }
        for call in held.reversed() { call.finish(call.request.bytes) }
        try pair.turn { pair.client.serviceStatistics.calling == 0 }
        #expect(answers.count == 1000)
        for (value, answer) in answers { #expect(answer == withUnsafeBytes(of: UInt32(value)) { [UInt8]($0) }) }
    }
}

/// A server and a client on one bus.
final class Pair {
    let bench: Bench
    let server: any Bus
    let client: any Bus

    init(_ implementation: Implementation) throws {
        bench = try Bench(implementation)
        (server, client) = (try bench.node("server"), try bench.node("client"))
    }

    /// Polls both nodes until `isDone` holds.
    func turn(_ isDone: () throws -> Bool) throws {
        try until("the calls") {
            try server.runServices(timeout: .milliseconds(1))
            try client.runServices(timeout: .milliseconds(1))
            return try isDone()
        }
    }

    /// Runs a call until it ends.
    func call(
        _ method: String, _ request: [UInt8] = [], _ options: CallOptions = CallOptions(timeout: .seconds(50))
    ) throws -> (responses: [[UInt8]], status: CallStatus) {
        var responses: [[UInt8]] = []
        var status: CallStatus?
        _ = try client.call("test.Echo", method, request, options: options) { event in
            switch event {
            case .response(let payload): responses.append(payload.bytes)
            case .end(let end): status = end
            }
        }
        try turn { status != nil }
        return (responses, try #require(status))
    }
}
