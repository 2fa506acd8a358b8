package import NavGuidance
package import NavMap
package import NavMatching
package import NavMessages
package import NavNavigator
package import NavPositioning
package import NavRouting

/// The cases of a core enum and the values of a wire enum, paired by name: `poorGNSS` is `SIMULATION_REASON_POOR_GNSS`.
package struct EnumBridge<Core: CaseIterable & Hashable & Sendable, Wire: ProtoEnum>: Sendable {
    fileprivate let pairs: [(core: Core, wire: Wire)]

    /// Pairs all cases with wire values.
    ///
    /// - Parameter others: Values for cases that are named differently on the wire; a case without a value is unspecified.
    package init(_ others: [Core: Wire] = [:]) {
        let prefix = Self.letters(Wire.names.first?.name ?? "").dropLast("unspecified".count)
        pairs = Core.allCases.map { core in
            let name = prefix + Self.letters("\(core)")
            let value = Wire.names.first { Self.letters($0.name) == name }?.value ?? 0
            return (core, others[core] ?? Wire(rawValue: value))
        }
    }

    private static func letters(_ name: String) -> String { name.lowercased().filter { $0 != "_" } }
}

/// A core enum with a counterpart on the wire.
package protocol WireEnum: CaseIterable, Hashable, Sendable {
    associatedtype Wire: ProtoEnum
    static var bridge: EnumBridge<Self, Wire> { get }
}

extension ProtoEnum {
    /// Creates the wire value of a case; unspecified when there is none.
    package init<Core: WireEnum>(_ core: Core) where Core.Wire == Self {
        self = Core.bridge.pairs.first { $0.core == core }?.wire ?? Self(rawValue: 0)
    }

    /// Creates the wire value of a case; nil when there is none.
    package init?<Core: WireEnum>(known core: Core) where Core.Wire == Self {
        self.init(core)
        if rawValue == 0 { return nil }
    }
}

extension WireEnum {
    /// Creates the core case of a wire value; nil for an unknown value.
    package init?(_ wire: Wire) {
        guard wire.rawValue != 0, let pair = Self.bridge.pairs.first(where: { $0.wire == wire }) else { return nil }
        self = pair.core
    }
}

// MARK: Pairs

extension NavNavigator.DeviationState: WireEnum {
    package static let bridge = EnumBridge<Self, NavMessages.DeviationState>()
}

extension NavNavigator.RerouteEvent.Reason: WireEnum {
    package static let bridge = EnumBridge<Self, RerouteReason>()
}

extension NavNavigator.RerouteEvent.Rejection: WireEnum {
    package static let bridge = EnumBridge<Self, RerouteRejection>()
}

extension RouteFailure.Code: WireEnum {
    package static let bridge = EnumBridge<Self, ErrorCode>([.tilesNeeded: .missingTiles])
}

extension AlternativesUpdate.Removal: WireEnum {
    package static let bridge = EnumBridge<Self, AlternativeRemovalReason>()
}

extension NavGuidance.HorizonPoint.Kind: WireEnum {
    package static let bridge = EnumBridge<Self, HorizonPointKind>()
}

extension NavNavigator.RouteProvider: WireEnum {
    package static let bridge = EnumBridge<Self, NavMessages.RouteProvider>()
}

extension RoutePurpose: WireEnum {
    package static let bridge = EnumBridge<Self, RouteRequestPurpose>([.start: .calculate])
}

extension RouteChange: WireEnum {
    package static let bridge = EnumBridge<Self, RouteReason>([.stopped: .set])
}

extension NavNavigator.PolicyKind: WireEnum {
    package static let bridge = EnumBridge<Self, NavMessages.PolicyKind>()
}

extension NavNavigator.PolicyDecider: WireEnum {
    package static let bridge = EnumBridge<Self, NavMessages.PolicyDecider>([.standard: .default])
}

extension NavigatorState.PositionKind: WireEnum {
    package static let bridge = EnumBridge<Self, PositionSource>()
}

extension NavNavigator.SimulationReason: WireEnum {
    package static let bridge = EnumBridge<Self, NavMessages.SimulationReason>()
}

extension NavNavigator.SimulationEvent.Phase: WireEnum {
    package static let bridge = EnumBridge<Self, SimulationPhase>()
}

extension NavNavigator.SimulationEvent.End: WireEnum {
    package static let bridge = EnumBridge<Self, SimulationEndReason>()
}

extension FixRejection.Reason: WireEnum {
    package static let bridge = EnumBridge<Self, FixRejectionReason>()
}

extension PositionHealth.Level: WireEnum {
    package static let bridge = EnumBridge<Self, GnssQuality>()
}

extension ReceiverChange.Reason: WireEnum {
    package static let bridge = EnumBridge<Self, ReceiverSelectionReason>()
}

extension NavPositioning.PredictionMethod: WireEnum {
    package static let bridge = EnumBridge<Self, NavMessages.PredictionMethod>()
}

extension NavMatching.FixType: WireEnum {
    package static let bridge = EnumBridge<Self, NavMessages.FixType>([.fix2D: .twoD, .fix3D: .threeD])
}

extension NavRouting.VehicleProfile.Kind: WireEnum {
    package static let bridge = EnumBridge<Self, VehicleClass>()
}

extension VehicleRestriction.Kind: WireEnum {
    package static let bridge = EnumBridge<Self, RestrictionKind>([.privateGround: .private])
}

extension SpeedLimit.Source: WireEnum {
    package static let bridge = EnumBridge<Self, LimitSource>()
}

extension NavMap.RoadClass: WireEnum {
    package static let bridge = EnumBridge<Self, NavMessages.RoadClass>()
}

extension NavRouting.Congestion: WireEnum {
    package static let bridge = EnumBridge<Self, NavMessages.CongestionLevel>()
}

extension DistanceUnits: WireEnum {
    package static let bridge = EnumBridge<Self, UnitSystem>()
}

extension NavGuidance.ManeuverType: WireEnum {
    package static let bridge = EnumBridge<Self, NavMessages.ManeuverType>()
}

extension NavGuidance.ManeuverModifier: WireEnum {
    package static let bridge = EnumBridge<Self, NavMessages.ManeuverModifier>()
}

extension NavGuidance.LaneIndication: WireEnum {
    package static let bridge = EnumBridge<Self, NavMessages.LaneIndication>()
}
