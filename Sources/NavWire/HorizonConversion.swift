import NavGeo
package import NavGuidance
import NavMap
package import NavMessages
package import NavNavigator

extension NavMessages.Horizon {
    /// Creates the message of a horizon; nil becomes a message without a known road ahead.
    package init(_ horizon: NavGuidance.Horizon?, context: EventContext, mapVersion: String) {
        self.init(
            stampNs: context.stamp.nanoseconds, sessionId: context.session, causeSequence: context.cause,
            eventSequence: context.eventSequence == 0 ? nil : context.eventSequence,
            paths: horizon?.paths.map { NavMessages.HorizonPath($0) } ?? [], mapVersion: mapVersion)
        guard let horizon else { return }
        if horizon.paths.first?.isOnRoute == true { routeId = context.route }
        pathId = horizon.paths.first?.id
        offsetM = horizon.offset
        truncated = horizon.isTruncated
    }
}

extension NavMessages.HorizonPath {
    init(_ path: NavGuidance.HorizonPath) {
        self.init(
            pathId: path.id, parentPathId: path.parent?.id, parentOffsetM: path.parent?.offset,
            probability: path.probability, lengthM: path.length, geometry: NavMessages.Polyline(path.line.coordinates),
            edgeIds: path.edges.map(\.rawValue), spans: path.spans.map { NavMessages.HorizonSpan($0) },
            points: path.points.map { NavMessages.HorizonPoint($0) }, turnAngleRad: path.turnAngle,
            isOnRoute: path.isOnRoute)
    }
}

extension NavMessages.HorizonSpan {
    init(_ span: NavGuidance.HorizonSpan) {
        var source: LimitSource?
        let attribute: Attribute
        switch span.attribute {
        case .speedLimit(let speed, let origin):
            attribute = .speedLimitMps(speed)
            source = LimitSource(origin)
        case .speedUnlimited(let origin):
            attribute = .speedUnlimited(true)
            source = LimitSource(origin)
        case .expectedSpeed(let speed): attribute = .expectedSpeedMps(speed)
        case .curvature(let curvature): attribute = .curvature1pm(curvature)
        case .laneCount(let count): attribute = .laneCount(UInt32(count))
        case .roadClass(let roadClass): attribute = .roadClass(NavMessages.RoadClass(roadClass))
        case .tunnel: attribute = .tunnel(true)
        case .bridge: attribute = .bridge(true)
        case .roundabout: attribute = .roundabout(true)
        case .toll: attribute = .toll(true)
        case .link: attribute = .link(true)
        case .unpaved: attribute = .unpaved(true)
        case .name(let name): attribute = .roadName(name)
        case .reference(let reference): attribute = .roadRef(reference)
        }
        self.init(beginM: span.begin, endM: span.end, attribute: attribute, limitSource: source)
    }
}

extension NavMessages.HorizonPoint {
    init(_ point: NavGuidance.HorizonPoint) {
        self.init(
            offsetM: point.offset, kind: HorizonPointKind(point.kind), nodeId: point.nodeID,
            lanes: point.lanes.map { NavMessages.Lane($0) }, text: point.text.isEmpty ? nil : point.text)
    }
}
