import Foundation
import NavConfig
import NavDirections
import NavKit
import NavRecording
import NavReplay
import NavTestKit
import NavWire
import NavigationNode
import Testing

/// The configuration keys under `directions`.
struct OnlineRoutingTests {
    private func load(_ overrides: String...) throws -> OnlineRoutingKeys {
        try ConfigLoader.load(OnlineRoutingKeys.self, file: nil, overrides: overrides)
    }

    @Test func providerIsAbsentUnlessConfigured() throws {
        #expect(try load().provider(environment: [:]) == nil)
        #expect(try load("directions.deadline_ms=500").provider(environment: [:]) == nil)
        #expect(try load("directions.url=http://127.0.0.1:5000").provider(environment: [:]) != nil)
    }

    @Test func everyKeyIsDocumentedAndAcceptsItsDefault() throws {
        let names = OnlineRoutingKeys.keys.map(\.name)
        #expect(Set(names).count == names.count && names.allSatisfy { $0.hasPrefix("directions.") })
        for key in OnlineRoutingKeys.keys {
            #expect(try #/[a-z]+(_[a-z]+)*(\.[a-z_]+)?/#.wholeMatch(in: key.name) != nil, "\(key.name)")
            #expect(key.documentation.hasSuffix("."), "\(key.name)")
            let text = key.text(of: OnlineRoutingKeys())
            #expect(key.text(of: try load("\(key.name)=\(text)")) == text, "the default of \(key.name)")
        }
    }

    @Test func fileKeysConfigureTheProvider() throws {
        let folder = try TemporaryFolder()
        let file = try folder.write(
            "node.yaml",
            """
            directions:
              url: https://directions.example
              dialect: mapbox
              profile: mapbox/driving
              token_file: /run/secrets/directions
              deadline_ms: 1500
              attempt_ms: 700
              retries: 1
              backoff_first_ms: 50
              backoff_max_ms: 400
              max_bytes: 1000000
              alternatives: 2
              language: de
              proxy: gateway:3128
              ca_file: /etc/fleet/ca.pem
              rest_after: 2
              rest_first_s: 10
              rest_max_s: 60

            """.utf8)
        let keys = try ConfigLoader.load(OnlineRoutingKeys.self, file: file)
        var wanted = DirectionsConfiguration()
        wanted.url = "https://directions.example"
        wanted.dialect = .mapbox
        wanted.profile = "mapbox/driving"
        wanted.deadline = 1.5
        wanted.attemptTimeout = 0.7
        wanted.retries = 1
        wanted.firstPause = 0.05
        wanted.longestPause = 0.4
        wanted.maximumBytes = 1_000_000
        wanted.alternatives = 2
        wanted.language = "de"
        wanted.proxy = "gateway:3128"
        wanted.authorities = "/etc/fleet/ca.pem"
        wanted.failuresToOpen = 2
        wanted.firstOpenTime = 10
        wanted.longestOpenTime = 60
        #expect(keys.directions == wanted)
        #expect(keys.tokenFile == "/run/secrets/directions")
    }

    @Test(arguments: [
        "directions.dialect=google", "directions.deadline_ms=0", "directions.deadline_ms=nan", "directions.retries=-1",
        "directions.alternatives=4", "directions.max_bytes=1", "directions.rest_after=0", "directions.rest_first_s=x",
    ])
    func invalidValueIsRejected(override: String) {
        #expect(throws: ConfigError.self) { try load(override) }
    }

    @Test func contradictoryKeysAreReportedByName() throws {
        for (overrides, word) in [
            (["directions.url=example"], "directions.url"), (["directions.url=ftp://example"], "directions.url"),
            (["directions.url=https://user:secret@example"], "user"),
            (["directions.url=https://example", "directions.dialect=mapbox"], "directions.token_file"),
            (["directions.url=https://example", "directions.token_file=/nowhere/token"], "/nowhere/token"),
            (["directions.url=https://example", "directions.ca_file=/nowhere/ca.pem"], "/nowhere/ca.pem"),
            (["directions.url=https://example", "directions.proxy=gateway"], "directions.proxy"),
            (["directions.url=https://example", "directions.profile=../driving?x"], "directions.profile"),
        ] {
            let keys = try ConfigLoader.load(OnlineRoutingKeys.self, file: nil, overrides: overrides)
            let error = #expect(throws: DirectionsError.self) { try keys.provider(environment: [:]) }
            #expect(error?.code == .configuration && error?.message.contains(word) == true, "\(overrides)")
        }
    }

    @Test func tokenIsNotSentUnencrypted() throws {
        let keys = try load("directions.url=http://example.com")
        let environment = ["NAVBUS_DIRECTIONS_TOKEN": "secret"]
        let error = #expect(throws: DirectionsError.self) { try keys.provider(environment: environment) }
        #expect(error?.message.contains("https") == true && error?.message.contains("secret") == false)
        #expect(try load("directions.url=https://example.com").provider(environment: environment) != nil)
    }
}
