internal import NavMap

/// A reader of the size and weight limits of vehicles, after the wiki's "Key:maxheight", "Key:maxweight" and the like.
enum SizeTags {
    /// Whether a key is one of those that ``limits(_:_:)`` reads.
    static func isLimit(_ key: TagKey) -> Bool {
        switch key {
        case .maxheight, .maxheight__physical, .maxheight__signed, .maxwidth, .maxwidth__physical, .maxlength,
            .maxlength__hgv, .maxweight, .maxweight__hgv, .maxweightrating, .maxweightrating__hgv, .maxaxleload:
            true
        default: false
        }
    }

    private static let heights: [TagKey] = [.maxheight, .maxheight__physical, .maxheight__signed]
    private static let widths: [TagKey] = [.maxwidth, .maxwidth__physical]
    private static let lengths: [TagKey] = [.maxlength, .maxlength__hgv]
    private static let weights: [TagKey] = [.maxweight, .maxweight__hgv, .maxweightrating, .maxweightrating__hgv]
    private static let axleLoads: [TagKey] = [.maxaxleload]

    /// Returns the limits of a way or node, the lowest where several keys limit one size.
    static func limits(_ tags: TagSet, _ strings: StringTable) -> SizeLimits {
        SizeLimits(
            height: least(heights, tags, strings, Quantity.metres),
            width: least(widths, tags, strings, Quantity.metres),
            length: least(lengths, tags, strings, Quantity.metres),
            weight: least(weights, tags, strings, Quantity.tonnes),
            axleLoad: least(axleLoads, tags, strings, Quantity.tonnes))
    }

    /// Returns the lowest valid value; nil without one.
    static func least(
        _ keys: [TagKey], _ tags: TagSet, _ strings: StringTable, _ read: (UnsafeRawBufferPointer) -> Float?
    ) -> Float? {
        keys.compactMap { tags.has($0) ? strings.withBytes(tags[$0], read) : nil }.min()
    }
}
