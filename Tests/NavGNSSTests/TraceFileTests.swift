import NavGNSS
import NavMessages
import NavTestKit
import Testing

@Suite(.needs("gnss/wire", "gnss/ingest", "gnss/synth"))
struct TraceFileTests {
    @Test(
        "the same drive is read from CSV, NMEA, gpsd JSON and GPX",
        arguments: [("nagoya", "nagoya"), ("hof_000", "hof/open/000")])
    func wire(name: String, folder: String) throws {
        let trace = try TraceReader.read(TestData.recording("\(folder)/trace.csv"))
        #expect(trace.format == .csv && trace.rejections.total == 0 && !trace.fixes.isEmpty)
        for (file, format) in [("nmea.txt", TraceFormat.nmea), ("gpsd.jsonl", .gpsd), ("track.gpx", .gpx)] {
            let other = try TraceReader.read(TestData.recording("wire/\(name)/\(file)"))
            #expect(other.format == format && other.rejections.total == 0)
            #expect(other.fixes.count == trace.fixes.count, "\(file)")
            for (got, want) in zip(other.fixes, trace.fixes) {
                // The NMEA file has a resolution of 1e-6 minutes, 10 ms and 1/1000 knot.
                let apart = (got.stampNs ?? 0) - (want.stampNs ?? -1)
                #expect(abs(apart) <= (format == .nmea ? 5_000_000 : 0), "\(file)")
                let tolerance = format == .nmea ? 1e-8 : 1e-12
                #expect(abs((got.latitude ?? 99) - (want.latitude ?? -99)) < tolerance, "\(file)")
                #expect(abs((got.longitude ?? 999) - (want.longitude ?? -999)) < tolerance, "\(file)")
                if format == .gpx { continue }
                #expect((got.speed == nil) == (want.speed == nil))
                #expect(abs((got.speed ?? 0) - (want.speed ?? 0)) < 6e-4, "\(file)")
                #expect((got.course == nil) == (want.course == nil))
                #expect(abs((got.course ?? 0) - (want.course ?? 0)) < 2e-4, "\(file)")
                if format == .gpsd { #expect(got.horizontalAccuracyM == want.horizontalAccuracyM) }
            }
        }
    }

    @Test("every GPX file is read with all points of its tracks")
    func gpx() throws {
        let names = try TestData.names(in: "ingest/gpx", ending: ".gpx")
        #expect(names.count > 40)
        for name in names {
            let bytes = try TestData.recording("ingest/gpx/" + name)
            let trace = try TraceReader.read(bytes, name: name)
            let points = String(decoding: bytes, as: UTF8.self).components(separatedBy: "<trkpt")
            #expect(trace.fixes.count + trace.rejections[.outOfRange] == points - 1, "\(name)")
            #expect(trace.rejections.total == 0, "\(name): \(trace.rejections.all)")
        }
    }

    @Test("every CSV file of another tool is read with all its rows")
    func ingestedCSV() throws {
        let names = try TestData.names(in: "ingest/gpx", ending: ".csv")
        #expect(names.count >= 3)
        for name in names {
            let bytes = try TestData.recording("ingest/gpx/" + name)
            let trace = try TraceReader.read(bytes, name: name)
            let rows = bytes.split(separator: UInt8(ascii: "\n")).count - 1
            #expect(trace.format == .csv && trace.fixes.count == rows && trace.rejections.total == 0, "\(name)")
        }
    }

    @Test("a trace keeps its arrival order, faults and labels")
    func csv() throws {
        let trace = try TraceReader.read(TestData.recording("synth/liechtenstein/03/gnss/urban_1hz/trace.csv"))
        #expect(trace.fixes.count > 100 && trace.rejections.total == 0)
    }
}

extension String {
    /// Returns the number of parts between occurrences of the separator.
    fileprivate func components(separatedBy separator: String) -> Int {
        1 + indices.count { self[$0...].hasPrefix(separator) }
    }
}
