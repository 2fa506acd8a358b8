import NavKit
import NavMessages

/// Warns when the vehicle is faster than the road allows.
final class SpeedWatch: Node {
    static let defaultName = "speed-watch"
    private var speed: Double?

    init(configuration: NoConfiguration, context: NodeContext) throws(NodeError) {
        try context.subscribe(to: Topics.gnssFix) { [unowned self] fix, _ in speed = fix.speed }
        try context.subscribe(to: Topics.progress) { [unowned self] progress, _ in
            guard let speed, let limit = progress.speedLimitMps, speed > limit + 2 else { return }
            context.log.warning("\(Int(speed * 3.6)) km/h on \(progress.roadName ?? "a road") for \(Int(limit * 3.6))")
        }
    }

    func findings(_ now: Int64) -> [HealthFinding] {
        speed == nil ? [HealthFinding("no_speed", "no fix with a speed has come: check the receiver")] : []
    }
}
