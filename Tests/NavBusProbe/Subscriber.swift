import NavBus

/// Receives one topic up to a message of one byte and the messages received with it, then prints its counts:
/// `sequence <of the last message> received <n> lost <n> delivered <n> dropped <n>`. Arguments: topic, queue depth.
func hear(on node: BusNode, _ arguments: [String]) throws {
    guard arguments.count == 2, let depth = Int(arguments[1]) else {
        return say("subscriber DIRECTORY NAME TOPIC DEPTH")
    }
    let topic = arguments[0]
    _ = try node.subscribe(to: topic, qos: .keepLast(depth), maximumPayloadSize: 1 << 24)
    var delivered = 0
    while !isOrphaned() {
        guard var delivery = try node.poll(timeout: .seconds(1)) else { continue }
        delivered += 1
        guard delivery.payload.count == 1 else { continue }
        // The statistics count all received messages, so the messages received with the last one are delivered first.
        while let next = try node.poll(timeout: .zero) {
            delivery = next
            delivered += 1
        }
        guard let seen = node.statistics[topic: topic] else { continue }
        say(
            "sequence \(delivery.header.sequence) received \(seen.received) lost \(seen.lost) "
                + "delivered \(delivered) dropped \(seen.dropped)")
        return
    }
}
