import TileCacheNode
import ArgumentParser
import Foundation
import NavBus
import NavMessages

/// `navbus region estimate`.
struct RegionEstimate: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "estimate", abstract: "Estimate the number of tiles and bytes of an offline region.")

    @OptionGroup var area: RegionAreaOptions
    @OptionGroup var bus: RegionBusOptions

    func run() throws {
        let definition = RegionDefinition(
            geometry: MultiPolygon(try area.area()), descriptors: try area.descriptors(bus))
        let estimate = try bus.ask(
            TileCacheService.estimateRegion, EstimateRegionRequest(definition: definition), seconds: 120)
        if let error = estimate.error { throw error.failure }
        let (size, toLoad, free) = (
            Double(estimate.sizeBytes ?? 0), Double(estimate.downloadBytes ?? 0), Double(estimate.freeBytes ?? 0)
        )
        try bus.show(estimate) {
            print(
                "\(estimate.tileCount ?? 0) tiles, \(Format.bytes(size)), \(Format.bytes(toLoad)) of it to download; "
                    + "\(Format.bytes(free)) are free for it")
            if toLoad > free {
                Console.note(
                    "it does not fit: raise store.budget_mb, remove regions, or load less ahead of the vehicle (predictive.*)"
                )
            }
        }
    }
}

/// `navbus region list`.
struct RegionList: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the offline regions, or show one in full.")

    @Argument(help: "A region's id.") var id: String?
    @OptionGroup var bus: RegionBusOptions

    func run() throws {
        if let id {
            let answer = try bus.ask(TileCacheService.getRegion, GetRegionRequest(regionId: id))
            if let error = answer.error { throw error.failure }
            let region = answer.region ?? Region()
            try bus.show(region) { for line in Self.lines(region) { print(Console.printable(line)) } }
            return
        }
        let answer = try regions()
        try bus.show(answer) {
            guard !answer.regions.isEmpty else { return print("no offline regions") }
            var table = Table(["region", "state", "tiles", "size", "name"])
            for region in answer.regions {
                table.row([
                    .init(region.definition?.regionId ?? "", .bold), region.stateCell,
                    .number("\(region.progress?.completedCount ?? 0)/\(region.progress?.requiredCount ?? 0)"),
                    .number(Format.bytes(Double(region.progress?.completedBytes ?? 0))),
                    .init(region.definition?.name ?? ""),
                ])
            }
            table.show()
        }
    }

    private static let pageSize: UInt32 = 100

    /// Returns all regions, read page by page, because their number is unbounded.
    private func regions() throws -> ListRegionsResponse {
        let tool = try bus.join()
        defer { tool.close() }
        var all = ListRegionsResponse()
        var start: String?
        repeat {
            let request = ListRegionsRequest(startAfter: start, pageSize: Self.pageSize)
            let page = try bus.ask(TileCacheService.listRegions, request, on: tool)
            all.regions += page.regions
            start = page.nextStartAfter
        } while start != nil
        return all
    }

    private static func lines(_ region: Region) -> [String] {
        let definition = region.definition ?? RegionDefinition()
        var lines = ["region    \(definition.regionId ?? "")"]
        if let name = definition.name { lines.append("name      \(name)") }
        lines.append("state     \(region.stateWord)")
        if let error = region.error?.message { lines.append("because   \(error)") }
        if let progress = region.progress { lines.append("tiles     \(progress.text)") }
        for descriptor in definition.descriptors {
            lines.append(
                "tileset   \(descriptor.tileset ?? ""), zoom \(descriptor.zoomMin ?? 0) to \(descriptor.zoomMax ?? 22)")
        }
        lines.append("polygons  \(definition.geometry?.polygons.count ?? 0)")
        for (title, stamp) in [
            ("created   ", region.createdNs), ("updated   ", region.updatedNs), ("expires   ", region.expiresNs),
        ] {
            guard let stamp else { continue }
            lines.append(title + Date(timeIntervalSince1970: Double(stamp) / 1e9).formatted(.iso8601))
        }
        for pair in definition.metadata { lines.append("metadata  \(pair.key ?? "")=\(pair.value ?? "")") }
        return lines
    }
}

extension Region {
    /// The state as one word.
    var stateWord: String {
        switch state {
        case .loading: "loading"
        case .complete: "complete"
        case .incomplete: "incomplete"
        case .cancelled: "cancelled"
        default: "unknown"
        }
    }

    fileprivate var stateCell: Table.Cell {
        .init(stateWord, state == .complete ? .green : state == .incomplete ? .red : .yellow)
    }
}

/// `navbus region update`.
struct RegionUpdate: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "update",
        abstract: "Change name and metadata of an offline region, or update its tiles.",
        discussion: """
            --revalidate polls the sources for newer tiles. They are loaded beside the old tiles and replace them once all are \
            stored; navbus region list shows the progress.
            """)

    @Argument(help: "The region's id.") var id: String
    @Option(help: ArgumentHelp("A new display name.", valueName: "TEXT")) var name: String?
    @Option(
        help: ArgumentHelp("Metadata that replaces the old; may be given several times.", valueName: "KEY=VALUE"))
    var metadata: [String] = []
    @Flag(help: "Poll the sources for newer tiles.") var revalidate = false
    @OptionGroup var bus: RegionBusOptions

    func validate() throws {
        for entry in metadata where KeyValue(argument: entry) == nil {
            throw ValidationError("--metadata \(entry): give KEY=VALUE")
        }
        guard name != nil || !metadata.isEmpty || revalidate else {
            throw ValidationError("nothing to do: give --name, --metadata or --revalidate")
        }
    }

    func run() throws {
        let answer = try bus.ask(
            TileCacheService.updateRegion,
            UpdateRegionRequest(
                regionId: id, name: name, metadata: metadata.compactMap(KeyValue.init(argument:)),
                revalidate: revalidate))
        if let error = answer.error { throw error.failure }
        let region = answer.region ?? Region()
        try bus.show(region) { print("\(Console.printable(id)): \(region.stateWord)") }
    }
}

/// `navbus region cancel`.
struct RegionCancel: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel", abstract: "Stop loading an offline region; loaded tiles stay.")

    @Argument(help: "The region's id.") var id: String
    @OptionGroup var bus: RegionBusOptions

    func run() throws {
        let answer = try bus.ask(TileCacheService.cancelLoad, CancelLoadRequest(regionId: id))
        if let error = answer.error { throw error.failure }
        let region = answer.region ?? Region()
        try bus.show(region) {
            print("\(Console.printable(id)): \(region.stateWord), \(region.progress?.text ?? "")")
        }
    }
}

/// `navbus region remove`.
struct RegionRemove: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Remove an offline region; its tiles are evicted when space is needed.")

    @Argument(help: "The region's id.") var id: String
    @OptionGroup var bus: RegionBusOptions

    func run() throws {
        let answer = try bus.ask(TileCacheService.removeRegion, RemoveRegionRequest(regionId: id))
        if let error = answer.error { throw error.failure }
        try bus.show(answer) { print("\(Console.printable(id)): removed") }
    }
}
