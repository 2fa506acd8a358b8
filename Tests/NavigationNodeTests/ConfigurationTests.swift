import Foundation
import GNSSNode
import NavConfig
import NavDirections
import NavGeo
import NavGuidance
import NavKit
import NavMap
import NavNavigator
import NavRecording
import NavReplay
import NavRouting
import NavTestKit
import NavWire
import NavigationNode
import Testing
import TileCacheNode

/// The values that users configure: keys, places, topics.
struct ConfigurationTests {
    @Test func everyKeyIsDocumentedAndAcceptsItsDefault() throws {
        try check(RunConfiguration<NavigationConfiguration>.self)
        try check(RunConfiguration<GNSSConfiguration>.self)
    }

    private func check<Configuration: NodeConfiguration>(_ type: Configuration.Type) throws {
        let names = type.keys.map(\.name)
        #expect(Set(names).count == names.count)
        let defaults = Configuration()
        for key in type.keys {
            #expect(try #/[a-z]+(_[a-z]+)*(\.[a-z_]+)?/#.wholeMatch(in: key.name) != nil, "\(key.name)")
            #expect(key.documentation.hasSuffix(".") && key.documentation.first?.isUppercase == true, "\(key.name)")
            #expect(!key.documentation.contains("\n") && !key.range.isEmpty, "\(key.name)")
            let text = key.text(of: defaults)
            let again = try ConfigLoader.load(type, file: nil, overrides: ["\(key.name)=\(text)"])
            #expect(key.text(of: again) == text, "the default of \(key.name)")
            for unit in ["_s", "_m"] where key.name.hasSuffix(unit) {
                #expect(key.documentation.contains(unit == "_s" ? "second" : "metre"), "the unit of \(key.name)")
            }
        }
    }

    @Test func tripConsistsOfStopsAndDestination() throws {
        let configuration = try ConfigLoader.load(
            NavigationConfiguration.self, file: nil, overrides: ["via=60.1,24.9;60.2,25", "destination=-33.8,151.2"])
        #expect(configuration.trip.map(\.coordinate.text) == ["60.1,24.9", "60.2,25.0", "-33.8,151.2"])
        let none = try ConfigLoader.load(NavigationConfiguration.self, file: nil, overrides: ["via=60.1,24.9"])
        #expect(none.trip.isEmpty && none.omission != nil)
    }

    @Test func vehicleSizesDefaultToItsKindInAnyKeyOrder() throws {
        func profile(_ overrides: String...) throws -> VehicleProfile {
            try ConfigLoader.load(NavigationConfiguration.self, file: nil, overrides: overrides).profile
        }
        #expect(try profile() == VehicleProfile())
        #expect(try profile("vehicle.kind=truck") == VehicleProfile(kind: .truck))
        let truck = VehicleProfile(
            kind: .truck, avoid: .tolls, height: 3.8, width: 2.5, length: 12, weight: 18, axleLoad: 10,
            carriesDangerousGoods: true)
        let keys = [
            "vehicle.height_m=3.8", "vehicle.width_m=2.5", "vehicle.length_m=12", "vehicle.weight_t=18",
            "vehicle.axle_load_t=10", "vehicle.dangerous_goods=true", "vehicle.avoid=tolls", "vehicle.kind=truck",
        ]
        for overrides in [keys, keys.reversed()] {
            let configuration = try ConfigLoader.load(NavigationConfiguration.self, file: nil, overrides: overrides)
            #expect(configuration.profile == truck)
        }
        #expect(try profile("vehicle.height_m=3", "vehicle.height_m=") == VehicleProfile())
        #expect(throws: ConfigError.self) { try profile("vehicle.weight_t=18", "vehicle.axle_load_t=18.1") }
        #expect(try profile("vehicle.weight_t=18", "vehicle.axle_load_t=18").axleLoad == 18)
        for wrong in ["vehicle.weight_t=0", "vehicle.weight_t=nan", "vehicle.height_m=11", "vehicle.length_m=x"] {
            #expect(throws: ConfigError.self) { try profile(wrong) }
        }
    }

    @Test func missingApprovalWithoutAPolicyRequestIsReported() throws {
        func problem(_ overrides: String...) throws -> String? {
            try ConfigLoader.load(NavigationConfiguration.self, file: nil, overrides: overrides).approvalProblem
        }
        #expect(try problem() == nil)
        #expect(try problem("faster.approval=policy")?.contains("accept_faster_route") == true)
        #expect(try problem("faster.approval=policy", "policy.ask=accept_faster_route") == nil)
        #expect(try problem("faster.approval=policy", "faster.enabled=false") == nil)
    }

    @Test func utcOffsetIsUnknownUnlessConfigured() throws {
        func departure(_ overrides: String...) throws -> LocalTime? {
            try ConfigLoader.load(NavigationConfiguration.self, file: nil, overrides: overrides)
                .departure(at: Timestamp(nanoseconds: 1_767_614_400_000_000_000))
        }
        #expect(try departure() == nil)
        #expect(try departure("utc_offset_min=120") == LocalTime(year: 2026, month: 1, day: 5, hour: 14))
        #expect(try departure("utc_offset_min=-720") == LocalTime(year: 2026, month: 1, day: 5))
        #expect(try departure("utc_offset_min=60", "utc_offset_min=") == nil)
        for wrong in ["841", "-721", "1.5", "x"] {
            #expect(throws: ConfigError.self) { try departure("utc_offset_min=\(wrong)") }
        }
    }

    @Test(arguments: [
        ("gpsd://localhost:2947", GNSSConfiguration.Source.gpsd(host: "localhost", port: 2_947)),
        ("gpsd://receiver", .gpsd(host: "receiver", port: 2_947)), ("/dev/ttyACM0", .path("/dev/ttyACM0")),
        ("gpsd://[::1]:2948", .gpsd(host: "[::1]", port: 2_948)), ("gpsd://[::1]", .gpsd(host: "[::1]", port: 2_947)),
        ("drive.csv", .path("drive.csv")),
    ])
    func aSourceIsAnAddressOrAPath(text: String, source: GNSSConfiguration.Source) throws {
        let configuration = try ConfigLoader.load(GNSSConfiguration.self, file: nil, overrides: ["source=\(text)"])
        #expect(configuration.source == source)
    }

    @Test(arguments: ["gpsd://", "gpsd://:2947", "gpsd://host:", "gpsd://host:0", "gpsd://host:65536", "gpsd://host:x"])
    func invalidSourceAddressIsRejected(text: String) throws {
        let error = #expect(throws: ConfigError.self) {
            try ConfigLoader.load(GNSSConfiguration.self, file: nil, overrides: ["source=\(text)"])
        }
        #expect(error?.description.contains("gpsd://HOST:PORT") == true)
        #expect(try ConfigLoader.load(GNSSConfiguration.self, file: nil, overrides: ["source="]).source == nil)
    }

    @Test func configurationsReportMissingSettings() {
        var receiver = GNSSConfiguration()
        #expect(receiver.omission?.contains("source=") == true)
        receiver.source = .path("drive.csv")
        #expect(receiver.omission == nil && RunConfiguration(receiver).omission == nil)
        var navigation = NavigationConfiguration()
        #expect(RunConfiguration(navigation).omission?.contains("tiles=") == true)
        navigation.tiles = "tiles"
        #expect(navigation.omission == nil)
        navigation.via = [Coordinate(latitude: 60.1, longitude: 24.9)]
        #expect(navigation.omission?.contains("destination=") == true)
        navigation.destination = Coordinate(latitude: 60.2, longitude: 25)
        #expect(navigation.omission == nil && KitConfiguration().omission == nil)
    }

    @Test func placeIsLatitudeAndLongitudeInDegrees() {
        #expect(Coordinate(text: "60.17,24.94") == Coordinate(latitude: 60.17, longitude: 24.94))
        #expect(Coordinate(text: "-33.8, -151.2") == Coordinate(latitude: -33.8, longitude: -151.2))
        #expect(Coordinate(text: "1e1,2e1") == Coordinate(latitude: 10, longitude: 20))
        for text in [
            "", ",", "60.17", "60.17,", ",24.94", "60.17,24.94,3", "60.17;24.94", "nan,0", "inf,0", "91,0", "0,181",
            "60.17 24.94", "6O,24", "0x10,0x,1",
        ] {
            #expect(Coordinate(text: text) == nil, "'\(text)'")
        }
        let place = Coordinate(latitude: 60.1655000001, longitude: -0.1)
        #expect(Coordinate(text: place.text) == place)
    }

    @Test func avoidedFeaturesAreParsedByName() {
        #expect(Avoidance(names: "") == [])
        #expect(Avoidance(names: "tolls,ferries") == [.tolls, .ferries])
        #expect(Avoidance(names: Avoidance.names.map(\.name).joined(separator: ",")) != nil)
        for text in ["tolls,trams", "tolls,,ferries", "tolls,", ",", "tolls;ferries"] {
            #expect(Avoidance(names: text) == nil, "'\(text)'")
        }
    }

    @Test func topicsOfNoticesAreParsedByName() throws {
        func topics(_ text: String) throws -> RouteNotice.Topics {
            try ConfigLoader.load(
                NavigationConfiguration.self, file: nil, overrides: ["guidance.notices=\(text)"]
            ).navigator.wording.notices
        }
        #expect(try topics("") == [])
        #expect(try topics("borders,tolls") == [.tolls, .borders])
        #expect(NavigationConfiguration().navigator.wording.notices == .all)
        for text in ["tolls,trams", "tolls,,borders", "tolls,", ","] {
            #expect(throws: (any Error).self, "'\(text)'") { try topics(text) }
        }
    }

    @Test func listsAreTheSameInAFileAndOnTheCommandLine() throws {
        try withTemporaryFolder { folder in
            let path = folder + "/node.yaml"
            try
                "vehicle.avoid: [tolls, ferries]\nreceivers: [roof, dash]\npolicy: {ask: [should_reroute, accept_reroute]}\n"
                .write(toFile: path, atomically: true, encoding: .utf8)
            let configuration = try ConfigLoader.load(NavigationConfiguration.self, file: path)
            #expect(configuration.vehicle.avoid == [.tolls, .ferries])
            #expect(configuration.receivers == ["roof", "dash"])
            #expect(configuration.navigator.policy.asked.count == 2)
        }
    }

    @Test func providerFilesAreInputsOnlyIfTheProviderIsUsed() throws {
        var configuration = NavigationConfiguration()
        configuration.online.tokenFile = "/token"
        configuration.online.directions.authorities = "/ca.pem"
        #expect(configuration.inputPaths.isEmpty)
        configuration.online.directions.url = "https://127.0.0.1"
        #expect(configuration.inputPaths.map(\.path) == ["/token", "/ca.pem"])
    }

    @Test func remapNeedsTwoTopics() throws {
        #expect(try NodeArguments.remaps(["/a:=/b", "/c:=/d/e"]) == ["/a": "/b", "/c": "/d/e"])
        for word in ["", "/a", "/a:=", ":=/b", "a:=/b", "/a:=b", "/a:=/b:=/c"] {
            let error = #expect(throws: NodeError.self) { try NodeArguments.remaps([word]) }
            #expect(error?.code == .usage)
        }
    }
}
