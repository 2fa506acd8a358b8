package import NavGeo
package import NavGuidance
package import NavMap
package import NavMatching
package import NavPositioning
package import NavRouting

package struct EventContext: Sendable, Hashable {
    package var stamp: Timestamp
    /// The trip's id: its start time in nanoseconds; 0 without a trip.
    package var sessionID: UInt64
    /// The route in force, counted from 1 across all trips; 0 without one.
    package var routeID: UInt64
    /// Sequence of the message that caused the event; 0 for none.
    package var causeSequence: UInt64
    /// Counts published events from 1.
    package var eventSequence: UInt64
}

extension EventContext {
    /// The context of an answer, which is not counted as an event.
    package init(stamp: Timestamp, sessionID: UInt64, routeID: UInt64, causeSequence: UInt64) {
        self.init(
            stamp: stamp, sessionID: sessionID, routeID: routeID, causeSequence: causeSequence, eventSequence: 0)
    }
}

/// An action that the shell performs after an event; effects are performed in order.
package enum Effect: Sendable {
    case publish(EventContext, Publication)
    /// Find routes; the answer repeats the request's id.
    indirect case requestRoute(RouteQuery)
    case cancelRoute(requestID: UInt64)
    case needTiles([RoadTileID])
    /// Query the owner's policy; the answer repeats the request's id.
    indirect case askPolicy(PolicyRequest)
    /// Withdraw a policy question whose decision is no longer needed.
    case withdrawPolicy(requestID: UInt64)
    indirect case reply(call: UInt64, CommandReply)
    /// The verdict on a fix; it precedes all other effects of the fix.
    indirect case qualified(Fix, FixVerdict)
    /// Store the trip beyond the end of the process, replacing the previous one; nil when there is no trip to keep.
    indirect case keepTrip(TripSnapshot?)
}

package indirect enum Publication: Sendable {
    case state(NavigatorState)
    case position(VehiclePosition)
    /// The vehicle's progress along the route.
    case progress(RouteProgress)
    /// The route in force; nil when it has ended.
    case route(RoutePlan?, RouteChange)
    case reroute(RerouteEvent)
    /// The instruction on the screen; nil clears it.
    case visual(VisualInstruction?, distance: Double, duration: Double)
    case spoken(SpokenInstruction, distance: Double, duration: Double)
    case arrival(ArrivalEvent)
    case fixRejected(Fix, FixRejection)
    /// Positions are simulated, or follow fixes again.
    case simulation(SimulationEvent)
    /// Another receiver is in use.
    case receiver(ReceiverChange)
    /// Routes to choose from before the start; empty once the choice is over.
    case preview(RoutePreview)
    /// The alternatives to the route in force.
    case alternatives(AlternativesUpdate)
    /// A phase of switching to an alternative.
    case alternativeSwitch(AlternativeSwitch)
    case fasterRoute(FasterRouteEvent)
    /// The route's durations were refreshed.
    case refresh(RefreshEvent)
    case policyRequest(PolicyRequest)
    /// A decision by the owner's policy, or the default.
    case policyDecision(PolicyDecision)
}

/// The reason why a route came into force.
package enum RouteChange: Sendable, Hashable, CaseIterable {
    case started, set, rerouted, stopped
    /// A trip of the previous process was resumed.
    case resumed
    /// The vehicle continues along an alternative.
    case alternativeTaken
    case fasterRoute
    case waypointSkipped
    /// New durations on the same route, or the same route in another map version with other edge ids.
    case refreshed
}

package struct NavigatorState: Sendable, Hashable {
    package enum Phase: Sendable, Hashable {
        case idle
        case freeDrive
        /// Routes to choose from, no guidance yet.
        case preview
        case guidance(GuidanceState)
    }

    package enum GuidanceState: Sendable, Hashable {
        /// A route is in force, but the vehicle has not been seen on it yet.
        case initialized
        case tracking, uncertain, offRoute
        case complete
    }

    package var phase: Phase
    /// Whether a new route is being searched for.
    package var isRerouting: Bool
    /// The current leg, from 0.
    package var leg: Int
    package var legCount: Int
    /// Whether the vehicle waits at a waypoint for the next leg to be started.
    package var isHeld: Bool
    package var destination: Waypoint?
    /// The health of positioning; nil before the first fix.
    package var health: PositionHealth?
    /// The kind of the last position; nil before the first, and after a prediction was abandoned.
    package var positions: PositionKind?
    /// The number of road tiles around the vehicle that are in the tileset but not loaded.
    package var missingTiles = 0
    /// The version of the map in use.
    package var mapVersion = ""

    package enum PositionKind: Sendable, Hashable, CaseIterable {
        case measured, predicted, simulated
    }
}

/// A counter of the road tiles around a place that are not loaded; the count is reused until the vehicle enters another tile.
struct MissingTileCounter {
    private var last: (tile: RoadTileID, count: Int)?

    /// Returns the number of tiles, over all layers, that contain or adjoin a place and are not loaded.
    mutating func count(around place: Coordinate?, in graph: RoadGraph) -> Int {
        guard let place, place.isValid else { return 0 }
        let here = RoadTileID(layer: .local, containing: place)
        if let last, last.tile == here { return last.count }
        let count = MapSurroundings.tiles(around: place).count { graph.hasLoaded($0) == false }
        last = (here, count)
        return count
    }
}

/// The tiles around a place.
enum MapSurroundings {
    /// Returns the tiles of layers that contain or adjoin a valid place, whether they exist or not.
    static func tiles(around place: Coordinate, in layers: [RoadLayer] = RoadLayer.allCases) -> [RoadTileID] {
        layers.flatMap { layer in
            let middle = RoadTileID(layer: layer, containing: place).tile
            let size = Int64(1) << Int64(layer.zoom)
            return [(-1, -1), (0, -1), (1, -1), (-1, 0), (0, 0), (1, 0), (-1, 1), (0, 1), (1, 1)].compactMap {
                (east: Int64, south: Int64) -> RoadTileID? in
                let (x, y) = ((Int64(middle.x) + east + size) % size, Int64(middle.y) + south)
                guard (0..<size).contains(y) else { return nil }
                return RoadTileID(rawValue: UInt32(layer.rawValue) << 24 | UInt32(x) << 12 | UInt32(y))
            }
        }
    }
}

/// The reason why positions are generated without fixes.
package enum SimulationReason: Sendable, Hashable, CaseIterable {
    /// A user requested a simulated drive.
    case manual
    /// No usable fix arrived for too long.
    case poorGNSS
    /// No usable fix arrived for too long, in a tunnel of the map.
    case tunnel

    init(_ reason: ReckoningReason) {
        switch reason {
        case .poorGNSS: self = .poorGNSS
        case .tunnel: self = .tunnel
        }
    }
}

/// The start or end of positions generated without fixes.
package struct SimulationEvent: Sendable, Hashable {
    /// The phase. `willBegin` and `began` are published together, as are `willEnd` and `ended`, so that consumers can prepare at the first.
    package enum Phase: UInt8, Sendable, CaseIterable {
        case willBegin, began, willEnd, ended
    }

    package var phase: Phase
    package var reason: SimulationReason
    /// The vehicle's estimated position; nil when unknown.
    package var position: VehiclePosition?
    /// The reason for the end; nil at the beginning.
    package var end: End?

    /// The reason why the simulation ended.
    package enum End: Sendable, Hashable, CaseIterable {
        /// Fixes provide the position again.
        case fixes
        /// The position became too uncertain to predict.
        case gaveUp
        /// Positioning restarted: the clock was set, the vehicle was moved while not tracked, or another drive begins.
        case startedOver
        /// The simulated drive reached its destination.
        case arrived
        /// The trip was stopped or replaced.
        case stopped

        init(_ end: PredictionEnd) {
            switch end {
            case .fixes: self = .fixes
            case .gaveUp: self = .gaveUp
            case .startedOver: self = .startedOver
            }
        }
    }
}

/// The vehicle's relation to its route: an observation, not a decision.
package enum DeviationState: Sendable, Hashable, CaseIterable {
    case onRoute
    /// The position contradicts the route, but not for long enough to be sure.
    case uncertain
    /// On the route, but not at the place expected from following it.
    case offStep
    case offRoute
    /// On the route's road in the opposite direction.
    case wrongWay
}

package struct Deviation: Sendable, Hashable {
    /// The vehicle's relation to the route.
    package var state: DeviationState
    /// Metres between the position and the route.
    package var distance: Double
    /// The matcher's probability that the vehicle is on no reachable part of the route, 0 ... 1.
    package var probability: Double
    /// Angle between the course and the route, radians 0 ... π; nil without a course.
    package var courseDifference: Double?
    /// The moment at which the state began.
    package var since: Timestamp
}

/// The vehicle's progress along its route.
package struct RouteProgress: Sendable, Equatable {
    /// Metres from the route's start.
    package var offset: Double
    /// The current leg, from 0.
    package var leg: Int
    package var legCount: Int
    /// The step in the leg, from 0.
    package var step: Int
    package var stepCount: Int
    /// The index of the last passed point of the route's line.
    package var point: Int
    /// Metres to the destination, here and below including the straight-line distance back to the route while off-route.
    package var distanceRemaining: Double
    /// The driven share of the route's length, 0 ... 1.
    package var fraction: Double
    /// Seconds to the destination.
    package var durationRemaining: Double
    /// Metres to the leg's end.
    package var legDistanceRemaining: Double
    /// Seconds to the leg's end.
    package var legDurationRemaining: Double
    /// Metres to the next maneuver.
    package var stepDistanceRemaining: Double
    /// Seconds to the next maneuver.
    package var stepDurationRemaining: Double
    /// The vehicle's relation to the route.
    package var deviation: Deviation
    /// Seconds of traffic delay on the rest of the route; nil when no traffic is known there.
    package var trafficDelayRemaining: Double?
    /// The stamp of the newest traffic that the times include; nil without traffic.
    package var trafficStamp: Timestamp?
    /// The current edge: the route's, or when off-route the vehicle's; nil off the roads.
    package var edge: EdgeKey?
    /// The current road: the route's, or when off-route the vehicle's; nil off the roads.
    package var attributes: RoadAttributes?
    package var nextManeuver: Maneuver?
    /// The lanes before the next junction on the route, from left to right; empty when none are known.
    package var lanes: [Lane] = []
    /// Metres to that junction; nil without lanes.
    package var lanesDistance: Double?
    package var visualInstruction: InstructionID?
    package var spokenInstruction: InstructionID?
    package var position: VehiclePosition
    /// Whether the vehicle is displayed on its route.
    package var isSnapped: Bool
    /// The point on the route; when off-route, the position on the road or as measured.
    package var snapped: Coordinate
    /// Direction of the road there, radians clockwise from north; nil when unknown.
    package var snappedBearing: Double?
    /// The number of stops and pass-through points ahead.
    package var waypointsRemaining: Int
    /// The number of stops ahead, the destination included.
    package var stopsRemaining: Int
}

package struct ArrivalEvent: Sendable, Equatable {
    package enum Phase: Sendable, Equatable {
        case approaching(isFirst: Bool)
        case arrived, held, legStarted
    }

    package var phase: Phase
    /// The leg that ends at the waypoint; for a started leg, the leg itself.
    package var leg: Int
    /// The waypoint's index in the route.
    package var waypoint: Int
    package var isDestination: Bool
    /// Metres to go.
    package var distanceRemaining: Double
    /// Seconds to go.
    package var durationRemaining: Double
}
