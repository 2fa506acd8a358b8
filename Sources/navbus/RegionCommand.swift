import NavigationNode
import ArgumentParser
import Foundation
import NavBus
import NavConfig
import NavGeo
import NavKit
import NavMessages
import NavTileCache
import TileCacheNode

/// `navbus region`.
struct RegionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "region", abstract: "Load, list and remove the offline regions of the tile cache.",
        subcommands: [
            RegionLoad.self, RegionEstimate.self, RegionList.self, RegionUpdate.self, RegionCancel.self,
            RegionRemove.self,
        ])
}

/// The options that select a cache.
struct RegionBusOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The tile cache. Default: the first by name.", valueName: "NAME")) var node: String?
    @Option(parsing: .unconditional, help: ArgumentHelp("Time limit for the cache, seconds.", valueName: "SECONDS"))
    var timeout: Double?
    @Flag(help: "Print JSON.") var json = false

    func validate() throws {
        if let timeout, !(timeout > 0 && timeout <= 1e6) {
            throw ValidationError("--timeout must be seconds, above 0")
        }
    }

    /// Returns the options of a call that usually takes no longer than `seconds`.
    func call(seconds: Double) -> CallOptions {
        var options = CallOptions(timeout: .nanoseconds(Int64((timeout ?? seconds) * 1e9)))
        options.node = node
        options.maximumResponseSize = ToolBus.maximumResponseSize
        return options
    }

    /// Joins the bus; throws when no cache is on it.
    func join() throws -> ToolBus {
        let servers = try ToolBus.registry().servers(of: TileCacheService.descriptor.name)
        guard servers.contains(where: { node == nil || $0.node == node }) else {
            throw NodeError(
                .missing,
                node.map { "node '\($0)' is not a tile cache on the bus (navbus node list)" }
                    ?? "no tile cache is on the bus: start tile-cache-node")
        }
        return try ToolBus("region")
    }

    func ask<Request, Response>(
        _ method: UnaryMethod<Request, Response>, _ request: Request, seconds: Double = 30
    ) throws -> Response {
        let tool = try join()
        defer { tool.close() }
        return try ask(method, request, on: tool, seconds: seconds)
    }

    /// Calls the cache over the tool's connection to the bus.
    func ask<Request, Response>(
        _ method: UnaryMethod<Request, Response>, _ request: Request, on tool: ToolBus, seconds: Double = 30
    ) throws -> Response {
        do throws(CallStatus) {
            return try tool.bus.callBlocking(method, request, options: call(seconds: seconds))
        } catch {
            throw NodeError(.system, "the tile cache did not answer: \(Console.printable(error.text))")
        }
    }

    /// Prints a message as JSON if requested, otherwise calls `other`.
    func show<Content: Message>(_ message: Content, _ other: () -> Void) throws {
        guard json else { return other() }
        print(try MessageJSON.text(decoding: message.encoded(), as: Content.fullName))
    }
}

extension ErrorInfo {
    /// The error for this answer of the cache.
    var failure: NodeError {
        .printable(code == .notFound ? .missing : .invalid, message ?? "the tile cache failed without a reason")
    }
}

/// The options for the area of a region and its tilesets.
struct RegionAreaOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The area: Polygon, MultiPolygon, or features of them; - is standard input.", valueName: "FILE"))
    var geojson: String?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The area: a circle around a place.", valueName: "LAT,LON,METRES"))
    var circle: String?
    @Option(
        help: ArgumentHelp(
            "The area: a corridor along a GeoJSON LineString, such as 'navbus route --format geojson' writes; see --buffer.",
            valueName: "FILE")) var along: String?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Reach of the corridor of --along to each side of the line, metres. Default: 500.", valueName: "METRES"))
    var buffer: Double?
    @Option(
        help: ArgumentHelp(
            "A tileset, or some of its zoom levels; may be given several times. Default: all.",
            valueName: "NAME[:MIN-MAX]")) var tileset: [String] = []

    func validate() throws {
        guard [geojson, circle, along].compactMap({ $0 }).count == 1 else {
            throw ValidationError("give the area as one of --geojson, --circle and --along")
        }
        if let circle, Self.place(circle) == nil {
            let fault = Self.rangeFault(circle) ?? "give latitude, longitude and metres, such as 41.15,-8.61,5000"
            throw ValidationError("--circle \(circle): \(fault)")
        }
        guard buffer == nil || along != nil else { throw ValidationError("--buffer can only be combined with --along") }
        guard buffer.map({ $0 > 0 && $0 <= RegionArea.greatestReach }) ?? true else {
            throw ValidationError("--buffer must be metres, above 0 and at most \(Int(RegionArea.greatestReach))")
        }
        for text in tileset where Self.descriptor(text) == nil {
            throw ValidationError("--tileset \(text): give a name, or a name with zoom levels such as streets:5-14")
        }
    }

    func area() throws -> RegionArea {
        do throws(RegionFault) {
            if let circle, let (centre, radius) = Self.place(circle) {
                return try RegionArea.circle(around: centre, radius: radius)
            }
        } catch {
            throw NodeError(.usage, "--circle: \(error)")
        }
        if let geojson { return try GeoJSONArea.area(try Self.read(geojson), from: geojson) }
        let path = along ?? ""
        let line = try GeoJSONArea.line(try Self.read(path), from: path)
        do throws(RegionFault) {
            return try RegionArea.corridor(along: line, buffer: buffer ?? 500)
        } catch {
            throw NodeError(.invalid, "\(path): \(error)")
        }
    }

    /// Returns the requested tilesets; by default, all tilesets that are stored.
    func descriptors(_ bus: RegionBusOptions) throws -> [TilesetDescriptor] {
        guard tileset.isEmpty else { return tileset.compactMap(Self.descriptor) }
        let statistics = try bus.ask(TileCacheService.statistics, StatisticsRequest())
        let names = (statistics.state?.tilesets ?? []).filter { $0.cacheable != false }.compactMap(\.tileset)
        guard !names.isEmpty else {
            throw NodeError(.missing, "the tile cache has no tileset that can be stored: configure 'tilesets'")
        }
        return names.map { TilesetDescriptor(tileset: $0) }
    }

    private static func read(_ path: String) throws(NodeError) -> Data {
        if path == "-" {
            do {
                return try FileHandle.standardInput.read(upToCount: GeoJSONArea.greatestSize + 1) ?? Data()
            } catch {
                throw NodeError(.system, "standard input cannot be read: \(error)")
            }
        }
        do throws(ConfigError) {
            return Data(try TextFile.bytes(path, limit: GeoJSONArea.greatestSize))
        } catch {
            throw NodeError(.missing, error.description)
        }
    }

    private static func place(_ text: String) -> (centre: NavGeo.Coordinate, radius: Double)? {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false)
        guard parts.count == 3, let centre = NavGeo.Coordinate(text: parts[0] + "," + parts[1]),
            let radius = Double(parts[2].trimmingPrefix(while: { $0 == " " }))
        else { return nil }
        return (centre, radius)
    }

    /// Returns the reason why the values of a circle are not a place; nil when they are within their ranges.
    private static func rangeFault(_ text: String) -> String? {
        let numbers = text.split(separator: ",").map { Double($0.trimmingPrefix(while: { $0 == " " })) }
        for (index, (name, limit)) in [("latitude", 90), ("longitude", 180)].enumerated() where index < numbers.count {
            guard let value = numbers[index], abs(value) > Double(limit) else { continue }
            return "the \(name) \(value) is not within -\(limit) to \(limit)"
        }
        return nil
    }

    private static func descriptor(_ text: String) -> TilesetDescriptor? {
        guard let colon = text.firstIndex(of: ":") else {
            return text.isEmpty ? nil : TilesetDescriptor(tileset: text)
        }
        let zooms = text[text.index(after: colon)...].split(separator: "-", omittingEmptySubsequences: false)
        guard colon > text.startIndex, let low = zooms.first.flatMap({ UInt32($0) }),
            let high = zooms.last.flatMap({ UInt32($0) }), zooms.count <= 2, low <= high
        else { return nil }
        return TilesetDescriptor(tileset: String(text[..<colon]), zoomMin: low, zoomMax: high)
    }
}

/// `navbus region load`.
struct RegionLoad: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "load",
        abstract: "Create or update an offline region and wait until it is loaded.",
        discussion: """
            The cache loads the region: when this command ends early, the cache continues (navbus region cancel stops it).
            With --json each progress report is a line, the last one with the region.
            """)

    @Argument(help: "The region's id.") var id: String
    @OptionGroup var area: RegionAreaOptions
    @Option(help: ArgumentHelp("A display name.", valueName: "TEXT")) var name: String?
    @Option(
        help: ArgumentHelp("Metadata stored with the region; may be given several times.", valueName: "KEY=VALUE"))
    var metadata: [String] = []
    @Flag(help: "Count stored tiles that have expired as loaded.") var acceptExpired = false
    @OptionGroup var bus: RegionBusOptions

    func validate() throws {
        for entry in metadata where !entry.contains("=") || entry.hasPrefix("=") {
            throw ValidationError("--metadata \(entry): give KEY=VALUE")
        }
    }

    func run() throws {
        let definition = RegionDefinition(
            regionId: id, name: name, geometry: MultiPolygon(try area.area()), descriptors: try area.descriptors(bus),
            acceptExpired: acceptExpired, metadata: metadata.compactMap(KeyValue.init(argument:)))
        let tool = try bus.join()
        defer { tool.close() }
        let bar = ProgressBar()
        var last: LoadRegionResponse?
        var end: CallStatus?
        var output = Output()
        let call = try ToolBus.attempt { () throws(BusError) in
            try tool.bus.call(
                TileCacheService.loadRegion, LoadRegionRequest(definition: definition),
                options: bus.call(seconds: 86_400)
            ) { event in
                switch event {
                case .response(let response):
                    last = response
                    if bus.json {
                        let text = try? MessageJSON.text(
                            decoding: response.encoded(), as: LoadRegionResponse.fullName)
                        output.line(text ?? "{}")
                        output.flush()
                    } else if let progress = response.progress {
                        bar.show(progress.share, progress.text)
                    }
                case .end(let status): end = status
                }
            }
        }
        var isStopped = false
        while end == nil {
            try ToolBus.attempt { () throws(BusError) in
                try tool.bus.runServices(timeout: .milliseconds(100))
                if tool.stop.isStopped, !isStopped {
                    isStopped = true
                    try tool.bus.cancel(call)
                }
            }
        }
        bar.finish()
        if isStopped {
            throw NodeError(.system, "stopped waiting; the cache continues: 'navbus region cancel \(id)' stops it")
        }
        if let end, end.code != .ok {
            throw NodeError(.system, "the tile cache did not answer: \(Console.printable(end.text))")
        }
        if let error = last?.error { throw error.failure }
        guard let region = last?.region else { throw NodeError(.system, "the tile cache returned no region") }
        if !bus.json { print("\(Console.printable(id)): \(region.progress?.text ?? "loaded")") }
    }
}

extension KeyValue {
    /// Parses `KEY=VALUE`; nil for anything else.
    init?(argument: String) {
        guard let mark = argument.firstIndex(of: "="), mark > argument.startIndex else { return nil }
        self.init(key: String(argument[..<mark]), value: String(argument[argument.index(after: mark)...]))
    }
}

extension RegionProgress {
    /// The share that is on board, 0 ... 1.
    var share: Double {
        let required = Double(requiredCount ?? 0)
        return required > 0 ? Double(completedCount ?? 0) / required : 1
    }

    /// The share as text.
    var text: String {
        let failed = erroredCount ?? 0
        return "\(completedCount ?? 0) of \(requiredCount ?? 0) tiles, \(Format.bytes(Double(completedBytes ?? 0)))"
            + (failed > 0 ? ", \(failed) failed" : "")
    }
}
