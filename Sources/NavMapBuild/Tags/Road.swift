package import NavMap

/// A road: a way's interpreted attributes along and against its nodes.
package struct Road: Sendable, Equatable {
    /// The direction along the way's nodes; nil when neither cars nor trucks may use it.
    package var forward: RoadDirection?
    /// The direction against the way's nodes; nil when neither cars nor trucks may use it.
    package var backward: RoadDirection?
    /// The exit number of a ramp (`junction:ref`), a text number.
    package var exitReference: UInt32 = 0
    /// The number of unsupported conditions in its tags.
    package var unknownConditions = 0
}

/// One direction of a road: ``NavMap/RoadAttributes`` with text numbers instead of texts, for fast comparison.
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
    /// Seconds for the whole way, a ferry or movable bridge, 0 unknown.
    package var crossingTime: Float = 0
    package var name: UInt32 = 0, reference: UInt32 = 0, destination: UInt32 = 0, destinationReference: UInt32 = 0
    package var turnLanes: UInt32 = 0, destinationReferenceTo: UInt32 = 0, destinationLanes: UInt32 = 0
    /// See ``NameTags``.
    package var localNames: [UInt32] = []
    /// m/s, 0 without a posted limit for goods vehicles.
    package var truckSpeedLimit: Float = 0
    /// Tonnes, 0 without a limit.
    package var maximumAxleLoad: Float = 0
    /// The lanes closed to cars and to trucks; the lowest bit is the leftmost lane.
    package var lanesClosedToCars: UInt16 = 0, lanesClosedToTrucks: UInt16 = 0
    /// The number of lanes reserved for buses, if only their number is known.
    package var busLanes: UInt8 = 0
    /// The widths of the lanes and the widest vehicles on them, as text numbers, if any of them is narrow.
    package var laneWidths: UInt32 = 0, laneWidthLimits: UInt32 = 0
    /// The number of lanes in the tags for closed and narrow lanes, if no arrows are tagged.
    package var taggedLanes: UInt8 = 0
    /// See ``NavMap/RoadAttributes/laneChanges``.
    package var laneChanges: UInt32 = 0
    /// Two letters, 0 unknown.
    package var country: UInt16 = 0
    /// The conditions and time-dependent restrictions.
    package var conditions: [RoadCondition] = []

    /// Hashes the fields that distinguish most roads; equality compares the rest.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(UInt64(name) << 32 | UInt64(reference))
        hasher.combine(UInt64(flags.rawValue) << 32 | UInt64(roadClass.rawValue) << 16 | UInt64(access.rawValue))
        hasher.combine(UInt64(freeFlowSpeed.bitPattern) << 32 | UInt64(turnLanes ^ destination &* 31))
    }

    /// Lowers a limit, 0 for none, to another; nil leaves it unchanged.
    static func lower(_ limit: inout Float, to value: Float?) {
        if let value { limit = limit > 0 ? min(limit, value) : value }
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
            localNames: NameTags.names(localNames, strings), laneChanges: strings[laneChanges])
    }

    /// Whether a tag closes a lane of known position to some vehicles.
    var hasLaneLimits: Bool { lanesClosedToCars | lanesClosedToTrucks != 0 || laneWidths | laneWidthLimits != 0 }

    /// Returns the arrows of the lanes, marking those that are narrow or closed to cars or trucks.
    private func markedLanes(_ strings: StringTable) -> String {
        let text = strings[turnLanes]
        guard hasLaneLimits || busLanes > 0 else { return text }
        var arrows = text.split(separator: "|", omittingEmptySubsequences: false)
        if text.isEmpty {
            // With fewer positions than lanes, the closed lanes are unknown. With more, `lanes` excludes bicycle lanes.
            guard taggedLanes == 0 || taggedLanes >= lanes else { return "" }
            arrows = Array(repeating: "", count: Int(max(taggedLanes, lanes)))
        }
        let bus = lanesClosedToCars | lanesClosedToTrucks == 0 ? self.busLanes(among: arrows) : 0
        let widths = LaneTags.widths(strings[laneWidths], strings[laneWidthLimits])
        var isMarked = false
        let marked = arrows.enumerated().map { index, lane in
            var words = lane.isEmpty ? [] : [String(lane)]
            guard index < UInt16.bitWidth else { return String(lane) }
            if (lanesClosedToCars | bus) >> UInt16(index) & 1 == 1 { words.append(RoadAttributes.laneClosedToCars) }
            if (lanesClosedToTrucks | bus) >> UInt16(index) & 1 == 1 { words.append(RoadAttributes.laneClosedToTrucks) }
            if let width = widths[index] { words.append("\(RoadAttributes.laneMark)\(width)") }
            isMarked = isMarked || words.count > (lane.isEmpty ? 0 : 1)
            return words.joined(separator: ";")
        }
        return text.isEmpty && !isMarked ? "" : marked.joined(separator: "|")
    }

    /// Returns the lanes presumed to be reserved for buses: the outermost ones at the kerb.
    ///
    /// None if a presumed lane has an arrow that no other lane has, because all turning traffic needs it.
    private func busLanes(among lanes: [Substring]) -> UInt16 {
        let count = min(Int(busLanes), lanes.count - 1)
        guard count > 0, lanes.count <= UInt16.bitWidth else { return 0 }
        let reserved = flags.contains(.leftHandTraffic) ? 0..<count : lanes.count - count..<lanes.count
        func arrows(_ lane: Int) -> [Substring] { lanes[lane].split(separator: ";").filter { $0 != "none" } }
        let others = Set(lanes.indices.filter { !reserved.contains($0) }.flatMap(arrows))
        guard reserved.flatMap(arrows).allSatisfy(others.contains) else { return 0 }
        return reserved.reduce(0) { $0 | 1 << UInt16($1) }
    }
}
