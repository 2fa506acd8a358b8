import NavGeo
package import NavMatching
package import NavMessages
package import NavNavigator
package import NavPositioning

extension Odometry {
    /// Creates odometry from a message; nil when the message has no time, or has a negative speed, whose direction is ambiguous: the
    /// direction is in `reverse`.
    ///
    /// A yaw rate is positive to the left on the bus (ISO 8855) and clockwise in the core.
    package init?(_ message: VehicleOdometry) {
        guard let nanoseconds = message.stampNs, message.speedMps.map({ $0 < 0 }) != true else { return nil }
        let sign = message.reverse == true ? -1.0 : 1.0
        self.init(
            stamp: NavGeo.Timestamp(nanoseconds: nanoseconds), speed: message.speedMps.map { $0 * sign },
            speedSigma: message.speedSigmaMps, turnRate: message.yawRateRadps.map { -$0 },
            turnRateSigma: message.yawRateSigmaRadps, isStationary: message.standstill ?? false)
    }
}

extension VehicleOdometry {
    package init(_ odometry: Odometry) {
        self.init(
            stampNs: odometry.stamp.nanoseconds, speedMps: odometry.speed.map { abs($0) },
            speedSigmaMps: odometry.speedSigma, yawRateRadps: odometry.turnRate.map { -$0 },
            yawRateSigmaRadps: odometry.turnRateSigma, reverse: odometry.speed.map { $0 < 0 },
            standstill: odometry.isStationary)
    }
}

extension SignalAlarm {
    package init(_ status: SpoofingStatus?) {
        switch status {
        case .suspected: self = .suspected
        case .detected: self = .certain
        default: self = .none
        }
    }

    package init(_ status: JammingStatus?) {
        switch status {
        case .warning: self = .suspected
        case .critical: self = .certain
        default: self = .none
        }
    }

    package init(_ status: IntegrityStatus?) {
        switch status {
        case .warning: self = .suspected
        case .alert: self = .certain
        default: self = .none
        }
    }
}

extension PositionSource {
    package init(_ position: VehiclePosition) {
        if position.prediction != nil {
            self = .predicted
        } else {
            self = position.fix.type == .simulated ? .simulated : .measured
        }
    }
}

extension NavMessages.SimulationEvent {
    package init(_ event: NavNavigator.SimulationEvent, context: EventContext) {
        self.init(
            stampNs: context.stamp.nanoseconds, sessionId: context.session, routeId: context.route,
            causeSequence: context.cause, eventSequence: context.eventSequence, phase: SimulationPhase(event.phase),
            reason: NavMessages.SimulationReason(event.reason),
            pose: event.position.map { Pose($0) }, endReason: event.end.map { SimulationEndReason($0) })
    }
}

extension GnssHealth {
    package init(_ health: PositionHealth) {
        let names: [(PositionHealth.Reasons, GnssQualityReason)] = [
            (.noFix, .noFix), (.accuracy, .accuracy), (.fixType, .fixType), (.spoofing, .spoofing),
            (.jamming, .jamming), (.integrity, .integrity), (.latency, .latency), (.tunnel, .tunnel),
            (.contradiction, .contradiction),
        ]
        self.init(
            quality: GnssQuality(health.level), reasons: names.filter { health.reasons.contains($0.0) }.map(\.1),
            sinceStampNs: health.since.nanoseconds)
    }
}
