/// A bounded cache of directories that evicts the least recently used first.
package struct DirectoryCache: Sendable {
    package struct Key: Sendable, Hashable {
        package var edition: String
        package var offset: UInt64
        package var length: UInt32

        package init(edition: String, offset: UInt64, length: UInt32) {
            self.edition = edition
            self.offset = offset
            self.length = length
        }
    }

    private struct Kept {
        var directory: PMTilesDirectory
        var used: UInt64
    }

    private let limit: Int
    private var kept: [Key: Kept] = [:]
    private var cost = 0
    private var clock: UInt64 = 0

    package init(limit: Int) { self.limit = limit }

    package mutating func take(_ key: Key) -> PMTilesDirectory? {
        clock += 1
        kept[key]?.used = clock
        return kept[key]?.directory
    }

    package mutating func keep(_ directory: PMTilesDirectory, for key: Key) {
        guard directory.cost <= limit, kept[key] == nil else { return }
        while cost + directory.cost > limit, let oldest = kept.min(by: { $0.value.used < $1.value.used }) {
            cost -= oldest.value.directory.cost
            kept[oldest.key] = nil
        }
        clock += 1
        cost += directory.cost
        kept[key] = Kept(directory: directory, used: clock)
    }
}
