package import NavMap

/// A way that is a road, interpreted: what it is along its nodes and against them.
package struct Road: Sendable, Equatable {
    /// Along the way's nodes; nil where neither cars nor trucks may go.
    package var forward: RoadDirection?
    /// Against the way's nodes; nil where neither cars nor trucks may go.
    package var backward: RoadDirection?
    /// Exit number of a ramp (`junction:ref`), a text number.
    package var exitReference: UInt32 = 0
    /// Conditions among its tags that are not understood.
    package var unknownConditions = 0
}

/// One direction of a road: ``NavMap/RoadAttributes`` with texts still as numbers, quick to compare.
package struct RoadDirection: Sendable, Hashable {
    package var roadClass: RoadClass
    package var flags: RoadFlags
    package var access: VehicleAccess
    /// m/s.
    package var freeFlowSpeed: Float
    /// m/s, 0 unknown.
    package var speedLimit: Float = 0
    /// 0 unknown.
    package var lanes: UInt8 = 0
    /// Metres and tonnes, 0 without a limit.
    package var maximumHeight: Float = 0, maximumWidth: Float = 0, maximumLength: Float = 0, maximumWeight: Float = 0
    /// Seconds for the whole way, 0 unknown.
    package var crossingTime: Float = 0
    package var name: UInt32 = 0, reference: UInt32 = 0, destination: UInt32 = 0, destinationReference: UInt32 = 0
    package var turnLanes: UInt32 = 0, destinationReferenceTo: UInt32 = 0, destinationLanes: UInt32 = 0
    /// See ``NameTags``.
    package var localNames: [UInt32] = []
    /// m/s, 0 where none is posted for goods vehicles.
    package var truckSpeedLimit: Float = 0
    /// Tonnes, 0 without a limit.
    package var maximumAxleLoad: Float = 0
    /// The lanes that are closed to cars, and to trucks: the first is the leftmost, and the lowest bit.
    package var lanesClosedToCars: UInt16 = 0, lanesClosedToTrucks: UInt16 = 0
    /// Two letters, 0 unknown.
    package var country: UInt16 = 0
    /// The conditions and restrictions of certain times.
    package var conditions: [RoadCondition] = []

    /// By the fields that tell most roads apart; the rest is left to comparison.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(UInt64(name) << 32 | UInt64(reference))
        hasher.combine(UInt64(flags.rawValue) << 32 | UInt64(roadClass.rawValue) << 16 | UInt64(access.rawValue))
        hasher.combine(UInt64(freeFlowSpeed.bitPattern) << 32 | UInt64(turnLanes ^ destination &* 31))
    }

    package func attributes(_ strings: StringTable) -> RoadAttributes {
        RoadAttributes(
            roadClass: roadClass, flags: flags, access: access, freeFlowSpeed: freeFlowSpeed,
            speedLimit: speedLimit > 0 ? speedLimit : nil, lanes: lanes > 0 ? lanes : nil,
            maximumHeight: maximumHeight > 0 ? maximumHeight : nil, maximumWidth: maximumWidth > 0 ? maximumWidth : nil,
            maximumLength: maximumLength > 0 ? maximumLength : nil,
            maximumWeight: maximumWeight > 0 ? maximumWeight : nil, crossingTime: crossingTime > 0 ? crossingTime : nil,
            name: strings[name], reference: strings[reference], destination: strings[destination],
            destinationReference: strings[destinationReference], turnLanes: markedLanes(strings),
            truckSpeedLimit: truckSpeedLimit > 0 ? truckSpeedLimit : nil,
            maximumAxleLoad: maximumAxleLoad > 0 ? maximumAxleLoad : nil,
            destinationReferenceTo: strings[destinationReferenceTo], destinationLanes: strings[destinationLanes],
            country: CountryCode.text(country), conditions: conditions,
            localNames: NameTags.names(localNames, strings))
    }

    /// Returns the arrows of the lanes, with a mark at those that are closed to cars or trucks.
    private func markedLanes(_ strings: StringTable) -> String {
        let text = strings[turnLanes]
        guard !text.isEmpty, lanesClosedToCars | lanesClosedToTrucks != 0 else { return text }
        return text.split(separator: "|", omittingEmptySubsequences: false).enumerated().map { index, lane in
            var words = lane.isEmpty ? [] : [String(lane)]
            guard index < UInt16.bitWidth else { return String(lane) }
            if lanesClosedToCars >> UInt16(index) & 1 == 1 { words.append(RoadAttributes.laneClosedToCars) }
            if lanesClosedToTrucks >> UInt16(index) & 1 == 1 { words.append(RoadAttributes.laneClosedToTrucks) }
            return words.joined(separator: ";")
        }.joined(separator: "|")
    }
}
