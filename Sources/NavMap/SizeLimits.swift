/// The size and weight of the largest vehicle that may pass a place; nil without a limit.
public struct SizeLimits: Sendable, Hashable {
    /// Metres.
    public var height: Float?
    /// Metres.
    public var width: Float?
    /// Metres.
    public var length: Float?
    /// Tonnes.
    public var weight: Float?
    /// Tonnes.
    public var axleLoad: Float?

    public init(
        height: Float? = nil, width: Float? = nil, length: Float? = nil, weight: Float? = nil, axleLoad: Float? = nil
    ) {
        self.height = height
        self.width = width
        self.length = length
        self.weight = weight
        self.axleLoad = axleLoad
    }

    public var isEmpty: Bool { self == SizeLimits() }

    /// The stored form of a node's limits: the numbers in order, separated by semicolons, empty without a limit.
    package var text: String {
        [height, width, length, weight, axleLoad].map { $0.map { "\($0)" } ?? "" }.joined(separator: ";")
    }

    /// Parses the stored form; any value but a number above 0, up to ``TileLayout/greatestQuantity``, counts as no limit.
    package init(text: String) {
        let parts = text.split(separator: ";", maxSplits: 5, omittingEmptySubsequences: false)
        func limit(_ index: Int) -> Float? {
            guard index < parts.count, let value = Float(parts[index]), value > 0, value <= TileLayout.greatestQuantity
            else { return nil }
            return value
        }
        self.init(height: limit(0), width: limit(1), length: limit(2), weight: limit(3), axleLoad: limit(4))
    }
}
