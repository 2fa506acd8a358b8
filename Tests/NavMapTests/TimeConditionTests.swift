import NavMap
import Testing

@Suite("Times of day and year")
struct TimeConditionTests {
    /// Days of January 2026; the fifth is a Monday.
    private func january(_ day: Int, _ hour: Int, _ minute: Int = 0) throws -> LocalTime {
        try #require(LocalTime(year: 2026, month: 1, day: day, hour: hour, minute: minute))
    }

    @Test("weekdays, months and leap years are computed")
    func calendar() throws {
        #expect(try january(5, 8, 30).weekday == 0 && january(5, 8, 30).minuteOfDay == 510)
        #expect(LocalTime(localSeconds: 0).weekday == 3 && LocalTime(localSeconds: 0).monthAndDay == (1, 1))
        #expect(LocalTime(localSeconds: -1).monthAndDay == (12, 31) && LocalTime(localSeconds: -1).minuteOfDay == 1_439)
        let leap = try #require(LocalTime(year: 2024, month: 2, day: 29))
        #expect(leap.monthAndDay == (2, 29) && leap.weekday == 3)
        #expect(LocalTime(year: 2026, month: 2, day: 29)?.monthAndDay ?? (0, 0) == (3, 1))
        #expect(LocalTime(localSeconds: 951_782_400).monthAndDay == (2, 29))
        for seconds in [Int64.min, .max, -62_135_596_800, 253_402_300_800] {
            let time = LocalTime(localSeconds: seconds)
            #expect((0..<1_440).contains(time.minuteOfDay) && (0..<7).contains(time.weekday))
            #expect(TimeCondition("Jan-Jun Mo-Fr 22:00-06:00")?.holds(at: time) != nil)
        }
        for (year, month, day) in [(0, 1, 1), (10_000, 1, 1), (2026, 0, 1), (2026, 13, 1), (2026, 1, .max)] {
            #expect(LocalTime(year: year, month: month, day: day) == nil)
        }
    }

    @Test(
        "conditions apply at the stated times",
        arguments: [
            ("07:00-09:00", 5, 7, true), ("07:00-09:00", 5, 9, false), ("Mo-Fr 07:00-09:00", 10, 8, false),
            ("Mo,We 07:00-09:00", 7, 8, true), ("Mo,We 07:00-09:00", 6, 8, false), ("Sa-Mo", 11, 0, true),
            ("22:00-06:00", 5, 5, true), ("Mo 22:00-06:00", 6, 5, true), ("Mo 22:00-06:00", 5, 5, false),
            ("Mo 18:00-26:00", 6, 1, true), ("24/7", 8, 3, true), ("Mo-Su; We off", 7, 12, false),
            ("Mo-Fr 08:00-18:00; Sa 08:00-12:00", 10, 11, true), ("Nov-Feb", 5, 12, true), ("Mar-Oct", 5, 12, false),
            ("Jan 05", 5, 12, true), ("Jan 06-Jan 09", 5, 12, false), ("Jan 4-6", 5, 12, true),
            ("PH", 5, 12, false), ("Mo-Fr,PH 08:00-18:00", 5, 12, true), ("Mo-Fr: 8:00-18:00", 5, 12, true),
            ("Jan-Mar Mo 10:00-14:00", 5, 12, true), ("Mo off", 5, 12, false),
        ])
    func holding(text: String, day: Int, hour: Int, expected: Bool) throws {
        let condition = try #require(TimeCondition(text))
        #expect(condition.holds(at: try january(day, hour)) == expected)
    }

    @Test(
        "unsupported text is not a condition",
        arguments: [
            "", ";", "sunrise-sunset", "wet", "Mo[1] 08:00", "week 1-10", "2026 Jan 01", "08:00+", "25:99-26:00", "Mo-",
            "Mo,", "08:00-", "Mo-Fr 08:00-18:00 x", "07:00-09:00,", "-", "Jan 32 08:00-09:00x",
        ])
    func unknown(text: String) {
        #expect(TimeCondition(text) == nil)
    }

    @Test("long texts are refused before they are parsed")
    func bounds() {
        #expect(TimeCondition(String(repeating: "Mo;", count: 100_000)) == nil)
        #expect(TimeCondition(String(repeating: "Mo;", count: 33)) == nil)
        #expect(TimeCondition(String(repeating: "1:00-2:00,", count: 40) + "3:00-4:00") == nil)
    }
}
