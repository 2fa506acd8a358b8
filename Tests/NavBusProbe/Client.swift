import NavBus

/// Calls one method of `test.Echo`, given as argument, and prints the outcome.
func call(on node: BusNode, _ arguments: [String]) throws {
    var isOver = false
    var options = CallOptions(timeout: .seconds(60))
    options.waitForReady = true
    _ = try node.call("test.Echo", arguments.first ?? "Say", [1, 2, 3], options: options) { event in
        if case .end(let status) = event {
            say("ended \(status.code.rawValue)")
            isOver = true
        }
    }
    say("ready")
    while !isOver, !isOrphaned() { _ = try node.poll(timeout: .milliseconds(100)) }
}
