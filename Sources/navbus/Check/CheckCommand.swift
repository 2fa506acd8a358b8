import ArgumentParser
import Foundation
import NavConfig
import NavKit
import NavLaunch
import NavMapBuild
import NavVerdict
import NavigationNode
import Synchronization

/// A part of a fleet, `2/8`.
struct Shard: ExpressibleByArgument {
    let index: Int
    let count: Int

    init?(argument: String) {
        let parts = argument.split(separator: "/").map { Int($0) }
        guard parts.count == 2, let index = parts[0], let count = parts[1], count >= 1, (1...count).contains(index)
        else { return nil }
        (self.index, self.count) = (index, count)
    }
}

/// `navbus check`.
struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Replay a fleet of recorded drives and judge each.",
        discussion: """
            The fleet file lists the bags, the tiles and configuration to replay them with, and what is expected: events in the language of the \
            scenarios, limits of figures against a ground truth, and the events of a stored reference. Each bag passes, fails or changes; a \
            bag that does not pass comes with the command that reproduces it. Runs are cached and repeated only when the program, the bag, the \
            tiles, or a configuration key that the replay depends on has changed. The exit status is 0 when all bags pass, 1 when one fails or \
            changes, or with --compare a figure has changed, and 2 when the fleet cannot be checked.
            """)

    @Argument(help: "The fleet file (YAML).") var fleet: String?
    @Flag(help: "Store the events of this run as the references of the fleet.") var update = false
    @Option(help: ArgumentHelp("Only bags with this tag; may be given several times.", valueName: "TAG")) var tag:
        [String] = []
    @Option(
        help: ArgumentHelp(
            "Only bags with this name; * matches any text; may be given several times.", valueName: "NAME"))
    var only: [String] = []
    @Option(help: ArgumentHelp("Configuration file instead of those of the fleet.", valueName: "FILE")) var config:
        String?
    @Option(
        help: ArgumentHelp(
            "A configuration key that overrides the fleet's; may be given several times.", valueName: "KEY=VALUE"))
    var set: [String] = []
    @Option(
        help: ArgumentHelp(
            "Compare with a result file of another build, or with the runs under another configuration file.",
            valueName: "OTHER")) var compare: String?
    @Option(help: ArgumentHelp("Worker processes. Default: one per processor.", valueName: "N"))
    var jobs: Int?
    @Option(help: ArgumentHelp("Check only one part of the fleet, such as the second of eight.", valueName: "2/8"))
    var shard: Shard?
    @Option(
        help: ArgumentHelp(
            "Result files of shards to judge instead of running; may be given several times.", valueName: "FILE"))
    var merge: [String] = []
    @Option(help: ArgumentHelp("The result file to write; equal inputs give identical bytes.", valueName: "FILE"))
    var out: String?
    @Option(help: ArgumentHelp("JUnit XML to write.", valueName: "FILE.xml")) var junit: String?
    @Option(help: ArgumentHelp("An HTML page of all results to write.", valueName: "FILE.html")) var html: String?
    @Option(
        help: ArgumentHelp("Folder of cached runs. Default: navbus/check in the user's cache.", valueName: "DIR"))
    var cache: String?
    @Flag(inversion: .prefixedNo, help: "Use and store cached runs.") var caching = true
    @Option(help: ArgumentHelp("Time limit for one bag, seconds.", valueName: "SECONDS")) var timeout = 600.0
    @Flag(help: "Print the names of the bags that would be checked, and exit.") var list = false
    @Flag(help: "Print the summary, or with --list the names, as JSON.") var json = false
    @Flag(help: .hidden) var worker = false

    func validate() throws {
        if worker { return }
        guard fleet != nil else { throw ValidationError("give a fleet file") }
        if let jobs, !(1...1_024).contains(jobs) { throw ValidationError("--jobs takes 1 to 1024") }
        guard timeout > 0, timeout <= 86_400 else { throw ValidationError("--timeout takes up to 86400 seconds") }
        if update, shard != nil || !set.isEmpty || config != nil {
            throw ValidationError(
                "--update stores the events of the whole fleet as configured: leave out --shard, --set, --config")
        }
        if set.contains(where: { $0.hasPrefix("tiles=") }) {
            throw ValidationError("--set tiles has no effect: the map is the key 'tiles' of the fleet file")
        }
        if !merge.isEmpty, shard != nil || update {
            throw ValidationError("--merge judges the runs of all shards: leave out --shard, --update")
        }
        let outputs = [out, junit, html].compactMap(\.self)
        for (index, path) in outputs.enumerated()
        where outputs[..<index].contains(where: { $0 == path || isSameFile($0, path) }) {
            throw ValidationError("'\(path)': give --out, --junit and --html a file each")
        }
    }

    func run() throws {
        if worker { return try CheckPool.serve() }
        guard let fleet else { return }
        do {
            try check(fleet)
        } catch let status as ExitCode {
            throw status
        } catch {
            // Exit status 1 is reserved for a verdict.
            throw NodeError(.usage, "\(error)")
        }
    }

    private func plan(_ fleet: String, config: String?) throws -> FleetPlan {
        var plan = try FleetPlan(fleet, config: config, overrides: set)
        try plan.select(tags: tag, only: only, shard: shard.map { ($0.index, $0.count) })
        return plan
    }

    private func check(_ fleet: String) throws {
        let plan = try plan(fleet, config: config)
        if list {
            let names = plan.items.map(\.job.name)
            if json { return print(try navbus.json(names)) }
            return names.forEach { print($0) }
        }
        // Checked before the runs, which may take hours.
        try CheckReferences(plan).checkFolder()
        func output(_ path: String?, beginning: String) throws(NodeError) -> OutputFile? {
            try path.map { (path) throws(NodeError) in
                try OutputFile(path, replacing: .documents(beginning: beginning))
            }
        }
        let outFile = try output(out, beginning: FleetResult.beginning)
        let junitFile = try output(junit, beginning: FleetResult.junitBeginning)
        let htmlFile = try output(html, beginning: FleetResult.htmlBeginning)
        let cache = try openCache()
        let build = NavbusVersion.full + " " + cache.program.prefix(16)
        let bar = ProgressBar()
        var executed = 0
        var result = FleetResult(build: build, bags: [])
        if merge.isEmpty {
            let (records, count) = try records(plan, cache, bar)
            executed = count
            if update { try CheckReferences(plan).store(records) }
            noteStrayReferences(plan)
            result = judged(plan, records, build: build)
            if out != nil { result.noteInputs(inputs(plan.items, try settings(plan.items), cache)) }
        } else {
            result = try merged(plan, cache)
        }
        result.unchecked = unchecked(result, plan)
        var comparison: PairedComparison?
        if let compare {
            let other: FleetResult
            if let text = try? String(contentsOfFile: compare, encoding: .utf8), let read = FleetResult(text: text) {
                other = read
            } else {
                let second = try self.plan(fleet, config: compare)
                let (records, count) = try records(second, cache, bar)
                executed += count
                other = judged(second, records, build: build)
            }
            let tolerances = Dictionary(
                plan.items.map { ($0.job.name, $0.tolerances) }, uniquingKeysWith: { first, _ in first })
            comparison = PairedComparison(other, result) { tolerances[$0] ?? EventDiff.Tolerances() }
        }
        bar.finish()
        cache.finish(removingIdle: executed > 0)
        let processors = Self.processors
        try outFile?.write(Data(try result.text { try Parallel.map($0, jobs: processors, $1) }.utf8))
        try junitFile?.write(Data(result.junit(name: fleet).utf8))
        try htmlFile?.write(Data(result.html(name: fleet, comparison: comparison).utf8))
        try show(result, comparison, executed: executed, unchecked: comparison == nil ? result.unchecked.count : 0)
        if result.count(.passed) < result.bags.count || comparison?.isChange == true { throw ExitCode(1) }
    }

    /// Reports the references of bags that are not in the fleet; of a part of the fleet they are unknown.
    ///
    /// They are not removed, because another fleet file may keep them in the same folder.
    private func noteStrayReferences(_ plan: FleetPlan) {
        guard tag.isEmpty, only.isEmpty, shard == nil else { return }
        let stray = CheckReferences(plan).strayBags()
        guard !stray.isEmpty else { return }
        let names = stray.prefix(3).joined(separator: ", ") + (stray.count > 3 ? ", …" : "")
        Console.note(
            "references of \(stray.count) bags not in this fleet: \(names); remove them from '\(plan.references ?? "")' "
                + "unless another fleet uses them")
    }

    private static var processors: Int { ProcessInfo.processInfo.activeProcessorCount }

    private static var usualCache: String {
        let environment = ProcessInfo.processInfo.environment
        let base = environment["XDG_CACHE_HOME"].flatMap { $0.isEmpty ? nil : $0 }
        return (base ?? NSHomeDirectory() + "/.cache") + "/navbus/check"
    }

    /// Opens the cache; one that keeps nothing if the home directory is not writable, as in many containers.
    private func openCache() throws -> CheckCache {
        guard caching, cache == nil else { return try CheckCache(folder: caching ? cache : nil) }
        do {
            return try CheckCache(folder: CheckCommand.usualCache)
        } catch {
            Console.note("\(error); runs are not cached (--cache sets another folder)")
            return try CheckCache(folder: nil)
        }
    }

    /// Returns the records of a plan's bags, from earlier runs or else from worker processes.
    private func records(
        _ plan: FleetPlan, _ cache: CheckCache, _ bar: ProgressBar
    ) throws -> (records: [DriveRecord], executed: Int) {
        let items = plan.items
        let found = Mutex([DriveRecord?](repeating: nil, count: items.count))
        let keys = Mutex([String?](repeating: nil, count: items.count))
        if caching {
            let given = try settings(items)
            DispatchQueue.concurrentPerform(iterations: items.count) { index in
                guard let key = cache.key(items[index].job, traffic: given[index].traffic) else { return }
                keys.withLock { $0[index] = key }
                guard let record = cache.record(key, given[index].values) else { return }
                found.withLock { $0[index] = record }
            }
        }
        let missing = found.withLock { found in items.indices.filter { found[$0] == nil } }
        guard !missing.isEmpty else { return (found.withLock { $0.compactMap(\.self) }, 0) }
        let pool = CheckPool(missing.map { items[$0].job }, timeout: timeout) { index, record, share in
            found.withLock { $0[missing[index]] = record }
            if let key = keys.withLock({ $0[missing[index]] }) { cache.store(record, key) }
            bar.show(share, "of \(missing.count) bags")
        }
        pool.run(processes: jobs ?? Self.processors)
        return (found.withLock { $0.map { $0 ?? DriveRecord() } }, missing.count)
    }

    /// Returns the values of the configuration keys of each job, and its traffic file.
    private func settings(_ items: [FleetPlan.Item]) throws -> [(values: [String: String], traffic: String)] {
        var known: [String: (values: [String: String], traffic: String)] = [:]
        return try items.map { item in
            let parts = [item.job.config ?? "", item.job.destination ?? "bag"] + item.job.overrides
            let name = parts.joined(separator: "\n")
            if let found = known[name] { return found }
            let configuration = try item.job.configuration()
            let values = NavigationConfiguration.keys.map { ($0.name, $0.text(of: configuration)) }
            let found = (Dictionary(uniqueKeysWithValues: values), configuration.traffic)
            known[name] = found
            return found
        }
    }

    /// Returns the hash of everything that the run of each bag depends on besides the configuration.
    private func inputs(
        _ items: [FleetPlan.Item], _ settings: [(values: [String: String], traffic: String)], _ cache: CheckCache
    ) -> [String: String] {
        var inputs: [String: String] = [:]
        for (item, settings) in zip(items, settings) {
            inputs[item.job.name] = cache.key(item.job, traffic: settings.traffic)
        }
        return inputs
    }

    private func judged(_ plan: FleetPlan, _ records: [DriveRecord], build: String) -> FleetResult {
        let (items, references) = (plan.items, CheckReferences(plan))
        let commands = items.map { command($0.job.name) }
        let bags = Parallel.map(items.count, jobs: Self.processors) { index in
            let item = items[index]
            var (record, reference): (DriveRecord, Reference?) = (records[index], nil)
            do throws(NodeError) {
                reference = try references.read(item.job.name)
            } catch {
                record.failure = record.failure ?? error.description
            }
            return BagResult(
                bag: item.job.name, tags: item.tags, command: commands[index], record: record,
                criteria: item.criteria, tolerances: item.tolerances, reference: reference)
        }
        return FleetResult(build: build, bags: bags)
    }

    /// Judges the runs of shards, with each bag of the fleet once.
    private func merged(_ plan: FleetPlan, _ cache: CheckCache) throws -> FleetResult {
        var build: String?
        var bags: [String: BagResult] = [:]
        for path in merge {
            guard let text = try? String(contentsOfFile: path, encoding: .utf8), let part = FleetResult(text: text)
            else { throw NodeError(.usage, "'\(path)' is not a result file of 'navbus check --out'") }
            guard build == nil || build == part.build else {
                throw NodeError(.usage, "'\(path)' is from a different build than '\(merge[0])'")
            }
            build = part.build
            for bag in part.bags { bags[bag.bag] = bag }
        }
        let missing = plan.items.map(\.job.name).filter { bags[$0] == nil }
        guard missing.isEmpty else {
            throw NodeError(.usage, "\(missing.count) bags are missing from the shards, such as '\(missing[0])'")
        }
        let settings = try settings(plan.items)
        let inputs = inputs(plan.items, settings, cache)
        for (item, settings) in zip(plan.items, settings) {
            guard let bag = bags[item.job.name], bag.inputs == inputs[item.job.name],
                bag.record.keys.allSatisfy({ settings.values[$0.key] == $0.value })
            else {
                throw NodeError(
                    .usage,
                    "the run of '\(item.job.name)' had another bag, map, expectation or configuration than '\(plan.file)': "
                        + "run its shard again, and give --merge the same --config and --set")
            }
        }
        var result = judged(plan, plan.items.map { bags[$0.job.name]?.record ?? DriveRecord() }, build: build ?? "")
        result.noteInputs(inputs)
        return result
    }

    /// Returns the command that reproduces a bag's verdict.
    private func command(_ name: String) -> String {
        var words = ["navbus", "check", fleet ?? "", "--only", name]
        if let config { words += ["--config", config] }
        for override in set { words += ["--set", override] }
        return words.map(shellQuoted).joined(separator: " ")
    }

    /// The most bags and kinds of changes shown on a terminal.
    private static let mostShown = 20
    /// The most changes of a bag shown there.
    private static let mostChanges = 6

    private struct Summary: Encodable {
        var passed: Int
        var failed: Int
        var changed: Int
        var executed: Int
        var fixes: Int
        /// The number of bags without expectations.
        var unchecked: Int
        /// The number of bags in which a criterion cannot be judged, by its name.
        var unjudged: [String: Int]
        var failures: [String: String]
        /// The notes about the recordings, by the name of the bag.
        var notes: [String: [String]]
        var classes: [String]
        /// The comparison as text, and its figures.
        var comparison: [String]?
        var figures: [ComparedFigure]?
    }

    private struct ComparedFigure: Encodable {
        var figure: String
        var bags: Int
        var differing: Int
        var mean: Double
        /// The interval of the mean difference; a missing bound is infinite.
        var low: Double?
        var high: Double?
        /// The numbers of bags in which only one side has the figure.
        var onlyBefore: Int
        var onlyNow: Int
        var isChange: Bool

        init(_ row: PairedComparison.Row) {
            (figure, bags, differing, mean) = (row.metric, row.pairs, row.differing, row.mean)
            low = row.interval.lowerBound.isFinite ? row.interval.lowerBound : nil
            high = row.interval.upperBound.isFinite ? row.interval.upperBound : nil
            (onlyBefore, onlyNow) = (row.onlyBefore, row.onlyAfter)
            isChange = row.isChange
        }
    }

    /// Returns the names of the bags without expectations that could be judged, which pass unchecked.
    private func unchecked(_ result: FleetResult, _ plan: FleetPlan) -> Set<String> {
        guard plan.references == nil else { return [] }
        let passed = result.bags.filter { $0.verdict == .passed }
        let unjudged = Dictionary(passed.map { ($0.bag, $0.unjudged.count) }, uniquingKeysWith: { first, _ in first })
        let items = plan.items.filter { $0.job.expect.isEmpty && unjudged[$0.job.name] == $0.criteria.count }
        return Set(items.map(\.job.name))
    }

    private func show(
        _ result: FleetResult, _ comparison: PairedComparison?, executed: Int, unchecked: Int
    ) throws {
        let wrong = result.bags.filter { $0.verdict != .passed }
        let classes = result.classes.map(\.description)
        let unjudged = result.bags.reduce(into: [String: Int]()) { counts, bag in
            for name in bag.unjudged { counts[name, default: 0] += 1 }
        }
        if json {
            let failures = wrong.map { ($0.bag, $0.headline ?? "") }
            let notes = result.bags.compactMap { bag in bag.record.notes.map { (bag.bag, $0) } }
            print(
                try navbus.json(
                    Summary(
                        passed: result.count(.passed), failed: result.count(.failed), changed: result.count(.changed),
                        executed: executed, fixes: result.bags.reduce(0) { $0 + $1.record.fixes },
                        unchecked: unchecked, unjudged: unjudged,
                        failures: Dictionary(uniqueKeysWithValues: failures),
                        notes: Dictionary(uniqueKeysWithValues: notes), classes: classes,
                        comparison: comparison?.lines, figures: comparison?.rows.map(ComparedFigure.init))))
            return
        }
        for bag in wrong.prefix(Self.mostShown) {
            let style: Console.Style = bag.verdict == .failed ? .red : .yellow
            let details = FleetResult.details(
                of: bag, most: Self.mostChanges, rest: "--html, --junit and --out have them"
            ).replacingOccurrences(of: "\n", with: "\n    ")
            print("\(Console.styled(bag.verdict.rawValue, style)) \(bag.bag)\n    \(details)")
        }
        if wrong.count > Self.mostShown {
            print("… \(wrong.count - Self.mostShown) more bags failed or changed (--html and --junit have all of them)")
        }
        if !classes.isEmpty {
            let more = classes.count > Self.mostShown ? ["… \(classes.count - Self.mostShown) more kinds (--html)"] : []
            print("changes by kind:\n  " + (classes.prefix(Self.mostShown) + more).joined(separator: "\n  "))
        }
        for (name, count) in unjudged.sorted(by: { $0.key < $1.key }) {
            print("\(name) is not judged in \(count) of \(result.bags.count) bags: \(BagResult.unjudgedReason)")
        }
        let noted = result.bags.filter { $0.record.notes != nil }
        for bag in noted.prefix(Self.mostShown) {
            print("note: \(bag.bag): \((bag.record.notes ?? []).joined(separator: "; "))")
        }
        if noted.count > Self.mostShown {
            print("… notes on \(noted.count - Self.mostShown) more bags (--html and --junit have all of them)")
        }
        if unchecked > 0 {
            print(
                "\(unchecked) of \(result.bags.count) bags are replayed but not judged: none of 'expect', 'criteria' and "
                    + "'references' applies to them")
        }
        if let comparison { print(comparison.lines.joined(separator: "\n")) }
        let mark = unchecked > 0 ? " (\(unchecked) not judged)" : ""
        print(
            "\(result.summary)\(mark); \(executed) executed, \(max(result.bags.count - executed, 0)) cached")
    }
}
