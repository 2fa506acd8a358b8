import NavGNSS
import NavMessages
import NavSimulation
import Testing

@Suite("Traces and their formats")
struct FormatTests {
    private func read(_ text: String, _ format: TraceFormat? = nil, name: String = "") throws -> Trace {
        try TraceReader.read(Array(text.utf8), format: format, name: name)
    }

    @Test(
        "times are exact to the nanosecond",
        arguments: [
            ("1721469132.2", 1_721_469_132_200_000_000), ("0.000000001", 1), ("-1.5", -1_500_000_000),
            ("1721469132.1234567899", 1_721_469_132_123_456_789), ("9223372036.854775807", .max), ("7.", 7_000_000_000),
        ] as [(String, Int64)])
    func decimals(text: String, expected: Int64) {
        #expect(Decimal.nanoseconds(Array(text.utf8)[...]) == expected)
    }

    @Test(
        "an invalid decimal time is rejected",
        arguments: ["", ".", "-", "1e3", "nan", "1.2.3", "9223372036.854775808", "99999999999999999999", "0x10", "1 "])
    func notDecimals(text: String) {
        #expect(Decimal.nanoseconds(Array(text.utf8)[...]) == nil)
    }

    @Test("decimals are parsed to the nearest double")
    func doubles() {
        var random = SeededRandom(seed: 7)
        for _ in 0..<2000 {
            let value = Double(Int64.random(in: -1_000_000_000_000_000...1_000_000_000_000_000, using: &random)) / 1e9
            #expect(Decimal.double(Array("\(value)".utf8)[...]) == value)
            var text = "\(Int64.random(in: 0...(1 << 49), using: &random))"
            text.insert(".", at: text.index(text.startIndex, offsetBy: Int.random(in: 1...text.count, using: &random)))
            #expect(Decimal.double(Array(text.utf8)[...]) == Double(text))
        }
        for text in [
            "136.88146058", "1e308", "123456789012345678901234567890", "0.1234567890123456789", "5e-324", "-0",
        ] {
            #expect(Decimal.double(Array(text.utf8)[...]) == Double(text))
        }
        for text in ["", "inf", "nan", "1e999", "--1", "1e", "0x1p3", "1_0", "+", "1 2"] {
            #expect(Decimal.double(Array(text.utf8)[...]) == nil)
        }
    }

    @Test(
        "ISO 8601 times are read in all common forms",
        arguments: [
            ("2024-07-20T09:52:12Z", 1_721_469_132_000_000_000), ("2024-07-20 09:52:12", 1_721_469_132_000_000_000),
            ("2024-07-20T11:52:12.25+02:00", 1_721_469_132_250_000_000),
            ("2024-07-20T04:22:12,1-0530", 1_721_469_132_100_000_000), ("1969-12-31T23:59:59.9Z", -100_000_000),
            ("2016-12-31T23:59:60Z", 1_483_228_800_000_000_000), ("2000-02-29T00:00:00Z", 951_782_400_000_000_000),
            ("2024-07-20T09:52:12.1234567891Z", 1_721_469_132_123_456_789),
        ] as [(String, Int64)])
    func iso(text: String, expected: Int64) {
        #expect(UTC.iso8601(Array(text.utf8)[...]) == expected)
    }

    @Test(
        "nonexistent times are rejected",
        arguments: [
            "2023-02-29T00:00:00Z", "2024-07-20T24:00:00Z", "2024-07-20T09:52:61Z", "2024-07-20",
            "9999-01-01T00:00:00Z",
            "2024-07-20T09:52:12.Z", "2024-07-20T09:52:12+99:00", "2024-07-20T09:52:12Zx", "20240720T095212Z",
        ])
    func notISO(text: String) { #expect(UTC.iso8601(Array(text.utf8)[...]) == nil) }

    @Test("CSV: any column order, CRLF, byte order mark, quotes and empty values are read in arrival order")
    func csv() throws {
        let trace = try read(
            "\u{feff}label,lon,lat,t_s,heading_deg,speed_mps,t_recv_s,h_acc_m,hdop\r\n"
                + "\"a, \"\"b\"\"\",136.5,35.25,1721469132.2,-90,1.5,1721469133,3.5,0.8\r\n,,,1721469131,,,,,\r\n")
        #expect(trace.format == .csv && trace.rejections.total == 0 && trace.fixes.count == 2)
        let fix = trace.fixes[0]
        #expect(fix.stampNs == 1_721_469_132_200_000_000 && fix.receiveStampNs == 1_721_469_133_000_000_000)
        #expect(fix.latitude == 35.25 && fix.longitude == 136.5 && fix.speed == 1.5 && fix.hdop == 0.8)
        #expect(fix.course == 1.5 * .pi && fix.heading == nil, "a trace's heading is the course")
        #expect(fix.horizontalAccuracyM == 3.5 && fix.positionCovariance.isEmpty)
        #expect(trace.fixes[1] == GnssFix(timestamp: Timestamp(seconds: 1_721_469_131)))
    }

    @Test("CSV: positions without times are read under either column name")
    func csvTimeless() throws {
        let trace = try read("latitude,longitude,speed_mps\n39.5,-104.5,\n39.25,-104.75,3\n91,0,\n")
        #expect(trace.format == .csv && trace.rejections[.outOfRange] == 1)
        let last = GnssFix(latitude: 39.25, longitude: -104.75, speed: 3)
        #expect(trace.fixes == [GnssFix(latitude: 39.5, longitude: -104.5), last])
        // Columns with the long names are ignored beside those with the short names.
        #expect(try read("lat,lon,latitude,longitude\n1,2,x,x\n").fixes == [GnssFix(latitude: 1, longitude: 2)])
        #expect(try read("latitude,longitude,t_s,timestamp\n1,2,3,x\n").fixes.map(\.stampNs) == [3_000_000_000])
    }

    @Test(
        "CSV: a time column of unknown unit is rejected by name",
        arguments: ["time", "Timestamp", "gps_date", "t", "t_ms", "utc"])
    func csvUnknownTimes(name: String) {
        let error = #expect(throws: TraceError.self) { try read("\(name),lat,lon\n1,2,3\n") }
        #expect(error?.format == .csv && error?.reason.contains("if '\(name)' is the time") == true)
    }

    @Test("CSV: the receiver's name becomes the source of its fixes")
    func csvReceiver() throws {
        let trace = try read(
            "t_s,lat,lon,receiver\n1,1,1,front\n2,1,1,\"rear, left\"\n3,1,1,\"\"\n4,1,1,\n")
        #expect(trace.fixes.map(\.source) == ["front", "rear, left", nil, nil] && trace.rejections.total == 0)
    }

    @Test("CSV: rows outside the time span are skipped even if their other fields are invalid")
    func csvSpan() throws {
        let rows = "t_s,lat,lon\n1.5,60,24\n2,60,x\n 3 ,60,25\n4,60,26\n5,60,27\nx,60,28\n"
        func read(_ span: ClosedRange<Int64>?) throws -> Trace {
            try TraceReader.read(Array(rows.utf8), skippingOutside: span)
        }
        let some = try read(3_000_000_000...4_000_000_000)
        #expect(some.fixes.map(\.longitude) == [25, 26])
        #expect(some.rejections[.badTime] == 1 && some.rejections.total == 1)
        #expect(try read(nil).fixes.count == 4 && read(6_000_000_000...7_000_000_000).fixes.isEmpty)
    }

    @Test("CSV: an invalid number is unknown, in any column", arguments: ["nan", "NaN", "NAN", ""])
    func csvUnknown(text: String) throws {
        let trace = try read(
            "t_s,lat,lon,speed_mps,heading_deg,hdop,h_acc_m\n5,1,2,\(text),\(text),\(text),\(text)\n6,\(text),\(text),3,,,\n"
        )
        let known = GnssFix(latitude: 1, longitude: 2, timestamp: Timestamp(seconds: 5))
        #expect(trace.fixes == [known, GnssFix(timestamp: Timestamp(seconds: 6), speed: 3)])
        #expect(trace.rejections.total == 0)
    }

    @Test("CSV: invalid rows are counted by reason, and the others are read")
    func csvRejections() throws {
        let trace = try read(
            "t_s,lat,lon,hdop\n1,1,1,1\n2,91,1,1\nx,1,1,1\n3,1,,1\n4,1,1\n5,one,1,1\n6,1,1,nan\n7,1,1,\n\n8,\"1,1,1\n")
        #expect(trace.fixes.map(\.stampNs) == [1_000_000_000, 6_000_000_000, 7_000_000_000])
        #expect(trace.rejections[.outOfRange] == 1 && trace.rejections[.badTime] == 1)
        #expect(trace.rejections[.malformedField] == 2 && trace.rejections[.fieldCount] == 2)
    }

    @Test("GPX: both versions, extensions, entities, CDATA, comments and points without times are read")
    func gpx() throws {
        let trace = try read(
            """
            <?xml version="1.0"?><!DOCTYPE gpx [<!ENTITY x "<trkpt lat='1' lon='1'>">]>
            <!-- <trkpt lat="9" lon="9"/> --><g:gpx xmlns:g="x">
            <wpt lat="8" lon="8"><time>2024-07-20T09:52:12Z</time></wpt>
            <trk><name>a &lt;trkpt&gt; <![CDATA[<trkpt lat="7" lon="7">]]></name><trkseg>
            <trkpt lon = '2.5' lat="1.5"><ele>10</ele><time> 2024-07-20T09:52:&#49;2Z </time><fix>dgps</fix><sat>7</sat>
            <hdop><![CDATA[0.5]]></hdop><geoidheight>47</geoidheight><extensions>
            <t:TrackPointExtension><t:speed>3</t:speed><t:course>180</t:course><t:time>x</t:time>
            </t:TrackPointExtension></extensions></trkpt>
            <trkpt lat="1" lon="2"/><trkpt lat="x" lon="2"/><trkpt lat="1" lon="181"/>
            <trkpt lat="1" lon="2"><time>yesterday</time><fix>none</fix><speed>-1</speed></trkpt>
            </trkseg></trk></g:gpx>
            """)
        #expect(trace.format == .gpx && trace.fixes.count == 3)
        let fix = trace.fixes[0]
        #expect(fix.latitude == 1.5 && fix.longitude == 2.5 && fix.altitude == 10 && fix.altitudeDatum == nil)
        #expect(fix.stampNs == 1_721_469_132_000_000_000 && fix.fixType == .differential && fix.satellitesUsed == 7)
        #expect(fix.hdop == 0.5 && fix.geoidSeparationM == 47 && fix.speed == 3 && fix.course == .pi)
        #expect(trace.fixes[1] == GnssFix(latitude: 1, longitude: 2))
        #expect(trace.fixes[2] == GnssFix(fixType: .noFix))
        #expect(trace.rejections[.malformedField] == 1 && trace.rejections[.outOfRange] == 2)
        #expect(trace.rejections[.badTime] == 1 && trace.rejections[.unfinishedDocument] == 0)
    }

    @Test("GPX: UTF-16 of either byte order is read, and a truncated document keeps its complete points")
    func gpxEncodings() throws {
        let text = "<gpx><trk><trkseg><trkpt lat=\"1\" lon=\"2\"><name>é</name></trkpt><trkpt lat=\"1\" lon=\"3\">"
        for isBig in [true, false] {
            let units = [0xfeff] + Array(text.utf16)
            let bytes = units.flatMap {
                isBig ? [UInt8($0 >> 8), UInt8($0 & 0xff)] : [UInt8($0 & 0xff), UInt8($0 >> 8)]
            }
            let trace = try TraceReader.read(bytes)
            #expect(trace.fixes == [GnssFix(latitude: 1, longitude: 2)])
            #expect(trace.rejections[.unfinishedDocument] == 1)
        }
    }

    @Test("the format is detected from the content, or else from the name")
    func detection() {
        func detect(_ text: String, _ name: String = "") -> TraceFormat? {
            TraceFormat.detect(Array(text.utf8), name: name)
        }
        #expect(detect("$GPRMC,1", "a.csv") == .nmea)
        #expect(detect("# comment\n\u{1}$GNGGA,1") == .nmea)
        #expect(detect(#"{"class":"VERSION"}"#) == .gpsd)
        #expect(detect("\u{feff}lat,lon,t_s\n") == .csv)
        #expect(detect("latitude,longitude\n1,2\n") == .csv && detect("latitude,altitude\n1,2\n") == nil)
        #expect(detect("\u{feff} <?xml ?>") == .gpx)
        #expect(TraceFormat.detect([0x89, 0x4d, 0x43, 0x41, 0x50, 0x30, 0x0d, 0x0a]) == .mcap)
        #expect(detect("hello", "trace.CSV") == .csv)
        #expect(detect("hello", "hello") == nil && detect("") == nil)
    }

    @Test("a file of another format is an error with the line")
    func errors() {
        func failure(_ text: String, _ format: TraceFormat? = nil) -> TraceError? {
            #expect(throws: TraceError.self) { try read(text, format) }
        }
        #expect(failure("\n \n")?.code == .empty)
        #expect(failure("hello")?.code == .unknownFormat)
        #expect(failure("\nlatitude,altitude\n1,2", .csv)?.line == 2)
        #expect(failure("t_s,lat,lat,lon\n", .csv)?.reason == "the header names the column lat twice")
        #expect(failure("t_s,lat,lon\n1,2,3,4\n")?.description == "csv: line 2: no row is usable: 1 field_count")
        #expect(failure("\n\nhello", .gpsd)?.line == 3)
        #expect(failure("<html>", .gpx)?.code == .notThisFormat)
        #expect(
            failure("$GPRMC,120000,A,5321.6,N,00630.3,W,,,280511,,,A")?.reason
                == "no sentence has a checksum, which is required")
        #expect(failure("x", .mcap)?.code == .isBag)
    }
}
