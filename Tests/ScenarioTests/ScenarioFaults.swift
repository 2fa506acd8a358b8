import NavVerdict

extension ScenarioPolicy {
    init(_ words: inout LineScanner) throws(LineError) {
        switch try words.next("yes, no, silent, dead, garbage, says, suppress or via") {
        case "yes": answer = .yes
        case "no": answer = .no
        case "silent": answer = .silent
        case "dead": answer = .dead
        case "garbage": answer = .garbage
        case "suppress": answer = .suppress
        case "says": answer = .says(String(try words.next("a text in quotes").filter { $0 != "\"" }))
        case "via": answer = .via(try ScenarioTrip(&words).waypoints)
        case "avoidance": answer = .avoidance(try words.number("a distance", unit: "m"))
        case let other: throw LineError("'\(other)' is not an answer of a policy node")
        }
        if words.take("after") { after = try words.number("a time", unit: "s") }
        if words.take("hold") { hold = try words.number("a time", unit: "s") }
    }
}

extension ScenarioReceiver {
    init(_ words: inout LineScanner) throws(LineError) {
        switch try words.next("a receiver action") {
        case "rate":
            self = .rate(try words.number("a rate", unit: "Hz"))
            if case .rate(let rate) = self, !(0.05...50).contains(rate) { throw LineError("a rate is 0.05 to 50 Hz") }
        case "noise":
            let name = try words.next("none, open or urban")
            let kinds = ["none": (0.0, 0.0), "open": (1.5, 0.5), "urban": (4.0, 1.5)]
            guard let (wander, noise) = kinds[name] else {
                throw LineError("noise is none, open or urban, not '\(name)'")
            }
            let seed = words.take("seed") ? try words.number("a seed") : 1
            self = .noise(wander: wander, noise: noise, seed: UInt64(max(seed, 0)))
        case "sigma": self = .sigma(try words.number("an accuracy", unit: "m"))
        case "lost": self = .lost
        case "back": self = .back
        case "off":
            let distance = try words.number("a distance", unit: "m")
            switch try words.next("north, east, south or west") {
            case "north": self = .off(east: 0, north: distance)
            case "east": self = .off(east: distance, north: 0)
            case "south": self = .off(east: 0, north: -distance)
            case "west": self = .off(east: -distance, north: 0)
            case let other: throw LineError("'\(other)' is not a direction: write north, east, south or west")
            }
        case "jumps": self = .jump(try words.number("a distance", unit: "m"))
        case "drops": self = .drops(Int(try words.number("a number of fixes")))
        case "repeats": self = .duplicate
        case "swaps": self = .swap
        case "late": self = .late(try words.number("a time", unit: "s"))
        case "frozen": self = .frozen
        case "clock": self = .clock(try words.number("a time", unit: "s"))
        case "spoofed": self = .spoofed
        case let other:
            throw LineError(
                "'\(other)' is not a receiver action: write rate, noise, sigma, lost, back, off, jumps, drops, repeats, "
                    + "swaps, late, frozen, clock or spoofed")
        }
    }
}
