import NavGeo
import NavHTTP
import Testing

/// Parsing of times in HTTP headers.
struct HTTPTimeTests {
    @Test func retryAfterIsSecondsOrADateOfTheServerClock() {
        let moment = "Sun, 06 Nov 1994 08:49:47 GMT"
        #expect(retryAfter("120", date: nil) == 120)
        #expect(retryAfter("0", date: nil) == 0)
        #expect(retryAfter(moment, date: "Sun, 06 Nov 1994 08:49:37 GMT") == 10)
        #expect(retryAfter(moment, date: "Sun, 06 Nov 1994 09:49:37 GMT") == 0)
        for text in [nil, "", "later", "-1", "1.5", "nan", "inf"] {
            #expect(retryAfter(text, date: moment) == nil)
        }
    }

    @Test func withoutDateHeaderRetryAfterUsesTheLocalClock() {
        for date in [nil, "yesterday"] {
            #expect(retryAfter("Sun, 06 Nov 1994 08:49:47 GMT", date: date) == 30)
            #expect(retryAfter("Sun, 06 Nov 1994 08:48:47 GMT", date: date) == 0)
        }
    }

    /// Returns the pause of an answer that arrived at 08:49:17 by the local clock.
    private func retryAfter(_ text: String?, date: String?) -> Double? {
        HTTPTime.retryAfter(text, date: date, received: Timestamp(nanoseconds: 784_111_757_000_000_000))
    }

    @Test func hugeNumbersAreClamped() {
        #expect(HTTPTime.deltaSeconds("99999999999999999999999") == 2_147_483_648)
        #expect(HTTPTime.deltaSeconds("-1") == nil && HTTPTime.deltaSeconds("1.5") == nil)
    }

    @Test(arguments: ["Thu, 29 Feb 2024 00:00:00 GMT", "Thursday, 29-Feb-24 00:00:00 GMT", "Thu Feb 29 00:00:00 2024"])
    func datesFollowTheCalendar(text: String) { #expect(HTTPTime.moment(text) == 1_709_164_800) }

    @Test(arguments: ["", "GMT", "Sun, 06 Foo 1994 08:49:37 GMT", "Sun, 06 Nov 1994 25:49:37 GMT", "a b c d e f"])
    func invalidDatesAreNil(text: String) { #expect(HTTPTime.moment(text) == nil) }
}
