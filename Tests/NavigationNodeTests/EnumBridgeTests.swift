import NavGuidance
import NavMap
import NavMatching
import NavMessages
import NavNavigator
import NavPositioning
import NavRouting
import NavTileCache
import NavWire
import Testing
import TileCacheNode

/// The enums that exist both in the core and on the wire.
struct EnumBridgeTests {
    /// All pairs, each with the core's cases that the wire lacks.
    private static let pairs: [(any WireEnum.Type, Set<String>)] = [
        (NavNavigator.DeviationState.self, []), (NavNavigator.RerouteEvent.Reason.self, []),
        (NavNavigator.RerouteEvent.Rejection.self, []), (RouteFailure.Code.self, []),
        (AlternativesUpdate.Removal.self, []), (NavNavigator.RouteProvider.self, []), (RoutePurpose.self, []),
        (RouteChange.self, []), (NavNavigator.PolicyKind.self, []), (NavNavigator.PolicyDecider.self, []),
        (NavigatorState.PositionKind.self, []), (NavNavigator.SimulationReason.self, []),
        (NavNavigator.SimulationEvent.Phase.self, []), (NavNavigator.SimulationEvent.End.self, []),
        (FixRejection.Reason.self, []), (PositionHealth.Level.self, []), (ReceiverChange.Reason.self, []),
        (NavMatching.FixType.self, ["unknown"]), (NavRouting.VehicleProfile.Kind.self, []),
        (VehicleRestriction.Kind.self, []),
        (NavTileCache.TileDomain.self, []), (StoredRegionState.self, []), (RegionNotice.Kind.self, []),
        (SpeedLimit.Source.self, []), (NavMap.RoadClass.self, []), (NavRouting.Congestion.self, ["unknown"]),
        (DistanceUnits.self, ["ofCountry"]), (NavGuidance.ManeuverType.self, []),
        (NavGuidance.ManeuverModifier.self, []), (NavGuidance.LaneIndication.self, []),
    ]

    @Test func everyCaseHasAWireValue() {
        for (type, missing) in Self.pairs { check(type, missing) }
    }

    private func check<Core: WireEnum>(_ type: Core.Type, _ missing: Set<String>) {
        for core in Core.allCases {
            let wire = Core.Wire(core)
            #expect(wire.isKnown && (wire.rawValue == 0) == missing.contains("\(core)"), "\(type).\(core)")
            #expect((Core.Wire(known: core) == nil) == missing.contains("\(core)"))
            // A wire value for several cases is converted to the first of them.
            if let back = Core(wire) { #expect(Core.Wire(back) == wire, "\(type).\(core)") }
        }
        #expect(Core(Core.Wire(rawValue: 0)) == nil && Core(Core.Wire(rawValue: 9_999)) == nil)
    }

    @Test func casesWithOtherWireNamesAreMapped() {
        #expect(ErrorCode(RouteFailure.Code.tilesNeeded) == .missingTiles)
        #expect(RouteRequestPurpose(RoutePurpose.start) == .calculate && RouteReason(RouteChange.stopped) == .set)
        #expect(NavMessages.PolicyDecider(NavNavigator.PolicyDecider.standard) == .default)
        #expect(NavNavigator.PolicyDecider(NavMessages.PolicyDecider.default) == .standard)
        #expect(RoutePurpose(RouteRequestPurpose.calculate) == .calculate)
        #expect(RouteChange(RouteReason.set) == .set)
        #expect(RestrictionKind(VehicleRestriction.Kind.privateGround) == .private)
    }
}
