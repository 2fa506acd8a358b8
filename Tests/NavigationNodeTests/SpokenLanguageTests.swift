import Foundation
import NavGeo
import NavGuidance
import NavKit
import NavMessages
import NavNavigator
import NavReplay
import NavTestKit
import NavTestSystem
import NavWire
import NavigationNode
import Testing

/// Drives with spoken instructions in every language.
@Suite(.serialized) struct SpokenLanguageTests {
    /// Returns all spoken texts of a drive with a deviation, and its options.
    private static func drive(
        _ wording: Wording, resuming trip: SavedTrip? = nil, from first: Int = 0, to last: Int = .max
    ) throws -> (said: [OutgoingMessage], trip: SavedTrip?) {
        var configuration = Helsinki.configuration
        configuration.tripFile = "/kept"
        configuration.navigator.wording = wording
        if trip?.configured == nil, trip != nil { configuration.destination = nil }
        let map = try Helsinki.map.get()
        let session = NavigationSession(map: map, configuration: configuration, nodeName: "test", resuming: trip)
        let planner = RoutePlanner()
        var said: [OutgoingMessage] = []
        var kept: SavedTrip?
        for (number, fix) in try Helsinki.drive.get().enumerated() where number >= first && number < last {
            var outcomes = [session.handle(fix, sequence: UInt64(number + 1))]
            while !outcomes.isEmpty {
                let outcome = outcomes.removeFirst()
                said += outcome.messages
                if let trip = outcome.trip { kept = trip }
                outcomes += outcome.queries.map { session.handle(planner.answer($0, on: map), to: $0) }
            }
        }
        return (said, kept)
    }

    private static func all<M: Message>(_ said: [OutgoingMessage], _ type: M.Type) -> [M] {
        said.compactMap { $0.message as? M }
    }

    @Test func configuredLanguageIsKeptAfterAReroute() throws {
        let said = try Self.drive(Wording(language: "de", units: .imperial)).said
        let routes = Self.all(said, NavMessages.Route.self).filter { $0.geometry != nil }
        #expect(routes.count > 1 && routes.contains { $0.reason == .rerouted })
        #expect(routes.allSatisfy { $0.options?.language == "de" && $0.options?.units == .imperial })
        #expect(routes.allSatisfy { $0.legs[0].steps.allSatisfy { $0.instruction?.contains("urn ") != true } })
        let spoken = Self.all(said, NavMessages.SpokenInstruction.self)
        #expect(spoken.count > 5 && spoken.allSatisfy { $0.language == "de" })
        #expect(spoken.allSatisfy { $0.ssml?.contains("xml:lang=\"de\"") == true })
        #expect(spoken.contains { $0.text?.contains("abbiegen") == true })
        #expect(spoken.contains { $0.text?.contains("Fuß") == true || $0.text?.contains("Meile") == true })
        let shown = Self.all(said, NavMessages.VisualInstruction.self).filter { $0.primary != nil }
        #expect(shown.count > 5 && shown.allSatisfy { $0.language == "de" })
    }

    @Test func resumedTripKeepsItsLanguage() throws {
        var trip = try #require(try Self.drive(Wording(), to: 100).trip)
        // The trip was requested by a call.
        trip.configured = nil
        trip.order?.options?.language = "fi"
        trip.route?.options?.language = "fi"
        let said = try Self.drive(Wording(language: "de"), resuming: trip, from: 103).said
        let routes = Self.all(said, NavMessages.Route.self).filter { $0.geometry != nil }
        #expect(routes.first?.reason == .resumed && routes.contains { $0.reason == .rerouted })
        #expect(routes.allSatisfy { $0.options?.language == "fi" })
        let spoken = Self.all(said, NavMessages.SpokenInstruction.self)
        #expect(!spoken.isEmpty && spoken.allSatisfy { $0.language == "fi" })
    }

    @Test func routesUseTheRequestedLanguage() async throws {
        let table = try ServiceTable([("guidance.language", "es")])
        try await table.drive(try Helsinki.drive.get().prefix(5))
        let to = NavMessages.Waypoint(latitude: Helsinki.to.latitude, longitude: Helsinki.to.longitude)
        for (asked, spoken) in [(nil, "es"), ("zh", "zh-Hans"), ("en-US", "en-US")] {
            let order = CalculateRouteRequest(
                waypoints: [to], options: RouteOptions(alternatives: 2, language: asked), preview: false)
            let found = try #require(try await table.routes(order).last?.routes)
            #expect(!found.isEmpty && found.allSatisfy { $0.options?.language == spoken })
            let arrival = try #require(PhraseTable.named(spoken)?.phrases["arrived"]).lowercased()
            for route in found {
                let last = try #require(route.legs.last?.steps.last?.instruction)
                #expect(last.lowercased().hasPrefix(arrival), "\(last)")
            }
        }
    }

    // MARK: Speech

    private static let speaker = "/usr/bin/espeak-ng"

    /// A line with its start, and the time by which it must end; seconds since the drive's start.
    private struct Line {
        var text: String
        var start: Double
        var maneuver: Double?
    }

    /// Returns the lines of a drive; a maneuver is located where the progress enters the step that begins with it. A notice names the step
    /// on which it is announced, so its time ends with the next step.
    private static func lines(_ said: [OutgoingMessage]) -> [Line] {
        var lines: [Line] = []
        var open: [(line: Int, route: UInt64?, leg: UInt32, step: UInt32)] = []
        for message in said {
            if let spoken = message.message as? NavMessages.SpokenInstruction {
                let isArrival = spoken.maneuver?.type == .arrive && spoken.urgency == .now
                if !isArrival {
                    let step = (spoken.stepIndex ?? 0) + (spoken.isNotice == true ? 1 : 0)
                    open.append((lines.count, spoken.routeId, spoken.legIndex ?? 0, step))
                }
                lines.append(
                    Line(text: spoken.text ?? "", start: Double((spoken.stampNs ?? 0) - Helsinki.start) / 1e9))
            } else if let progress = message.message as? NavMessages.RouteProgress {
                let (leg, step) = (progress.legIndex ?? 0, progress.stepIndex ?? 0)
                for known in open where known.route == progress.routeId && (known.leg, known.step) <= (leg, step) {
                    lines[known.line].maneuver = Double((progress.stampNs ?? 0) - Helsinki.start) / 1e9
                }
                open.removeAll { $0.route != progress.routeId || ($0.leg, $0.step) <= (leg, step) }
            }
        }
        return lines
    }

    @Test(
        .enabled(if: FileManager.default.isExecutableFile(atPath: speaker), "needs the Debian package espeak-ng"),
        arguments: PhraseTable.all.map(\.language))
    func everyAnnouncementEndsBeforeItsManeuverAndTheNextOne(language: String) throws {
        let voice = language.hasPrefix("zh") ? "cmn" : language.lowercased()
        let lines = Self.lines(try Self.drive(Wording(language: language)).said)
        #expect(lines.count { $0.maneuver != nil } > 5)
        let folder = try TemporaryFolder()
        let sound = folder.path + "/line.wav"
        for (index, line) in lines.enumerated() {
            let said = try Programs.run(Self.speaker, ["-v", voice, "-w", sound, line.text])
            #expect(said.status == 0, "\(said.errors)")
            // After a header of 44 bytes, the file has 22,050 samples of two bytes per second.
            let bytes = try #require(
                try FileManager.default.attributesOfItem(atPath: sound)[.size] as? NSNumber
            ).doubleValue
            let end = line.start + (bytes - 44) / 44_100
            if let maneuver = line.maneuver {
                #expect(end <= maneuver, "\(language): '\(line.text)' ends \(end - maneuver) s after its maneuver")
            }
            if index + 1 < lines.count {
                let next = lines[index + 1]
                #expect(end <= next.start, "\(language): '\(line.text)' ends \(end - next.start) s into '\(next.text)'")
            }
        }
    }
}
