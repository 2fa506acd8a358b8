import Foundation
import NavDirections
import NavGeo
import NavRouting
import NavSimulation
import NavTestKit
import NavTestSupport
import Testing

/// Valid answers of real providers, and invalid answers.
struct AnswerTests {
    @Test func osrmAlternativesHaveNodesAndTimes() throws {
        let routes = try Recorded.routes("osrm-alternatives", Recorded.direct)
        #expect(routes.map(\.duration) == [251.4, 270.6] && routes.map(\.length) == [1_531.1, 1_916])
        for leg in routes.flatMap(\.legs) {
            #expect(leg.nodeIDs.count == leg.line.count && leg.durations.count == leg.line.count - 1)
            #expect(abs(Polyline(leg.line).length - leg.length) < 5)
            #expect(leg.durations.reduce(0, +) < leg.duration, "the durations exclude turns")
        }
    }

    @Test func valhallaAlternativesHaveTimes() throws {
        let routes = try Recorded.routes("valhalla-alternatives", Recorded.direct)
        #expect(routes.map(\.duration) == [173.862, 231.158])
        for leg in routes.flatMap(\.legs) {
            #expect(leg.nodeIDs.isEmpty && leg.durations.count == leg.line.count - 1)
        }
    }

    @Test(arguments: ["osrm", "valhalla"])
    func stopsEndLegsAndSilentPointsDoNot(provider: String) throws {
        let two = try #require(try Recorded.routes("\(provider)-two-legs", Recorded.twoLegs).first)
        #expect(two.legs.count == 2)
        #expect(two.legs[0].line.last == two.legs[1].line.first)
        #expect(abs(two.legs.reduce(0) { $0 + Polyline($1.line).length } - two.length) < 5)
        #expect(two.legs.allSatisfy { $0.durations.count == $0.line.count - 1 })
        #expect(try Recorded.routes("\(provider)-silent-point", Recorded.silentPoint).first?.legs.count == 1)
        // Legs that do not match the requested stops are malformed.
        let error = #expect(throws: DirectionsError.self) {
            try Recorded.routes("\(provider)-two-legs", Recorded.direct)
        }
        #expect(error?.code == .malformed)
    }

    @Test func legsWithoutAnnotationsAreSplitAtTheStops() throws {
        var document = try #require(
            try JSONSerialization.jsonObject(with: Recorded.body("osrm-two-legs")) as? [String: Any])
        var routes = try #require(document["routes"] as? [[String: Any]])
        let legs = try #require(routes[0]["legs"] as? [[String: Any]])
        routes[0]["legs"] = legs.map { $0.filter { $0.key != "annotation" } }
        document["routes"] = routes
        let body = try JSONSerialization.data(withJSONObject: document)
        let bare = try ResponseDecoder(request: Recorded.twoLegs).routes(DirectionsReply(status: 200, body: body))
        let full = try Recorded.routes("osrm-two-legs", Recorded.twoLegs)
        for (bare, full) in zip(bare[0].legs, full[0].legs) {
            #expect(abs(Polyline(bare.line).length - Polyline(full.line).length) < 2)
            #expect(bare.durations.isEmpty && bare.nodeIDs.isEmpty)
        }
    }

    @Test(arguments: [
        ("osrm-no-route", 400, DirectionsError.Code.noRoute), ("osrm-no-segment", 400, .noSegment),
        ("osrm-invalid-query", 400, .invalidInput), ("valhalla-no-segment", 400, .noSegment),
        ("valhalla-no-json", 400, .invalidInput),
    ])
    func providerErrorsAreReported(name: String, status: Int, code: DirectionsError.Code) throws {
        let failure = try #require(try Recorded.failure(name, status: status))
        #expect(failure.code == code, "\(failure)")
    }

    @Test(.needs("gnss/ingest/directions"))
    func mapboxAnswersOfTheMapLibreTestsAreRead() throws {
        // Traffic without durations, in five decimals: the points are elsewhere, but the counts are the same.
        let path = TestData.gnss("ingest/directions/straight-line.json")
        let body = try Data(contentsOf: URL(fileURLWithPath: path))
        let request = RouteRequest(waypoints: [Waypoint(Recorded.start), Waypoint(Recorded.end)])
        let routes = try ResponseDecoder(request: request).routes(DirectionsReply(status: 200, body: body))
        let leg = try #require(routes.first?.legs.first)
        #expect(leg.congestion.count == leg.line.count - 1 && leg.congestion.contains { $0 != .unknown })
        #expect(leg.durations.isEmpty)
    }

    // MARK: Statuses

    private func failure(_ status: Int, _ body: String = "", retryAfter: Double? = nil) -> DirectionsError? {
        DirectionsReply(status: status, body: Data(body.utf8), retryAfter: retryAfter).failure
    }

    @Test func statusesDetermineWhetherAndWhenToRetry() {
        #expect(failure(200, "{}") == nil)
        let token = failure(401, #"{"message":"Not Authorized - Invalid Token"}"#)
        #expect(token?.code == .unauthorized && token?.isTransient == false)
        #expect(failure(403, #"{"code":"Forbidden"}"#)?.code == .unauthorized)
        #expect(failure(422, #"{"code":"InvalidInput","message":"Coordinate is invalid"}"#)?.code == .invalidInput)
        #expect(failure(404, #"{"code":"ProfileNotFound"}"#)?.code == .invalidInput)
        #expect(failure(404, "<html>")?.code == .invalidInput)
        for status in [500, 502, 503, 599] {
            #expect(failure(status)?.code == .server && failure(status)?.isTransient == true)
        }
        #expect(failure(504)?.code == .timedOut)
        #expect(failure(302)?.code == .redirected && failure(204)?.code == .malformed)
        #expect(failure(400, #"{"error_code":442,"error":"No path could be found for input"}"#)?.code == .noRoute)
        #expect(failure(400, #"{"error_code":171}"#)?.code == .noSegment)
        #expect(failure(400, #"{"code":7,"message":[]}"#)?.code == .invalidInput)
    }

    @Test(arguments: [(7, 7), (0, 0), (1e11, 86_400), (nil, nil)] as [(Double?, Double?)])
    func retryAfterIsHonouredUpToADay(seconds: Double?, believed: Double?) {
        let failure = failure(429, #"{"message":"Too Many Requests"}"#, retryAfter: seconds)
        #expect(failure?.code == .rateLimited && failure?.retryAfter == believed)
    }

    @Test func providerTextCannotBreakALogLine() {
        let said = #"{"message":"line one\nline two\u001b[31m"# + String(repeating: "x", count: 10_000) + #""}"#
        let message = failure(500, said)?.message ?? ""
        #expect(message.count < 300 && !message.contains("\n") && !message.contains("\u{1b}"))
    }

    // MARK: Hostile answers

    private func decode(_ text: some Sequence<UInt8>) -> Result<[ProvidedRoute], DirectionsError> {
        do throws(DirectionsError) {
            return .success(
                try ResponseDecoder(request: Recorded.direct).routes(DirectionsReply(status: 200, body: Data(text))))
        } catch {
            return .failure(error)
        }
    }

    private func answer(
        geometry: String = #""_p~iF~ps|U_ulLnnqC""#, duration: String = "1", distance: String = "1",
        annotation: String = "{}"
    ) -> String {
        #"{"code":"Ok","routes":[{"geometry":\#(geometry),"legs":"#
            + #"[{"duration":\#(duration),"distance":\#(distance),"annotation":\#(annotation)}]}]}"#
    }

    @Test func baseAnswerIsValid() throws {
        #expect(try decode(answer().utf8).get().count == 1)
    }

    static let hostile: [String] = [
        "", "x", "null", "[]", "{}", "\"", "{\"code\":\"Ok\"}", #"{"code":"Ok","routes":[]}"#,
        #"{"code":"Ok","routes":{}}"#, #"{"code":"Ok","routes":[null]}"#, #"{"code":"Ok","routes":[{}]}"#,
        #"{"code":"Ok","routes":[{"geometry":"_p~iF~ps|U_ulLnnqC"}]}"#,
        #"{"code":"Ok","routes":[{"geometry":"_p~iF~ps|U_ulLnnqC","legs":[]}]}"#,
        #"{"code":"Fine","routes":[]}"#, "\u{feff}{}", "{\"routes\":[1e999]}", String(repeating: "[", count: 100_000),
        String(repeating: "{\"a\":", count: 100_000),
        "{\"code\":\"Ok\",\"routes\":" + String(repeating: "[", count: 5_000),
    ]

    @Test(arguments: hostile.indices)
    func invalidAnswersAreMalformed(index: Int) {
        guard case .failure(let error) = decode(Self.hostile[index].utf8) else {
            Issue.record("taken: \(Self.hostile[index].prefix(80))")
            return
        }
        #expect(error.code == .malformed && error.message.count < 300)
    }

    @Test(arguments: [
        "1e999", "-1", "NaN", "null", "\"1\"", "1e300", "-1e300", "[]", "true", "Infinity", "0x10",
        "1" + String(repeating: "0", count: 400),
    ])
    func invalidTimeIsMalformed(text: String) {
        for body in [answer(duration: text), answer(distance: text), answer(annotation: #"{"duration":[\#(text)]}"#)] {
            if case .success(let routes) = decode(body.utf8) {
                // A list may lack values, which are then unknown.
                #expect(text == "null" && routes[0].legs[0].durations.isEmpty, "\(body)")
            }
        }
    }

    @Test(arguments: [
        "\"\"", "\"_p~iF\"", "\"_p~iF~ps|U\"", "\"~~~~~~~~~~~~~~~~\"", "\"\\u0000\"", "\"äöü\"", "{}", "7", "null",
        "\"_p~iF~ps|U_ulLnnqC_\"", "\"!!!!\"", "\"{{{{{{{{{{{{{{{{?\"",
    ])
    func invalidLineIsMalformed(geometry: String) {
        guard case .failure(let error) = decode(answer(geometry: geometry).utf8) else {
            Issue.record("taken: \(geometry)")
            return
        }
        #expect(error.code == .malformed)
    }

    @Test func listsOfWrongLengthAreIgnored() throws {
        for annotation in [
            #"{"duration":[1,2],"nodes":[1],"congestion":["low","low"]}"#, #"{"nodes":[1,2,3],"distance":[1,2,3]}"#,
        ] {
            let leg = try decode(answer(annotation: annotation).utf8).get()[0].legs[0]
            #expect(leg.durations.isEmpty && leg.nodeIDs.isEmpty && leg.congestion.isEmpty)
        }
        for nodes in ["[1.5,2]", "[1e30,2]", "[99999999999999999999,2]", "[\"1\",2]"] {
            guard case .failure(let error) = decode(answer(annotation: #"{"nodes":\#(nodes)}"#).utf8) else {
                Issue.record("taken: \(nodes)")
                continue
            }
            #expect(error.code == .malformed)
        }
    }

    @Test(arguments: 0..<8)
    func damagedAnswersNeverTrap(seed: Int) throws {
        let names = ["osrm-alternatives", "valhalla-alternatives"]
        let originals = try names.map { try Recorded.bytes($0) }
        var random = SeededRandom(seed: UInt64(seed))
        var taken = 0
        for round in 0..<400 {
            var bytes = originals[round % originals.count]
            for _ in 0..<(1 + Int(random.next() % 4)) {
                let place = Int(random.next() % UInt64(bytes.count))
                switch random.next() % 5 {
                case 0: bytes[place] = UInt8(truncatingIfNeeded: random.next())
                case 1: bytes.remove(at: place)
                case 2: bytes.insert(UInt8(truncatingIfNeeded: random.next()), at: place)
                case 3: bytes.removeSubrange(place..<min(place + 20, bytes.count))
                default: bytes.insert(contentsOf: Array("999999999999999999999".utf8), at: place)
                }
            }
            if case .success(let routes) = decode(bytes) {
                taken += 1
                #expect(
                    routes.allSatisfy { $0.legs.allSatisfy { $0.line.count >= 2 && $0.line.allSatisfy(\.isValid) } })
            }
        }
        #expect(taken < 400)
    }

    @Test func polylineMatchesTheReferenceExample() {
        // The example of the format's description has five decimals; with six, the coordinates are a tenth.
        let points = EncodedPolyline.decode("_p~iF~ps|U_ulLnnqC_mqNvxq`@", maximumPoints: 10)
        #expect(
            points == [
                Coordinate(latitude: 3.85, longitude: -12.02), Coordinate(latitude: 4.07, longitude: -12.095),
                Coordinate(latitude: 4.3252, longitude: -12.6453),
            ])
        #expect(EncodedPolyline.decode("_p~iF~ps|U_ulLnnqC_mqNvxq`@", maximumPoints: 2) == nil)
        #expect(EncodedPolyline.decode("", maximumPoints: 2) == [])
    }
}
