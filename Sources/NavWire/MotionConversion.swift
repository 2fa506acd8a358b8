package import NavGeo
package import NavMatching
package import NavMessages
package import NavNavigator
package import NavPositioning

extension Odometry {
    /// The core's odometry from a message; nil when the message has no time.
    ///
    /// A rate of turn is positive to the left on the bus (ISO 8855) and clockwise in the core.
    package init?(_ message: VehicleOdometry) {
        guard let nanoseconds = message.stampNs else { return nil }
        let sign = message.reverse == true ? -1.0 : 1.0
        self.init(
            stamp: NavGeo.Timestamp(nanoseconds: nanoseconds), speed: message.speedMps.map { $0 * sign },
            speedSigma: message.speedSigmaMps, turnRate: message.yawRateRadps.map { -$0 },
            turnRateSigma: message.yawRateSigmaRadps, standsStill: message.standstill ?? false)
    }
}

extension VehicleOdometry {
    /// The message of the core's odometry.
    package init(_ odometry: Odometry) {
        self.init(
            stampNs: odometry.stamp.nanoseconds, speedMps: odometry.speed.map { abs($0) },
            speedSigmaMps: odometry.speedSigma, yawRateRadps: odometry.turnRate.map { -$0 },
            yawRateSigmaRadps: odometry.turnRateSigma, reverse: odometry.speed.map { $0 < 0 },
            standstill: odometry.standsStill)
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

extension ReceiverSelectionReason {
    package init(_ reason: ReceiverChange.Reason) {
        switch reason {
        case .failed: self = .failed
        case .preferred: self = .preferred
        case .better: self = .better
        }
    }
}

extension PositionSource {
    package init(_ kind: NavigatorState.PositionKind) {
        switch kind {
        case .measured: self = .measured
        case .predicted: self = .predicted
        case .simulated: self = .simulated
        }
    }

    package init(_ sighting: VehiclePosition) {
        if sighting.prediction != nil {
            self = .predicted
        } else {
            self = sighting.fix.type == .simulated ? .simulated : .measured
        }
    }
}

extension NavMessages.PredictionMethod {
    package init(_ method: NavPositioning.PredictionMethod) {
        switch method {
        case .odometry: self = .odometry
        case .alongRoute: self = .alongRoute
        case .alongRoad: self = .alongRoad
        case .straightOn: self = .unspecified
        }
    }
}

extension NavMessages.SimulationEvent {
    package init(_ event: NavNavigator.SimulationEvent, context: EventContext) {
        let phase: SimulationPhase =
            switch event.phase {
            case .willBegin: .willBegin
            case .began: .began
            case .willEnd: .willEnd
            case .ended: .ended
            }
        self.init(
            stampNs: context.stamp.nanoseconds, sessionId: context.session, routeId: context.route,
            causeSequence: context.cause, eventSequence: context.eventSequence, phase: phase,
            reason: NavMessages.SimulationReason(event.reason),
            pose: event.position.map { position in
                position.road.map { Pose($0, position) } ?? Pose(raw: position)
            }, endReason: event.end.map { SimulationEndReason($0) })
    }
}

extension SimulationEndReason {
    package init(_ end: NavNavigator.SimulationEvent.End) {
        switch end {
        case .fixes: self = .fixes
        case .gaveUp: self = .gaveUp
        case .startedOver: self = .startedOver
        case .arrived: self = .arrived
        case .stopped: self = .stopped
        }
    }
}

extension GnssHealth {
    package init(_ health: PositionHealth) {
        let quality: GnssQuality =
            switch health.level {
            case .full: .full
            case .reduced: .reduced
            case .lost: .lost
            }
        let names: [(PositionHealth.Reasons, GnssQualityReason)] = [
            (.noFix, .noFix), (.accuracy, .accuracy), (.fixType, .fixType), (.spoofing, .spoofing),
            (.jamming, .jamming), (.integrity, .integrity), (.latency, .latency), (.tunnel, .tunnel),
            (.contradiction, .contradiction),
        ]
        self.init(
            quality: quality, reasons: names.filter { health.reasons.contains($0.0) }.map(\.1),
            sinceStampNs: health.since.nanoseconds)
    }
}

extension NavMessages.SimulationReason {
    package init(_ reason: NavNavigator.SimulationReason) {
        switch reason {
        case .manual: self = .manual
        case .poorGNSS: self = .poorGnss
        case .tunnel: self = .tunnel
        }
    }
}
