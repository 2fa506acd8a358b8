package import NavConfig

/// A fleet of recorded drives with its expectations, as read from a fleet file.
package struct Fleet: Sendable {
    /// The files with the truth of a drive: paths in which `{name}` is the bag's name without its extension.
    ///
    /// A path without a folder refers to the bag's folder.
    package struct TruthFiles: Sendable, Hashable {
        /// Positions with their times.
        package var positions: String?
        /// The road segments that were driven, as columns `from_node` and `to_node`.
        package var edges: String?
    }

    /// The destination of a drive.
    package enum Destination: Sendable, Hashable {
        /// The destination in the recording: from its service calls, its configuration, or its simulation.
        case recorded
        /// `LAT,LON`.
        case given(String)
        /// No destination.
        case none
    }

    /// The settings of the bags of an entry.
    package struct Settings: Sendable {
        package var tiles: String?
        /// The configuration file.
        package var config: String?
        /// Keys that override the configuration file, as `key=value`, with their lines in the fleet file.
        package var overrides: [(key: String, items: [String], line: Int)] = []
        package var destination = Destination.recorded
        package var truth = TruthFiles()
        package var criteria: [Criterion] = []
        package var tolerances = EventDiff.Tolerances()
        package var expect: [SourceLine] = []
    }

    /// Bags with equal settings.
    package struct Entry: Sendable {
        /// The name that distinguishes entries with the same bags; nil without a name.
        package var name: String?
        package var globs: [(text: String, line: Int)] = []
        package var tags: [String] = []
        package var settings: Settings
    }

    /// The folder of the stored references; nil when none are stored.
    package private(set) var references: String?
    package private(set) var entries: [Entry] = []

    private static let settingKeys = [
        "tiles", "config", "set", "to", "truth", "expect", "criteria", "tolerances",
    ]

    /// Reads a fleet file.
    ///
    /// - Throws: ``ConfigError`` with the line of the error.
    package init(_ root: YAMLValue) throws(ConfigError) {
        var common = Settings()
        var bags: YAMLValue?
        for pair in try root.pairs("the file", ["references", "bags"] + Self.settingKeys) {
            switch pair.key {
            case "references": references = try pair.value.text(pair.key)
            case "bags": bags = pair.value
            default: try common.take(pair)
            }
        }
        guard let bags else { throw root.wrong("no 'bags': give a list of entries such as '- bags: drives/*.mcap'") }
        for item in try bags.list("bags") { entries.append(try Self.entry(item, common)) }
        guard !entries.isEmpty else { throw bags.wrong("'bags' is empty") }
    }

    private static func entry(_ item: YAMLValue, _ common: Settings) throws(ConfigError) -> Entry {
        var entry = Entry(settings: common)
        // A glob without keys is a whole entry.
        if case .text(let text) = item.content {
            entry.globs = [(text, item.line)]
            return entry
        }
        for pair in try item.pairs("an entry of 'bags'", ["bags", "name", "tags"] + settingKeys) {
            switch pair.key {
            case "bags": entry.globs = try pair.value.texts(pair.key)
            case "name": entry.name = try pair.value.text(pair.key)
            case "tags": entry.tags = try pair.value.texts(pair.key).map(\.text)
            default: try entry.settings.take(pair)
            }
        }
        guard !entry.globs.isEmpty else { throw item.wrong("the entry has no 'bags'") }
        return entry
    }
}

extension Fleet.Settings {
    /// Takes one key: an entry's key overrides the file's, except that `expect`, `set` and `criteria` are added to the
    /// file's.
    fileprivate mutating func take(_ pair: YAMLValue.Pair) throws(ConfigError) {
        let value = pair.value
        switch pair.key {
        case "tiles": tiles = try value.text(pair.key)
        case "config": config = try value.text(pair.key)
        case "set":
            for item in try value.pairs(pair.key, nil) {
                // A replay uses the map of the fleet's `tiles` key; this key would be ignored.
                guard item.key != "tiles" else {
                    throw item.value.wrong("'set' cannot have 'tiles': write 'tiles: DIR' in the file or in the entry")
                }
                // A key may be set to an empty value, as `destination: ""`, or to a list.
                let items =
                    switch item.value.content {
                    case .empty: [""]
                    case .text(let text): [text]
                    case .mapping(let pairs):
                        throw item.value.wrong(
                            "'\(item.key)' has keys of its own: write the keys of 'set' with dots, such as "
                                + "'\(item.key).\(pairs.first?.key ?? "key")'", line: item.line)
                    default: try item.value.texts(item.key).map(\.text)
                    }
                overrides.append((item.key, items, item.line))
            }
        case "to":
            let text = try value.text(pair.key)
            destination = text == "bag" ? .recorded : text == "none" ? .none : .given(text)
        case "truth":
            if case .text(let path) = value.content {
                truth = Fleet.TruthFiles(positions: path)
                return
            }
            truth = Fleet.TruthFiles()
            for item in try value.pairs(pair.key, ["positions", "edges"]) {
                let path = try item.value.text(item.key)
                if item.key == "edges" { truth.edges = path } else { truth.positions = path }
            }
        case "criteria":
            for item in try value.pairs(pair.key, Metric.allCases.map(\.rawValue)) {
                let text = try item.value.text(item.key)
                guard let metric = Metric(rawValue: item.key), let criterion = Criterion(metric, text) else {
                    let form = item.key == Metric.rightRoad.rawValue ? "a share such as '>= 0.95'" : "'<= 15' or '= 1'"
                    throw item.value.wrong("'\(text)' is not a limit for '\(item.key)': write \(form)")
                }
                criteria.removeAll { $0.metric == metric }
                criteria.append(criterion)
            }
        case "tolerances":
            for item in try value.pairs(pair.key, ["time_s", "distance_m", "duration_s"]) {
                let number = try item.value.number(item.key, in: 0...100_000)
                switch item.key {
                case "time_s": tolerances.time = max(number, 0.05)
                case "distance_m": tolerances.distance = number
                default: tolerances.duration = number
                }
            }
        default:
            for item in try value.texts(pair.key) {
                let line = SourceLine(number: item.line, text: item.text)
                do throws(LineError) {
                    let topics = Expectations([try Expectation(line)]).topics
                    if let topic = topics.first(where: DriveEvent.unpublishedTopics.contains) {
                        throw LineError("'\(topic)' is not published, so no recording has it")
                    }
                } catch {
                    throw value.wrong(error.what, line: item.line)
                }
                expect.append(line)
            }
        }
    }
}

/// A figure of a drive.
package enum Metric: String, Sendable, Codable, CaseIterable {
    /// The share of measured positions on a segment that was driven.
    case rightRoad = "right_road"
    /// The 95 % quantile of the distance from the published position to the line that was driven, metres.
    case crossTrack = "cross_track_p95_m"
    /// The mean absolute difference between the published and the true time of arrival, over the trips that arrived, seconds.
    case etaError = "eta_error_s"
    /// The longest time from leaving the route to its report, seconds.
    case deviationDelay = "deviation_delay_s"
    /// The number of deviations from the route that were not reported.
    case missedDeviations = "missed_deviations"
    /// The number of reroutes of a vehicle that had not left its route.
    case falseReroutes = "false_reroutes"
    /// The greatest distance of the true position from the destination when the arrival was reported, metres.
    case arrivalError = "arrival_error_m"
    /// The number of arrivals at the destination that were not reported.
    case missedArrivals = "missed_arrivals"
    /// The number of arrivals at the destination.
    case arrivals
    /// The number of reroutes that were applied.
    case reroutes

    /// The figures that result files of earlier versions do not have.
    static let later: [Metric] = [.arrivalError, .missedArrivals]

    /// Whether a greater value is better; nil when neither direction is.
    package var prefersMore: Bool? {
        switch self {
        case .rightRoad: true
        case .crossTrack, .etaError, .deviationDelay, .missedDeviations, .falseReroutes, .arrivalError,
            .missedArrivals:
            false
        case .arrivals, .reroutes: nil
        }
    }
}

/// A limit of a metric.
package struct Criterion: Sendable, Hashable {
    package let metric: Metric
    package let comparison: String
    package let limit: Double

    /// Parses `<= 15`; nil when the text is not a comparison and a number that the metric can have.
    package init?(_ metric: Metric, _ text: String) {
        let words = text.split(separator: " ")
        guard words.count == 2, ["=", "<", "<=", ">", ">="].contains(words[0]), let limit = Double(words[1]),
            limit >= 0, limit.isFinite, metric != .rightRoad || limit <= 1
        else { return nil }
        (self.metric, comparison, self.limit) = (metric, String(words[0]), limit)
    }

    /// Whether a value is within the limit.
    package func holds(_ value: Double) -> Bool {
        switch comparison {
        case "=": value == limit
        case "<": value < limit
        case "<=": value <= limit
        case ">": value > limit
        default: value >= limit
        }
    }

    package var text: String {
        let rounded = plainNumber(limit)
        return "\(comparison) \(Double(rounded) == limit ? rounded : "\(limit)")"
    }

    /// Returns a violating value with enough digits to differ from the limit.
    package func text(of value: Double) -> String {
        let rounded = plainNumber(value)
        return rounded == plainNumber(limit) ? "\(value)" : rounded
    }
}

/// Returns a number with at most four decimals, without trailing zeros.
package func plainNumber(_ value: Double) -> String {
    guard abs(value) < 1e12 else { return "\(value)" }
    let scaled = (value * 10_000).rounded()
    var (whole, digits) = (Int(abs(scaled)) / 10_000, Int(abs(scaled)) % 10_000)
    var places = 4
    while places > 0, digits % 10 == 0 { (digits, places) = (digits / 10, places - 1) }
    if scaled == 0 { whole = 0 }
    let fraction = places == 0 ? "" : "." + String(repeating: "0", count: places - String(digits).count) + "\(digits)"
    return (scaled < 0 ? "-" : "") + "\(whole)" + fraction
}
