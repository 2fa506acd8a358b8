public import NavGeo

/// The content of one road tile, before it is encoded.
///
/// Nodes lie in the tile; edges are sorted by tail and start at one of its nodes. The order of nodes is the builder's
/// choice and is best made along a space-filling curve, so that neighbours share cache lines.
public struct TileContent: Sendable {
    public struct Node: Sendable {
        public var osmID: Int64
        public var position: FixedCoordinate
        public var flags: NodeFlags
        /// The layers in which the node has edges, in or out.
        public var layers: Set<RoadLayer>
        /// Exit number of a motorway junction; empty without.
        public var exitReference: String
        /// Name of a motorway junction; empty without.
        public var junctionName: String

        public init(
            osmID: Int64, position: FixedCoordinate, flags: NodeFlags, layers: Set<RoadLayer>,
            exitReference: String = "", junctionName: String = ""
        ) {
            self.osmID = osmID
            self.position = position
            self.flags = flags
            self.layers = layers
            self.exitReference = exitReference
            self.junctionName = junctionName
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
        /// Its line in ``TileContent/shapePoints``, both ends included: at least 2, at most 65,535 points.
        public var shape: Range<Int>
        /// Whether the edge runs against the order of its shape.
        public var reversed: Bool
        /// The edge of the same road in the other direction, when it starts in this tile too.
        public var opposite: Int?
        /// Index in ``TileContent/attributes``.
        public var attributes: Int
        /// Things along it, by ascending shape index in travel order.
        public var features: [PointFeature]

        public init(
            tail: Int, head: Head, wayID: Int64, shape: Range<Int>, reversed: Bool, opposite: Int?, attributes: Int,
            features: [PointFeature] = []
        ) {
            self.tail = tail
            self.head = head
            self.wayID = wayID
            self.shape = shape
            self.reversed = reversed
            self.opposite = opposite
            self.attributes = attributes
            self.features = features
        }
    }

    /// A path that may not be driven.
    public struct Restriction: Sendable, Hashable {
        public var path: [EdgeReference]
        /// The vehicles that may not drive it.
        public var vehicles: VehicleAccess
        /// When it may not be driven, as ``TimeCondition`` reads it; empty for always.
        public var time: String

        public init(path: [EdgeReference], vehicles: VehicleAccess = .all, time: String = "") {
            self.path = path
            self.vehicles = vehicles
            self.time = time
        }
    }

    public var id: RoadTileID
    public var nodes: [Node] = []
    /// Nodes elsewhere that edges of the tile lead to, or that edges into the tile come from.
    public var externalNodes: [ExternalNode] = []
    /// The heads in this tile of edges of other tiles: they tell an open end from a dead one while those tiles are
    /// missing.
    public var arrivals: [Arrival] = []
    /// The edges, sorted by tail.
    public var edges: [Edge] = []
    public var shapePoints: [ShapePoint] = []
    public var attributes: [RoadAttributes] = []
    /// Paths that may not be driven, kept in the tile of their first edge. Those of more than 255 edges are left out of
    /// the tile: no real restriction has as many.
    public var restrictions: [Restriction] = []

    public init(id: RoadTileID) { self.id = id }
}

/// An edge by its OSM ids: holds across tiles, also after one of them was rebuilt.
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
