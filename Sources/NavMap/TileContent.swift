public import NavGeo

/// The content of one road tile, before it is encoded.
///
/// Nodes are inside the tile; edges are sorted by tail and start at one of its nodes. The builder chooses the order of nodes; a
/// space-filling curve makes neighbours share cache lines.
public struct TileContent: Sendable {
    public struct Node: Sendable {
        public var osmID: Int64
        public var position: FixedCoordinate
        public var flags: NodeFlags
        /// The layers in which the node has edges, in or out.
        public var layers: Set<RoadLayer>
        /// Exit number of a motorway junction; empty when there is none.
        public var exitReference: String
        /// Name of the junction; empty when there is none.
        public var junctionName: String
        /// The limits of vehicles that pass it; a node with ``NodeFlags/sizeLimited`` has some.
        public var limits: SizeLimits

        public init(
            osmID: Int64, position: FixedCoordinate, flags: NodeFlags, layers: Set<RoadLayer>,
            exitReference: String = "", junctionName: String = "", limits: SizeLimits = SizeLimits()
        ) {
            self.osmID = osmID
            self.position = position
            self.flags = flags
            self.layers = layers
            self.exitReference = exitReference
            self.junctionName = junctionName
            self.limits = limits
        }
    }

    public enum Head: Sendable, Hashable {
        /// At a node of this tile, by its index in ``TileContent/nodes``.
        case local(Int)
        /// At a node of another tile, by its index in ``TileContent/externalNodes``.
        case external(Int)
    }

    /// A road of another tile of the same layer that leads to a node of this tile.
    public struct Arrival: Sendable, Hashable {
        /// Index of the node in ``TileContent/nodes``.
        public var node: Int
        /// The node that the road comes from, by its index in ``TileContent/externalNodes``.
        public var externalNode: Int

        public init(node: Int, externalNode: Int) {
            self.node = node
            self.externalNode = externalNode
        }
    }

    /// A node in another tile of the same layer.
    public struct ExternalNode: Sendable {
        public var osmID: Int64
        public var position: FixedCoordinate

        public init(osmID: Int64, position: FixedCoordinate) {
            self.osmID = osmID
            self.position = position
        }
    }

    /// A point of a road's line: an OSM node.
    public struct ShapePoint: Sendable {
        public var osmID: Int64
        public var position: FixedCoordinate

        public init(osmID: Int64, position: FixedCoordinate) {
            self.osmID = osmID
            self.position = position
        }
    }

    public struct Edge: Sendable {
        /// Index of the node that it starts at.
        public var tail: Int
        public var head: Head
        public var wayID: Int64
        /// Its points in ``TileContent/shapePoints``, both ends included: at least 2, at most 65,535.
        public var shape: Range<Int>
        /// Whether the edge runs against the order of its shape.
        public var reversed: Bool
        /// The opposite edge, if it starts in this tile too.
        public var opposite: Int?
        /// Index in ``TileContent/attributes``.
        public var attributes: Int
        /// Point features along it, by ascending shape index in travel order.
        public var features: [PointFeature]
        /// The directions of travel that drivers perceive where it starts and ends, radians clockwise from north; nil for those of its
        /// first and last metres. Turn costs use them.
        public var perceivedStart: Double?
        public var perceivedEnd: Double?

        public init(
            tail: Int, head: Head, wayID: Int64, shape: Range<Int>, reversed: Bool, opposite: Int?, attributes: Int,
            features: [PointFeature] = [], perceivedStart: Double? = nil, perceivedEnd: Double? = nil
        ) {
            self.tail = tail
            self.head = head
            self.wayID = wayID
            self.shape = shape
            self.reversed = reversed
            self.opposite = opposite
            self.attributes = attributes
            self.features = features
            self.perceivedStart = perceivedStart
            self.perceivedEnd = perceivedEnd
        }
    }

    /// A path that is prohibited.
    public struct Restriction: Sendable, Hashable {
        public var path: [EdgeReference]
        /// The vehicles that the restriction applies to.
        public var vehicles: VehicleAccess
        /// The time at which it holds, in the syntax of ``TimeCondition``; empty when it always holds.
        public var time: String

        public init(path: [EdgeReference], vehicles: VehicleAccess = .all, time: String = "") {
            self.path = path
            self.vehicles = vehicles
            self.time = time
        }
    }

    /// A path on which the map prescribes an announcement.
    public struct Maneuver: Sendable, Hashable {
        public var path: [EdgeReference]
        public var maneuver: PrescribedManeuver

        public init(path: [EdgeReference], maneuver: PrescribedManeuver) {
            self.path = path
            self.maneuver = maneuver
        }
    }

    public var id: RoadTileID
    public var nodes: [Node] = []
    /// Nodes in other tiles that are heads of the tile's edges or tails of edges into the tile.
    public var externalNodes: [ExternalNode] = []
    /// Edges of other tiles that end in this tile; they distinguish unloaded continuations from dead ends.
    public var arrivals: [Arrival] = []
    /// The edges, sorted by tail.
    public var edges: [Edge] = []
    public var shapePoints: [ShapePoint] = []
    public var attributes: [RoadAttributes] = []
    /// Prohibited paths, kept in the tile of their first edge.
    ///
    /// Paths of more than 255 edges are left out; no real restriction is that long.
    public var restrictions: [Restriction] = []
    /// Prescribed announcements, kept in the tile of their path's first edge, within the same limit.
    public var maneuvers: [Maneuver] = []

    public init(id: RoadTileID) { self.id = id }
}

/// A reference to an edge by its OSM ids, which are valid across tiles and after a tile is rebuilt.
public struct EdgeReference: Sendable, Hashable {
    /// OSM id of the node at its start.
    public var tailNodeID: Int64
    /// OSM id of the node at its end.
    public var headNodeID: Int64
    public var wayID: Int64

    public init(tailNodeID: Int64, headNodeID: Int64, wayID: Int64) {
        self.tailNodeID = tailNodeID
        self.headNodeID = headNodeID
        self.wayID = wayID
    }
}
