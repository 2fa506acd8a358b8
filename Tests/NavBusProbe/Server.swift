import NavBus

/// Serves `test.Echo` until the test closes the standard input: Say returns its request reversed, Wait answers only
/// with `answers`, and Count streams the numbers below its request's little-endian 32 bits, or endlessly for an empty
/// request.
func serve(on node: BusNode, _ options: [String]) throws {
    let service = ServiceDescription(
        name: "test.Echo",
        methods: [
            MethodDescription("Say"), MethodDescription("Wait"), MethodDescription("Count", isServerStreaming: true),
        ])
    var held: [ServerCall] = []
    try node.serve(service) { call in
        switch call.method {
        case "Say": call.finish(call.request.bytes.reversed())
        case "Count": count(call)
        default:
            if options.contains("answers") {
                call.finish([42])
            } else {
                held.append(call)
                say("waiting")
            }
        }
    }
    say("ready")
    while !isOrphaned() { _ = try node.poll(timeout: .milliseconds(100)) }
}

private func count(_ call: ServerCall) {
    let request = call.request.bytes
    let end = request.isEmpty ? Int.max : request.reversed().reduce(0) { $0 << 8 | Int($1) }
    var next = 0
    let push = { [unowned call] in
        while next < end, call.send(withUnsafeBytes(of: UInt32(truncatingIfNeeded: next).littleEndian) { [UInt8]($0) })
        {
            next += 1
        }
        if next == end { call.finish(.ok) }
    }
    call.onCredit = push
    push()
}
