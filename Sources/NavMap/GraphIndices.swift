/// The dense index of an edge of a ``RoadGraph``, valid in that snapshot only.
public struct EdgeIndex: RawRepresentable, Sendable, Hashable, Comparable {
    /// 0 ..< the graph's edge count.
    public let rawValue: UInt32
    @inlinable
    public init(rawValue: UInt32) { self.rawValue = rawValue }
    /// Creates an index from a number, which must fit 32 bits.
    @inlinable
    public init(_ index: Int) { rawValue = UInt32(index) }
    @inlinable
    public var index: Int { Int(rawValue) }
    @inlinable
    public static func < (left: EdgeIndex, right: EdgeIndex) -> Bool { left.rawValue < right.rawValue }
}

/// The dense index of a node of a ``RoadGraph``, valid in that snapshot only.
public struct NodeIndex: RawRepresentable, Sendable, Hashable, Comparable {
    /// 0 ..< the graph's node count.
    public let rawValue: UInt32
    @inlinable
    public init(rawValue: UInt32) { self.rawValue = rawValue }
    /// Creates an index from a number, which must fit 32 bits.
    @inlinable
    public init(_ index: Int) { rawValue = UInt32(index) }
    @inlinable
    public var index: Int { Int(rawValue) }
    @inlinable
    public static func < (left: NodeIndex, right: NodeIndex) -> Bool { left.rawValue < right.rawValue }
}
