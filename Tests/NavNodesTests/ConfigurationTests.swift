import NavConfig
import NavGeo
import NavNodes
import NavRouting
import Testing

/// What users write: keys, places, topics.
struct ConfigurationTests {
    @Test func everyKeyIsDocumentedAndItsDefaultIsAValueOfIt() throws {
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

    @Test func aTripIsItsStopsAndItsDestination() throws {
        let configuration = try ConfigLoader.load(
            NavigationConfiguration.self, file: nil, overrides: ["via=60.1,24.9;60.2,25", "destination=-33.8,151.2"])
        #expect(configuration.trip.map(\.coordinate.text) == ["60.1,24.9", "60.2,25.0", "-33.8,151.2"])
        let none = try ConfigLoader.load(NavigationConfiguration.self, file: nil, overrides: ["via=60.1,24.9"])
        #expect(none.trip.isEmpty)
    }

    @Test(arguments: [
        ("gpsd://localhost:2947", GNSSConfiguration.Source.gpsd(host: "localhost", port: 2_947)),
        ("gpsd://receiver", .gpsd(host: "receiver", port: 2_947)), ("/dev/ttyACM0", .path("/dev/ttyACM0")),
        ("drive.csv", .path("drive.csv")),
    ])
    func aSourceIsAnAddressOrAPath(text: String, source: GNSSConfiguration.Source) throws {
        let configuration = try ConfigLoader.load(GNSSConfiguration.self, file: nil, overrides: ["source=\(text)"])
        #expect(configuration.source == source)
    }

    @Test(arguments: ["gpsd://", "gpsd://:2947", "gpsd://host:", "gpsd://host:0", "gpsd://host:65536", "gpsd://host:x"])
    func anAddressThatCannotBeIsRefused(text: String) throws {
        let error = #expect(throws: ConfigError.self) {
            try ConfigLoader.load(GNSSConfiguration.self, file: nil, overrides: ["source=\(text)"])
        }
        #expect(error?.description.contains("gpsd://HOST:PORT") == true)
        #expect(try ConfigLoader.load(GNSSConfiguration.self, file: nil, overrides: ["source="]).source == nil)
    }

    @Test func aPlaceIsTwoNumbersOfDegrees() {
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

    @Test func whatIsAvoidedIsNamed() {
        #expect(Avoidance(names: "") == [])
        #expect(Avoidance(names: "tolls,ferries") == [.tolls, .ferries])
        #expect(Avoidance(names: Avoidance.names.map(\.name).joined(separator: ",")) != nil)
        #expect(Avoidance(names: "tolls,trams") == nil)
    }

    @Test func remapsAreTwoTopics() throws {
        #expect(try NodeArguments.remaps(["/a:=/b", "/c:=/d/e"]) == ["/a": "/b", "/c": "/d/e"])
        for word in ["", "/a", "/a:=", ":=/b", "a:=/b", "/a:=b", "/a:=/b:=/c"] {
            let error = #expect(throws: NodeError.self) { try NodeArguments.remaps([word]) }
            #expect(error?.code == .usage)
        }
    }
}
