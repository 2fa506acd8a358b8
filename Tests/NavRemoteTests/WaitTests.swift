import NavRemote
import Testing

/// How long to wait: pauses between attempts, and what servers say.
struct WaitTests {
    @Test func pausesDoubleUpToTheLongestAndAreOfTheirUpperHalf() {
        let backoff = Backoff(first: 0.2, longest: 1)
        for (repetition, longest) in [0.2, 0.4, 0.8, 1, 1].enumerated() {
            #expect(backoff.pause(before: repetition, chance: 0) == longest / 2)
            #expect(abs(backoff.pause(before: repetition, chance: 0.5) - longest * 0.75) < 1e-12)
        }
        #expect(backoff.pause(before: .max, chance: 0) == 0.5 && backoff.pause(before: .min, chance: 0) == 0.1)
        #expect(Backoff(first: 5, longest: 1).pause(before: 0, chance: 0) == 0.5)
    }

    @Test func retryAfterIsANumberOrAMomentOfTheServersClock() {
        let moment = "Sun, 06 Nov 1994 08:49:47 GMT"
        #expect(HTTPTime.retryAfter("120", date: nil, now: 0) == 120)
        #expect(HTTPTime.retryAfter(" 0\t", date: nil, now: 0) == 0)
        #expect(HTTPTime.retryAfter(moment, date: "Sun, 06 Nov 1994 08:49:37 GMT", now: 0) == 10)
        #expect(HTTPTime.retryAfter(moment, date: "Sun, 06 Nov 1994 09:49:37 GMT", now: 0) == 0)
        #expect(HTTPTime.retryAfter(moment, date: nil, now: 784_111_780) == 7)
        #expect(HTTPTime.retryAfter(moment, date: "yesterday", now: 784_111_780) == 7)
        #expect(HTTPTime.retryAfter(moment, date: nil, now: nil) == nil)
        for text in [nil, "", "later", "-1", "1.5", "nan", "inf"] {
            #expect(HTTPTime.retryAfter(text, date: nil, now: 0) == nil)
        }
    }

    @Test func numbersBeyondAnyAreBounded() {
        #expect(HTTPTime.deltaSeconds("99999999999999999999999") == 2_147_483_648)
        #expect(HTTPTime.deltaSeconds("-1") == nil && HTTPTime.deltaSeconds("1.5") == nil)
    }

    @Test(arguments: ["Thu, 29 Feb 2024 00:00:00 GMT", "Thursday, 29-Feb-24 00:00:00 GMT", "Thu Feb 29 00:00:00 2024"])
    func datesAreThoseOfTheCalendar(text: String) { #expect(HTTPTime.moment(text) == 1_709_164_800) }

    @Test(arguments: ["", "GMT", "Sun, 06 Foo 1994 08:49:37 GMT", "Sun, 06 Nov 1994 25:49:37 GMT", "a b c d e f"])
    func whatIsNoDateIsNone(text: String) { #expect(HTTPTime.moment(text) == nil) }
}
