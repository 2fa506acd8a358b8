// swift-tools-version: 6.1
import PackageDescription

// The import direction is the architecture: executables -> a library per node -> NavWire and NavKit -> the pure column and the bus
// column. Only NavWire and the targets above it import both columns. `swift build --explicit-target-dependency-import-check error`
// and the tidy tests enforce this.

let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

func library(_ name: String, _ dependencies: [Target.Dependency] = [], exclude: [String] = []) -> Target {
    .target(name: name, dependencies: dependencies, exclude: exclude, swiftSettings: strict)
}

func executable(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(name: name, dependencies: dependencies, swiftSettings: strict)
}

// Optimizing the tests would take half of a release build; only the code that they call has to be fast.
let unoptimized = SwiftSetting.unsafeFlags(["-Onone"], .when(configuration: .release))

func tests(_ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
    .testTarget(
        name: name, dependencies: dependencies + ["NavTestKit"], exclude: exclude,
        swiftSettings: strict + [unoptimized])
}

// The commit that --version prints after the version, from the builder's environment (launch/.prepare sets it). SwiftPM caches git's
// answer from an earlier run, so git is not queried here.
let commit = (Context.environment["NAVBUS_COMMIT"] ?? "").filter { $0.isLetter || $0.isNumber || $0 == "-" }

let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let collections = Target.Dependency.product(name: "DequeModule", package: "swift-collections")
let heaps = Target.Dependency.product(name: "HeapModule", package: "swift-collections")
let nioCore = Target.Dependency.product(name: "NIOCore", package: "swift-nio")
let nioPosix = Target.Dependency.product(name: "NIOPosix", package: "swift-nio")
let nioHTTP = Target.Dependency.product(name: "NIOHTTP1", package: "swift-nio")
let nioWebSocket = Target.Dependency.product(name: "NIOWebSocket", package: "swift-nio")
let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
let sqlite = Target.Dependency.product(name: "GRDBSQLite", package: "GRDB.swift")
let yams = Target.Dependency.product(name: "Yams", package: "Yams")

let package = Package(
    name: "navbus",
    products: [
        .executable(name: "navbus", targets: ["navbus"]),
        .executable(name: "navigation-node", targets: ["navigation-node"]),
        .executable(name: "gnss-node", targets: ["gnss-node"]),
        .executable(name: "tile-cache-node", targets: ["tile-cache-node"]),
        .library(name: "NavBus", targets: ["NavKit", "NavBus", "NavMessages", "NavConfig", "NavGeo"]),
    ],
    dependencies: [
        // Command lines: parsing, help, completion.
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        // Structured logging in the IO shells.
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        // Deque for bounded queues, Heap for searches.
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        // YAML: launch files and node configuration.
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.0"),
        // SQLite with migrations and readers beside a writer: the index of the tile store.
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        // The HTTP/1.1 servers, for web maps, the live view and the Foxglove bridge, with back pressure, limits and deadlines per
        // connection. Nothing else uses it; with the two packages that it brings it is a fifth of all compile steps.
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
    ],
    targets: [
        // C libraries, each with a modulemap and a shim header.
        .systemLibrary(name: "CZeroMQ"),
        .systemLibrary(name: "CProtobufC"),
        .systemLibrary(name: "CZlib"),
        .systemLibrary(name: "CZstd"),
        .systemLibrary(name: "CLZ4"),
        .systemLibrary(name: "CBzip2"),
        .systemLibrary(name: "CCrypto"),
        // HTTP with TLS, for tile sources and the online provider of routes; a system library costs no compile step.
        .systemLibrary(name: "CCurl"),
        .target(name: "CNavProto", dependencies: ["CProtobufC"]),
        // The code between fork and exec.
        .target(name: "CSpawn"),
        // Crash reports, standard streams, the commit of the build, and the heartbeats that a supervisor waits for.
        .target(name: "CProcess", cSettings: [.define("NAVBUS_COMMIT", to: "\"\(commit)\"")]),

        // The bus column: bytes and messages, no geography.
        library("NavMessages", ["CNavProto", "CProtobufC"]),
        // The suggestion of the nearest name for a misspelt one.
        library("NavSpelling"),
        library("NavBus", ["NavSpelling", "CZeroMQ", collections]),
        library("NavBag", ["CZlib", "CZstd", "CLZ4"]),
        library("NavGNSS", ["NavMessages"]),

        // The pure column: no IO, no clock, no Foundation.
        library("NavGeo"),
        library("NavMap", ["NavGeo", "CZlib"]),
        library("NavRouting", ["NavGeo", "NavMap", heaps]),
        library("NavMatching", ["NavGeo", "NavMap", "NavRouting", heaps]),
        // The language files are input of the generator, which writes Swift.
        library("NavGuidance", ["NavGeo", "NavMap", "NavRouting"], exclude: ["Languages"]),
        library("NavPositioning", ["NavGeo", "NavMap", "NavRouting", "NavMatching"]),
        library(
            "NavNavigator", ["NavGeo", "NavMap", "NavRouting", "NavMatching", "NavPositioning", "NavGuidance"]),

        library("NavSimulation", ["NavGeo", "NavMap", "NavRouting", "NavMatching", "NavPositioning"]),
        // The tile cache's decisions; uses only the store's error type of NavStorage.
        library("NavTileCache", ["NavGeo", "NavDigest", "NavRemote", "NavStorage", heaps]),

        // Content hashes.
        library("NavDigest", ["CCrypto"]),
        // Backoff and circuit breaker for requests to failing servers.
        library("NavRemote"),
        // The HTTP client: deadlines, redirects, bounds of size and rate, TLS.
        library("NavHTTP", ["NavGeo", "NavDigest", "CCurl", "CZlib", "CZstd"]),

        // Crash-safe files and their errors.
        library("NavStorage", ["NavDigest"]),
        // Tiles on disk and their sources.
        library(
            "NavTileStore",
            [
                "NavStorage", "NavGeo", "NavMap", "NavTileCache", "NavDigest", "NavRemote", "NavHTTP", grdb, sqlite,
            ]),

        // Routes of an online provider.
        library("NavDirections", ["NavGeo", "NavMap", "NavRouting", "NavMatching", "NavRemote", "NavHTTP"]),

        // Reads OpenStreetMap extracts and writes road tiles.
        library("NavMapBuild", ["NavGeo", "NavMap", "NavDigest", "CZlib"]),

        // IO shells: where the two columns meet.
        library("NavConfig", ["NavSpelling", yams]),
        // The parts common to all nodes: loop, configuration, health, parameters, lifecycle, lockstep, typed topics and
        // services.
        library(
            "NavKit",
            ["CProcess", "NavSpelling", "NavConfig", "NavBus", "NavMessages", "NavGeo", argumentParser, logging]),
        // Messages of the wire as values of the core, and back.
        library(
            "NavWire",
            [
                "NavKit", "NavMessages", "NavGeo", "NavMap", "NavRouting", "NavMatching", "NavPositioning",
                "NavGuidance",
                "NavNavigator",
            ]),

        // Bags recorded from the bus and played onto it, and recorded fixes of any file.
        library(
            "NavRecording", ["NavKit", "NavConfig", "NavBus", "NavMessages", "NavBag", "NavGNSS", "NavGeo"]),

        // Recordings of other tools, and bags in their formats; no node links it.
        library("NavBagFormats", ["NavBag", "NavGNSS", "NavGeo", "NavMessages", "CBzip2", grdb]),

        // A library per node.
        library("GNSSNode", ["NavKit", "NavRecording", "NavConfig", "NavBus", "NavMessages", "NavGNSS", "NavGeo"]),
        library(
            "NavigationNode",
            [
                "NavKit", "NavWire", "NavConfig", "NavBus", "NavMessages", "NavDirections", "NavStorage", "NavDigest",
                "NavGeo", "NavMap", "NavRouting", "NavMatching", "NavPositioning", "NavGuidance", "NavNavigator",
                "NavTileCache",
            ]),
        // The HTTP servers: the listener of all, and pages with server-sent events and WebSockets.
        library("NavHTTPServer", ["NavKit", nioCore, nioPosix, nioHTTP, nioWebSocket]),
        library(
            "TileCacheNode",
            [
                "NavKit", "NavWire", "NavSpelling", "NavConfig", "NavBus", "NavMessages", "NavGeo", "NavTileCache",
                "NavTileStore", "NavStorage", "NavHTTP", "NavHTTPServer", "NavDigest", argumentParser, nioCore, nioHTTP,
            ]),
        // Verdicts on recorded drives: what is expected, criteria against truth, references, comparisons. No IO.
        library("NavVerdict", ["NavSpelling", "NavConfig", "NavBus", "NavMessages", "NavWire", "NavGeo"]),
        // Replay of drives through the core, from inputs or journal; simulated drives; differences between two drives.
        library(
            "NavReplay",
            [
                "NavigationNode", "NavVerdict", "NavRecording", "NavKit", "NavWire", "NavConfig", "NavBus",
                "NavMessages", "NavBag", "NavGeo",
                "NavMap", "NavRouting", "NavMatching", "NavPositioning", "NavNavigator", "NavSimulation", collections,
            ]),
        // The HTML report of a drive: its parts as files, embedded by the C compiler, and the code that fills them.
        .target(
            name: "CReportPage",
            exclude: ["page.html", "page.css", "data.js", "map.js", "plots.js", "live.js", "page.js"]),
        library(
            "NavReport",
            [
                "CReportPage", "NavReplay", "NavVerdict", "NavigationNode", "NavKit", "NavMessages", "NavBag", "NavGeo",
                "NavMap",
            ]),
        library(
            "NavLaunch", ["CProcess", "CSpawn", "NavSpelling", "NavConfig", "NavBus", "NavMessages", yams, collections]),

        executable("navigation-node", ["NavigationNode", "NavKit"]),
        executable("gnss-node", ["GNSSNode", "NavKit"]),
        executable("tile-cache-node", ["TileCacheNode", "NavKit"]),
        // An example of an owner's policy node; launch/policy.yaml starts it or its Python counterpart.
        .executableTarget(
            name: "policy-node-example", dependencies: ["NavKit", "NavConfig", "NavMessages", "NavGeo"],
            path: "launch/policy", exclude: ["policy_node.py"], swiftSettings: strict),
        executable(
            "navbus",
            [
                "NavKit", "NavWire", "NavigationNode", "GNSSNode", "TileCacheNode", "NavRecording", "NavReplay",
                "NavVerdict", "NavReport", "NavDigest", "NavLaunch",
                "NavSpelling", "NavConfig", "NavMapBuild", "NavBus", "NavMessages", "NavBag", "NavBagFormats",
                "NavGNSS",
                "NavGeo", "NavMap", "NavRouting", "NavMatching", "NavPositioning", "NavGuidance", "NavNavigator",
                "NavSimulation", "NavTileCache", "NavHTTPServer", argumentParser,
            ]),

        // Tests and measurements. NavBench runs our code and a peer's in alternating rounds and reports both.
        .target(name: "NavBench", dependencies: ["CSpawn"], path: "Tests/NavBench", swiftSettings: strict),
        .executableTarget(
            name: "navbus-bench",
            dependencies: [
                "NavBench", "NavTestBus", "NavKit", "NavWire", "NavigationNode", "TileCacheNode", "NavRecording",
                "NavReplay",
                "NavStorage",
                "NavBus", "NavMessages", "NavBag", "NavGeo", "NavMap", "NavRouting", "NavMatching", "NavPositioning",
                "NavGuidance", "NavNavigator", "NavMapBuild", "NavSimulation", "NavTileCache", "NavTileStore",
                "NavDigest",
                argumentParser,
            ],
            path: "Tests/navbus-bench", swiftSettings: strict),
        // The baseline of navbus-bench for the bus: the same patterns in plain C on libzmq.
        .executableTarget(
            name: "navbus-bench-peer", path: "Tests/Peers/zmq-peer",
            linkerSettings: [.linkedLibrary("zmq"), .linkedLibrary("pthread")]),

        // NavTestKit has helpers for every test: folders, waits and the location of the data.
        .target(name: "NavTestKit", path: "Tests/NavTestKit", swiftSettings: strict),
        // NavTestSupport draws maps and drives; it has no sockets and no processes.
        .target(
            name: "NavTestSupport",
            dependencies: [
                "NavGeo", "NavMap", "NavMapBuild", "NavRouting", "NavMatching", "NavPositioning", "NavNavigator",
                "NavSimulation", "NavTestKit",
            ],
            path: "Tests/NavTestSupport", swiftSettings: strict),
        // NavTestBus is a bus within one process that behaves like the one between processes.
        .target(
            name: "NavTestBus", dependencies: ["NavBus", collections], path: "Tests/NavTestBus", swiftSettings: strict),
        // NavTestSystem has both: scripted servers on loopback, and programs that are run, stopped and killed.
        .target(
            name: "NavTestSystem", dependencies: ["NavBag", "NavBench", "NavTestKit", "CZlib", "CZstd"],
            path: "Tests/NavTestSystem", swiftSettings: strict),
        // NavLaunchProbe is a launcher that tests can kill.
        .executableTarget(
            name: "NavLaunchProbe", dependencies: ["NavLaunch", "CProcess"], path: "Tests/NavLaunchProbe",
            swiftSettings: strict),
        tests("NavGeoTests", ["NavGeo"]),
        tests("NavTileCacheTests", ["NavGeo", "NavTileCache", "NavDigest", "NavStorage", "NavSimulation"]),
        tests("NavRemoteTests", ["NavRemote"]),
        tests("NavHTTPTests", ["NavHTTP", "NavSimulation", "NavTestSystem"]),
        // NavTileStoreProbe owns a store; tests kill it and exhaust its disk space.
        .executableTarget(
            name: "NavTileStoreProbe",
            dependencies: ["NavGeo", "NavTileCache", "NavTileStore", "NavStorage", "NavHTTP", "NavDigest"],
            path: "Tests/NavTileStoreProbe", swiftSettings: strict),
        tests(
            "NavTileStoreTests",
            [
                "NavGeo", "NavMap", "NavMapBuild", "NavTileCache", "NavTileStore", "NavStorage", "NavTileStoreProbe",
                "NavHTTP", "NavDigest", "NavSimulation", "NavTestSupport", "NavTestSystem", grdb,
            ]),
        tests("NavMapTests", ["NavGeo", "NavMap", "NavMapBuild", "NavSimulation", "NavTestSupport"]),
        tests(
            "NavRoutingTests", ["NavGeo", "NavMap", "NavRouting", "NavSimulation", "NavTestSupport"],
            exclude: ["Restrictions"]),
        tests(
            "NavSimulationTests",
            ["NavGeo", "NavMap", "NavRouting", "NavMatching", "NavPositioning", "NavSimulation", "NavTestSupport"]),
        tests(
            "NavMatchingTests",
            ["NavGeo", "NavMap", "NavMapBuild", "NavRouting", "NavMatching", "NavSimulation", "NavTestSupport"]),
        tests(
            "NavPositioningTests",
            [
                "NavGeo", "NavMap", "NavRouting", "NavMatching", "NavPositioning", "NavSimulation", "NavTestSupport",
            ]),
        tests(
            "NavGuidanceTests",
            ["NavGeo", "NavMap", "NavRouting", "NavGuidance", "NavSimulation", "NavTestSupport"]),
        tests(
            "NavNavigatorTests",
            [
                "NavGeo", "NavMap", "NavRouting", "NavMatching", "NavPositioning", "NavGuidance", "NavNavigator",
                "NavSimulation", "NavTestSupport",
            ]),
        tests(
            "NavDirectionsTests",
            [
                "NavGeo", "NavMap", "NavRouting", "NavMatching", "NavDirections", "NavHTTP", "NavRemote",
                "NavSimulation",
                "NavTestSupport", "NavTestSystem",
            ]),
        tests("NavMessagesTests", ["NavMessages", "CNavProto", "CProtobufC", "NavSimulation", "NavTestSystem"]),
        // NavBusProbe is a node that tests can stop and kill.
        .executableTarget(
            name: "NavBusProbe", dependencies: ["NavBus"], path: "Tests/NavBusProbe", swiftSettings: strict),
        tests(
            "NavBusTests",
            ["NavBus", "CZeroMQ", "NavBusProbe", "NavBench", "NavSimulation", "NavTestBus", "NavTestSystem"],
            exclude: ["Corpus"]),
        tests("NavBagTests", ["NavBag", "NavSimulation", "NavTestSystem"]),
        tests("NavGNSSTests", ["NavGNSS", "NavMessages", "NavSimulation"]),
        tests(
            "NavBagFormatsTests",
            ["NavBagFormats", "NavBag", "NavGNSS", "NavMessages", "NavSimulation", "NavTestSystem", grdb]),
        tests("NavConfigTests", ["NavConfig", "NavSpelling"]),
        tests("NavVerdictTests", ["NavVerdict", "NavConfig", "NavMessages", "NavGeo"]),
        tests("NavLaunchTests", ["NavLaunch", "NavLaunchProbe", "NavBus"]),
        tests(
            "NavKitTests",
            ["NavKit", "NavConfig", "NavBus", "NavMessages", "NavGeo", "NavSimulation", "NavTestBus", logging]),
        tests(
            "NavRecordingTests",
            [
                "NavRecording", "NavReplay", "NavVerdict", "NavKit", "NavBus", "NavMessages", "NavBag", "NavGeo",
                "NavSimulation", "NavTestBus", "NavTestSystem", logging,
            ]),
        tests(
            "TileCacheNodeTests",
            [
                "TileCacheNode", "NavKit", "NavWire", "NavConfig", "NavBus", "NavMessages", "NavGeo", "NavMap",
                "NavTileCache", "NavTileStore", "NavStorage", "NavDigest", "NavTestBus", "NavTestSupport",
                "NavTestSystem", "NavBench", logging,
            ]),
        tests(
            "NavigationNodeTests",
            [
                "NavigationNode", "GNSSNode", "TileCacheNode", "NavKit", "NavWire", "NavRecording", "NavReplay",
                "NavStorage", "NavConfig", "NavBus", "NavMessages", "NavBag", "NavDirections", "NavGeo", "NavMap",
                "NavMapBuild", "NavRouting", "NavMatching", "NavPositioning", "NavGuidance", "NavNavigator",
                "NavSimulation", "NavTileCache", "NavTestBus", "NavTestSupport", "NavTestSystem", logging,
            ]),
        // The files below Tests/Scenarios: a drawn map, a drive, and the events that are expected.
        tests(
            "ScenarioTests",
            [
                "NavKit", "NavWire", "NavigationNode", "GNSSNode", "TileCacheNode", "NavRecording", "NavReplay",
                "NavVerdict",
                "NavStorage",
                "NavConfig", "NavBus", "NavMessages", "NavGeo", "NavMap", "NavRouting", "NavMatching", "NavPositioning",
                "NavNavigator", "NavSimulation", "NavTestSupport",
            ]),
        // Simulated drives from seeds: a town, a driver and faults; the invariants are checked at every step.
        tests(
            "SimWorldTests",
            [
                "NavGeo", "NavMap", "NavMapBuild", "NavRouting", "NavMatching", "NavPositioning", "NavGuidance",
                "NavNavigator", "NavSimulation", "NavTestSupport",
            ]),
        tests("NavReportTests", ["NavReport", "NavMessages", "NavBag", "NavGeo"]),
        tests("NavBenchTests", ["NavBench", "NavTestSystem"]),
        tests("TidyTests", []),
        tests(
            "EndToEndTests", ["NavBag", "NavBench", "NavSimulation", "NavTestSystem"],
            exclude: ["browser.py", "foxglove_client.py", "web_abuse.py"]),
    ],
    swiftLanguageModes: [.v6]
)
