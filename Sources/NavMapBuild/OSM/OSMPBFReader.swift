internal import Synchronization

package enum BuildPhase: String, Sendable, CaseIterable {
    case readingWays = "reading ways"
    case readingNodes = "reading nodes"
    /// Interpreting tags and splitting ways at intersections.
    case splittingWays = "splitting ways"
    /// Ordering the roads for fast searches.
    case orderingRoads = "ordering roads"
    case writingTiles = "writing tiles"
}

/// A progress callback, which receives the phase and its completed share, 0 to 1, never decreasing within a phase.
///
/// It is called from any of the working threads, one call at a time.
package typealias BuildProgress = @Sendable (BuildPhase, Double) -> Void

/// A reader of OpenStreetMap's .osm.pbf files.
///
/// It makes two passes: first over ways and relations, then over the nodes that they need, so that memory depends on the
/// roads and not on the extract.
package enum OSMPBFReader {
    /// The supported features that a file's header may require.
    private static let features: Set<String> = ["OsmSchema-V0.6", "DenseNodes", "HistoricalInformation"]

    /// Reads the road data of a file.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - jobs: The number of threads that read at once; the result does not depend on it.
    ///   - progress: Receives the progress of the two reading phases.
    /// - Throws: ``MapBuildError`` when the file cannot be read, is truncated, damaged, or not OSM PBF; the error states where.
    package static func read(
        path: String, jobs: Int = 1, progress: @escaping BuildProgress = { _, _ in }
    ) throws(MapBuildError) -> OSMData {
        let file = try PBFFile(path: path)
        let (header, blobs) = try file.scan()
        if let missing = header.required.first(where: { !features.contains($0) }) {
            throw MapBuildError(
                .unsupported, path: path, offset: 0, reason: "needs the feature \(missing), which is not supported",
                advice: "Convert it with: osmium cat -o OUT.osm.pbf \(path)")
        }
        let keepsHistory = header.required.contains("HistoricalInformation")
        let counter = ProgressCounter(progress)

        let chunks = try Parallel.map(blobs.count, jobs: jobs) { index throws(MapBuildError) in
            let chunk = try decode(file, blobs[index]) { bytes throws(WireError) in
                try PBFWays.read(bytes, keepsHistory: keepsHistory)
            }
            counter.advance(.readingWays, of: blobs.count)
            return chunk
        }
        var data = OSMData()
        data.timestamp = header.timestamp
        let nodeBlobs = zip(blobs, chunks).filter(\.1.hasNodes).map(\.0)
        var ways = data.takeWays(chunks)
        let missing = data.missingBorders(ways)
        let wayBlobs = zip(blobs, chunks).filter { _, chunk in
            missing.contains { $0 >= chunk.lowestWay && $0 <= chunk.highestWay }
        }.map(\.0)
        for found in try Parallel.map(
            wayBlobs.count, jobs: jobs,
            { index throws(MapBuildError) in
                try decode(file, wayBlobs[index]) { bytes throws(WireError) in
                    try PBFWays.read(bytes, only: missing)
                }
            })
        {
            ways.append(found)
        }
        data.setWays(ways, jobs: jobs)

        let ids = data.nodeIDs
        let nodes = try Parallel.map(nodeBlobs.count, jobs: jobs) { index throws(MapBuildError) in
            let chunk = try decode(file, nodeBlobs[index]) { bytes throws(WireError) in
                try ids.withUnsafeBufferPointer { ids throws(WireError) in
                    try PBFNodes.read(bytes, ids: ids, keepsHistory: keepsHistory)
                }
            }
            counter.advance(.readingNodes, of: nodeBlobs.count)
            return chunk
        }
        data.takeNodes(nodes)
        return data
    }

    private static func decode<T>(
        _ file: PBFFile, _ blob: PBFFile.Blob, _ body: (UnsafeRawBufferPointer) throws(WireError) -> T
    ) throws(MapBuildError) -> T {
        let bytes = try file.contents(blob)
        do throws(WireError) {
            return try bytes.withBytes(body)
        } catch {
            throw file.malformed("block: \(error.text)", at: blob.offset)
        }
    }
}

/// A counter of finished pieces of work that reports them one at a time.
final class ProgressCounter: Sendable {
    private let progress: BuildProgress
    private let state = Mutex<(phase: BuildPhase?, done: Int)>((nil, 0))

    init(_ progress: @escaping BuildProgress) { self.progress = progress }

    /// Adds finished pieces of `total` in `phase`.
    func advance(_ phase: BuildPhase, by count: Int = 1, of total: Int) {
        state.withLock { state in
            if state.phase != phase { state = (phase, 0) }
            state.done += count
            progress(phase, Double(state.done) / Double(max(total, 1)))
        }
    }
}

extension OSMData {
    /// Joins the relations of all blocks in file order, and the ways, which it returns.
    fileprivate mutating func takeWays(_ chunks: [PBFWays]) -> ElementList<Int64> {
        var raw = ElementList<Int64>()
        raw.parts.reserveCapacity(chunks.reduce(0) { $0 + $1.ways.parts.count })
        for chunk in chunks {
            statistics.ways += chunk.wayCount
            statistics.relations += chunk.relationCount
            countryEvidence.add(chunk.countryEvidence)
            let numbers = chunk.texts.intern(in: &strings)
            raw.append(chunk.ways, numbers) { $0 }
            relations.append(chunk.relations, numbers) { member in
                var member = member
                member.role = numbers[Int(member.role)]
                return member
            }
        }
        return raw
    }

    /// Joins the nodes of all blocks in file order; of a repeated node the last one counts.
    fileprivate mutating func takeNodes(_ chunks: [PBFNodes]) {
        var order: [(node: UInt32, chunk: Int, entry: Int)] = []
        var seen = ContiguousArray<Bool>(repeating: false, count: nodeIDs.count)
        var hasRepeats = false
        for (number, chunk) in chunks.enumerated() {
            statistics.nodes += chunk.nodeCount
            statistics.invalidCoordinates += chunk.invalidCoordinates
            countryEvidence.add(chunk.countryEvidence)
            for (place, node) in chunk.indexes.enumerated() {
                if seen[Int(node)] {
                    statistics.duplicateIDs += 1
                    hasRepeats = true
                }
                seen[Int(node)] = true
                latitudes[Int(node)] = chunk.latitudes[place]
                longitudes[Int(node)] = chunk.longitudes[place]
            }
            for (entry, place) in chunk.tagged.enumerated() {
                order.append((chunk.indexes[place], number, entry))
            }
        }
        if hasRepeats { keepLastVersions(&order, chunks) }
        let numbers = chunks.map { $0.texts.intern(in: &strings) }
        order.sort { ($0.node, $0.chunk, $0.entry) < ($1.node, $1.chunk, $1.entry) }
        for (node, number, entry) in order {
            let tags = chunks[number].tags
            taggedNodes.append(node)
            for at in tags.starts[entry]..<tags.starts[entry + 1] {
                nodeTags.add(tags.keys[at], numbers[number][Int(tags.values[at])])
            }
            nodeTags.close()
        }
    }

    private func keepLastVersions(
        _ order: inout [(node: UInt32, chunk: Int, entry: Int)], _ chunks: [PBFNodes]
    ) {
        var last: [UInt32: (chunk: Int, place: Int)] = [:]
        for (number, chunk) in chunks.enumerated() {
            for (place, node) in chunk.indexes.enumerated() { last[node] = (number, place) }
        }
        order.removeAll { entry in
            guard let version = last[entry.node] else { return true }
            return version.chunk != entry.chunk || version.place != chunks[entry.chunk].tagged[entry.entry]
        }
    }
}

extension ElementList {
    /// Adds the objects of a block, translating their text numbers by `numbers`.
    fileprivate mutating func append(
        _ other: ElementList<Part>, _ numbers: ContiguousArray<UInt32>, _ translate: (Part) -> Part
    ) {
        for index in other.ids.indices {
            for at in other.partRange(index) { parts.append(translate(other.parts[at])) }
            for at in other.tags.starts[index]..<other.tags.starts[index + 1] {
                tags.add(other.tags.keys[at], numbers[Int(other.tags.values[at])])
            }
            close(id: other.ids[index])
        }
    }
}
