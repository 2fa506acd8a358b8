import NavGeo
import NavTileStore
import Testing

@Suite("Freshness of responses")
struct SourceFreshnessTests {
    private static let now = Timestamp(nanoseconds: 1_700_000_000_000_000_000)

    private func freshness(
        _ cacheControl: [String] = [], age: String? = nil, expires: String? = nil, date: String? = nil,
        delay: Double = 0
    ) -> Freshness {
        Freshness(
            cacheControl: cacheControl, age: age, expires: expires, date: date, received: Self.now, delay: delay)
    }

    private func seconds(_ freshness: Freshness) -> Double? {
        freshness.expires.map { ($0.seconds(since: Self.now) * 1_000).rounded() / 1_000 }
    }

    @Test("max-age counts from the response's creation: Age and transit time are subtracted")
    func maximumAge() {
        #expect(seconds(freshness(["public, max-age=600"])) == 600)
        #expect(seconds(freshness(["max-age=600"], age: "100", delay: 2)) == 498)
        #expect(seconds(freshness(["max-age=60"], age: "100")) == 0)
        #expect(seconds(freshness(["MAX-AGE=\"5\""])) == 5)
    }

    @Test("max-age takes precedence over Expires, and the first of two directives applies")
    func order() {
        let date = "Tue, 14 Nov 2023 22:13:20 GMT"
        let expires = "Tue, 14 Nov 2023 23:13:20 GMT"
        #expect(seconds(freshness(["max-age=7"], expires: expires, date: date)) == 7)
        #expect(seconds(freshness(expires: expires, date: date)) == 3_600)
        #expect(seconds(freshness(["max-age=7, max-age=9"])) == 7)
    }

    @Test("Expires is relative to the server's Date, so a wrong local clock does not matter")
    func foreignClock() {
        #expect(
            seconds(
                freshness(expires: "Sun, 06 Nov 1994 08:59:37 GMT", date: "Sunday, 06-Nov-94 08:49:37 GMT")) == 600)
        #expect(
            seconds(freshness(expires: "Sun Nov  6 09:49:37 1994", date: "Sun, 06 Nov 1994 08:49:37 GMT")) == 3_600)
    }

    @Test("An unreadable Expires counts as expired; a tile without freshness data never expires")
    func unknown() {
        #expect(seconds(freshness(expires: "0")) == 0)
        #expect(seconds(freshness(["max-age=soon"])) == 0)
        #expect(freshness().expires == nil)
        #expect(freshness(["public"]).expires == nil)
    }

    @Test("no-store is not stored and no-cache is revalidated, also among other directives")
    func directives() {
        #expect(!freshness(["private, no-store"]).isStorable)
        #expect(freshness(["no-cache"]).isStorable)
        #expect(seconds(freshness(["max-age=60", "no-cache"])) == 0)
        // With field names, the directive concerns only these fields; within quotes it is not a directive.
        #expect(seconds(freshness(["no-cache=\"Set-Cookie\", max-age=60"])) == 60)
        #expect(freshness(["ext=\"a, no-store\""]).isStorable)
    }

    @Test("Huge values are clamped")
    func large() {
        #expect(seconds(freshness(["max-age=99999999999999999999999"])) == 2_147_483_648)
    }
}
