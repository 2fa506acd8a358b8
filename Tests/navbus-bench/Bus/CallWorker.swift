import Foundation
import NavBus
import NavKit

// Calls: unary round trips, and a stream with the credit granted by the bus.
extension BusWorker {
    private static let service = "bench.Echo"

    func serveCalls() throws {
        let node = try makeNode("server")
        let methods = [
            MethodDescription("Unary"), MethodDescription("Stream", isServerStreaming: true), MethodDescription("Stop"),
        ]
        let answer = payload
        var served = 0
        var isStopped = false
        try node.serve(ServiceDescription(name: Self.service, methods: methods)) { call in
            switch call.method {
            case "Unary":
                served += 1
                call.finish(call.request.bytes)
            case "Stream":
                served += 1
                Self.stream(call, answer)
            default:
                isStopped = true
                call.finish(call.request.bytes)
            }
        }
        while !isStopped { _ = try node.poll(timeout: .seconds(1)) }
        print("served \(served)")
        node.close()
    }

    /// Sends the requested number of messages as credit permits.
    private static func stream(_ call: ServerCall, _ message: [UInt8]) {
        var left = call.request.withUnsafeBytes { $0.count >= 8 ? $0.loadUnaligned(as: UInt64.self) : 0 }
        func proceed() {
            while left > 0, call.send(message) { left -= 1 }
            if left == 0 { call.finish(.ok) }
        }
        call.onCredit = proceed
        proceed()
    }

    private var callOptions: CallOptions {
        var options = CallOptions(timeout: .seconds(Int(deadline)))
        options.waitForReady = true
        options.window = window
        return options
    }

    func makeCalls() throws {
        let node = try makeNode("client")
        let (request, options) = (payload, callOptions)
        for _ in 0..<warmup { try callOnce(node, "Unary", request, options) }
        var trips: [Int64] = []
        trips.reserveCapacity(count)
        var next = Clocks.monotonic()
        for _ in 0..<count {
            if let interval {
                next += interval
                sleep(until: next)
            }
            let start = Clocks.monotonic()
            try callOnce(node, "Unary", request, options)
            trips.append(Clocks.monotonic() - start)
        }
        try write(trips, "trip")
        print("count \(trips.count)")
        try callOnce(node, "Stop", request, options)
        node.close()
    }

    private func callOnce(_ node: BusNode, _ method: String, _ request: [UInt8], _ options: CallOptions) throws {
        let (responses, status) = try node.callBlocking(Self.service, method, request, options: options)
        guard status.code == .ok, responses.first?.count == request.count else {
            throw NodeError(.system, "\(method) ended with \(status)")
        }
    }

    func takeStreams() throws {
        let node = try makeNode("client")
        if warmup > 0 { try takeStream(node, warmup) }
        let start = Clocks.monotonic()
        try takeStream(node, count)
        let end = Clocks.monotonic()
        print("count \(count)\nstart \(start)\nend \(end)")
        try callOnce(node, "Stop", payload, callOptions)
        node.close()
    }

    private func takeStream(_ node: BusNode, _ count: Int) throws {
        var received = 0
        var status: CallStatus?
        let request = withUnsafeBytes(of: UInt64(count)) { [UInt8]($0) }
        _ = try node.call(Self.service, "Stream", request, options: callOptions) { event in
            switch event {
            case .response: received += 1
            case .end(let end): status = end
            }
        }
        while status == nil { try node.runServices(timeout: .milliseconds(100)) }
        guard status?.code == .ok, received == count else {
            throw NodeError(
                .system, "a stream of \(count) messages ended after \(received) with \(status.map(\.description) ?? "")"
            )
        }
    }
}
