import ArgumentParser
import Foundation
import NavBag
import NavBagFormats
import NavGeo
import NavKit
import NavReport
import NavigationNode

/// `navbus report`.
struct ReportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "report", abstract: "Write a page about a recorded drive: map, routes, trace, events and plots.",
        discussion: """
            The page is one HTML file that needs no network: send it, attach it, open it in any browser. --against shows two runs of \
            a drive on one page and marks the differences. The same recording and tiles give the same bytes. Recordings of \
            other tools (ROS, NMEA 0183, UBX, gpsd JSON, GPX, CSV) are read as by 'navbus bag convert'.
            """)

    @Argument(help: "The recording.") var bag: String
    @Option(help: ArgumentHelp("Directory of road tiles, for the roads of the map.", valueName: "DIR")) var tiles:
        String?
    @Option(help: ArgumentHelp("Another recording of the drive, to compare with.", valueName: "BAG")) var against:
        String?
    @Option(name: [.short, .long], help: ArgumentHelp("The page to write (.html).", valueName: "FILE.html"))
    var out: String

    func run() throws {
        for input in [bag, against].compactMap({ $0 }) where isSameFile(input, out) {
            throw NodeError(.usage, "'\(out)' is an input recording: give another file with --out")
        }
        let file = try OutputFile(out, replacing: .documents(beginning: DriveReport.beginning))
        let directory = try tiles.map { try TilesetDirectory(path: $0) }
        let bar = ProgressBar()
        var runs: [DriveReport.Run] = []
        var places: [Coordinate] = []
        let recordings = [bag, against].compactMap { $0 }
        for path in recordings {
            let run = try Self.run(of: path, among: recordings.count, bar)
            let found = DriveReport.places(of: run.content)
            guard !found.isEmpty else {
                bar.finish()
                throw NodeError(
                    .invalid, "'\(path)' has no position: a report needs fixes or the messages of a navigation node")
            }
            places += found
            runs.append(run)
        }
        let map = try directory.map { try MapExtract($0, around: places) }
        let page = try DriveReport(runs, map: map, version: NavbusVersion.text).page()
        bar.finish()
        if let map { map.noteAbsentTiles() }
        try file.write(Data(page))
        print("\(out): \(Format.bytes(Double(page.count)))")
    }

    /// Reads a recording; damaged parts are skipped, reported and noted on the page.
    private static func run(of path: String, among runs: Int, _ bar: ProgressBar) throws(NodeError) -> DriveReport.Run {
        var content = DriveCollector(runs: runs)
        var notes: [String] = []
        let damage = SkippedDamage()
        do throws(BagError) {
            let recording = try RecordingFile.open(
                path,
                note: {
                    Console.note($0)
                    notes.append($0)
                })
            var records = LenientRecords(ROSImport(recording), damage)
            var count = 0
            while let record = try records.next() {
                content.add(record)
                count += 1
                if count % 4_096 == 0 { bar.show(records.progress, path) }
            }
            if let text = damage.text { Console.note("'\(path)': \(text)") }
        } catch {
            bar.finish()
            throw NodeError(error.code == .io ? .missing : .invalid, error.description(of: path))
        }
        if let text = damage.text { notes.append(text) }
        return DriveReport.Run(name: (path as NSString).lastPathComponent, content: content, notes: notes)
    }
}
