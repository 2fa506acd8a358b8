internal import NavMap

extension Turn {
    /// Returns the turn as the map prescribes it.
    func obeying(_ maneuver: PrescribedManeuver) -> Turn {
        var result = self
        if let direction = maneuver.direction { result.modifier = ManeuverModifier(direction) }
        switch maneuver.kind {
        case .suppressed?: result.kind = .silent
        case let kind?: result.kind = .maneuver(ManeuverType(kind))
        // The direction of a slip lane would be determined at its end.
        case nil: if kind == .slipLane { result.kind = .maneuver(.turn) }
        }
        return result
    }
}

extension ManeuverType {
    fileprivate init(_ kind: PrescribedManeuver.Kind) {
        self =
            switch kind {
            case .suppressed, .turn: .turn
            case .continue: .continue
            case .newName: .newName
            case .merge: .merge
            case .onRamp: .onRamp
            case .offRamp: .offRamp
            case .fork: .fork
            case .endOfRoad: .endOfRoad
            }
    }
}

extension ManeuverModifier {
    fileprivate init(_ direction: PrescribedManeuver.Direction) {
        self =
            switch direction {
            case .uTurn: .uTurn
            case .sharpRight: .sharpRight
            case .right: .right
            case .slightRight: .slightRight
            case .straight: .straight
            case .slightLeft: .slightLeft
            case .left: .left
            case .sharpLeft: .sharpLeft
            }
    }
}
