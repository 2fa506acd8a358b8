import NavConfig
import NavKit
import NavMessages

struct SpeedWatchConfiguration: NodeConfiguration {
    var tolerance = 2.0

    static var keys: [ConfigKey<SpeedWatchConfiguration>] {
        [.number("tolerance_mps", \.tolerance, in: 0...20, "Speed above the limit that is let pass, m/s.").live]
    }
}

/// Warns when the vehicle is faster than the road allows.
final class SpeedWatch: Node {
    static let defaultName = "speed-watch"

    private var configuration: SpeedWatchConfiguration
    private var speed = 0.0

    init(configuration: SpeedWatchConfiguration, context: NodeContext) throws(NodeError) {
        self.configuration = configuration
        try context.subscribe(to: Topics.gnssFix) { [unowned self] fix, _ in speed = fix.speed ?? 0 }
        try context.subscribe(to: Topics.progress) { [unowned self] progress, _ in
            guard let limit = progress.speedLimitMps, speed > limit + self.configuration.tolerance else { return }
            context.log.warning("\(Int(speed * 3.6)) km/h on \(progress.roadName ?? "a road") for \(Int(limit * 3.6))")
        }
    }

    func reconfigure(_ configuration: SpeedWatchConfiguration) { self.configuration = configuration }
}
