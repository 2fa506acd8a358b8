import NavBus

/// Publishes on `/probe`, about 1,000 messages per second, until the test closes the standard input.
func publish(on node: BusNode) throws {
    let publication = try node.advertise(
        TopicDescription(
            name: "/probe", typeName: "test.Type", schemaFingerprint: 0, qos: .keepLast(16), maximumPayloadSize: 1024))
    say("ready")
    while !isOrphaned() {
        try node.publish([1, 2, 3], on: publication, stampNanoseconds: 0)
        _ = try node.poll(timeout: .milliseconds(1))
    }
}
