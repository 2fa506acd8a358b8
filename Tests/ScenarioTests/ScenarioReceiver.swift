import Foundation
import NavGeo
import NavKit
import NavMatching
import NavMessages
import NavSimulation
import NavWire
import NavigationNode
import TileCacheNode

/// A receiver that reports the vehicle's position with the errors of the script.
struct ReceiverUnderTest {
    /// The fixes per second.
    private(set) var rate = 1.0
    private var (wander, noise) = (0.0, 0.0)
    private var random = SeededRandom(seed: 1)
    private var error = LocalPoint(east: 0, north: 0)
    private var previous: Double?
    private var sigma: Double?
    private var bias = LocalPoint(east: 0, north: 0)
    private var isLost = false
    private var isFrozen = false
    private var isSpoofed = false
    private var frozen: NavGeo.Coordinate?
    private var jump = 0.0
    private var dropped = 0
    private var repeats = false
    private var swaps = false
    private var held: NavMessages.GnssFix?
    private var delay = 0.0
    private var clock = 0.0

    /// The correlation time of the drifting error, seconds.
    private static let correlation = 30.0

    mutating func take(_ order: ScenarioReceiver) {
        switch order {
        case .rate(let rate): self.rate = rate
        case .noise(let wander, let noise, let seed):
            (self.wander, self.noise) = (wander, noise)
            random = SeededRandom(seed: seed)
            error = LocalPoint(east: wander * random.gaussian(), north: wander * random.gaussian())
        case .sigma(let sigma): self.sigma = sigma
        case .lost: isLost = true
        case .back: (isLost, isFrozen, isSpoofed, frozen) = (false, false, false, nil)
        case .off(let east, let north): bias = LocalPoint(east: east, north: north)
        case .jump(let metres): jump = metres
        case .drops(let count): dropped = count
        case .duplicate: repeats = true
        case .swap: swaps = true
        case .late(let seconds): delay = seconds
        case .frozen: isFrozen = true
        case .clock(let seconds): clock = seconds
        case .spoofed: isSpoofed = true
        }
    }

    /// Returns the output at a moment: usually one fix, with its delay in seconds.
    mutating func report(_ state: VehicleState, at time: Double, start: NavGeo.Timestamp) -> [(
        fix: NavMessages.GnssFix, delay: Double
    )] {
        let seconds = time - (previous ?? time)
        previous = time
        let decay = exp(-seconds / ReceiverUnderTest.correlation)
        let drive = wander * (1 - decay * decay).squareRoot()
        error = LocalPoint(
            east: error.east * decay + drive * random.gaussian(), north: error.north * decay + drive * random.gaussian()
        )
        let (east, north) = (noise * random.gaussian(), noise * random.gaussian())
        guard !isLost else { return [] }
        if dropped > 0 {
            dropped -= 1
            return []
        }
        let offset = LocalPoint(east: error.east + east + bias.east + jump, north: error.north + north + bias.north)
        jump = 0
        var coordinate = LocalFrame(origin: state.coordinate).coordinate(of: offset)
        if isFrozen {
            coordinate = frozen ?? coordinate
            frozen = coordinate
        }
        let stated = sigma ?? max((wander * wander + noise * noise).squareRoot(), 1)
        let fix = Fix(
            stamp: start.advanced(bySeconds: time + clock), coordinate: coordinate, horizontalSigma: stated,
            speed: state.speed, course: state.speed > 0.5 ? state.course : nil, type: .fix3D)
        var message = NavMessages.GnssFix(fix)
        message.receiveStampNs = start.advanced(bySeconds: time + delay + clock).nanoseconds
        if isSpoofed { message.spoofing = .detected }
        return ordered(message)
    }

    /// Applies the faults of duplicate and swapped fixes.
    private mutating func ordered(_ message: NavMessages.GnssFix) -> [(fix: NavMessages.GnssFix, delay: Double)] {
        if swaps {
            (swaps, held) = (false, message)
            return []
        }
        var messages = [message]
        if let held { messages.append(held) }
        held = nil
        if repeats {
            repeats = false
            messages.append(message)
        }
        return messages.map { ($0, delay) }
    }
}
