import Foundation
import NavConfig
import NavSpelling
import NavTestKit
import Testing

private struct Sample: NodeConfiguration, Equatable {
    var cooldown = 5.0
    var fixes = 4
    var detect = true
    var title = "x"
    var names: [String] = []

    static var keys: [ConfigKey<Sample>] {
        [
            .number("reroute.cooldown_s", \.cooldown, in: 0...600, "Shortest time between two reroutes, seconds.")
                .live,
            .integer("deviation.fixes", \.fixes, in: 1...100, "How many fixes must agree.").live,
            .flag("reroute.detect", \.detect, "Whether leaving the route triggers a reroute."),
            .string("title", \.title, "What it is called."),
            .text(
                "names", \.names, range: "names, or empty", "Names.", listSeparator: ",",
                parse: { $0.split(separator: ",").map(String.init) }, format: { $0.joined(separator: ",") }),
        ]
    }
}

private struct Truck: NodeConfiguration, Equatable {
    var weight: Float?

    static var keys: [ConfigKey<Truck>] {
        [.optionalNumber("vehicle.weight_t", \.weight, in: 0.5...200, "Weight, tonnes; empty for no limit.")]
    }
}

@Suite final class ConfigLoaderTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func file(_ text: String) throws -> String {
        try folder.write("\(UUID().uuidString).yaml", text.utf8)
    }

    private func failure(
        _ file: String? = nil, _ overrides: [String] = [], _ environment: [String: String] = [:]
    ) -> String? {
        do {
            _ = try ConfigLoader.load(
                Sample.self, file: file, environment: environment, prefix: "SAMPLE_SET_", overrides: overrides)
            return nil
        } catch {
            return error.description
        }
    }

    @Test func laterSourcesTakePrecedence() throws {
        let path = try file("reroute:\n  cooldown_s: 7\n  detect: false\ndeviation.fixes: 9\n")
        let loaded = try ConfigLoader.load(
            Sample.self, file: path, environment: ["SAMPLE_SET_DEVIATION__FIXES": "11", "HOME": "/"],
            prefix: "SAMPLE_SET_",
            overrides: ["reroute.cooldown_s=8", "title=a=b"])
        #expect(loaded == Sample(cooldown: 8, fixes: 11, detect: false, title: "a=b"))
    }

    @Test func listOfAFileIsJoinedWithTheSeparatorOfTheKey() throws {
        let lists = try file("names: [a, b]\ntitle: [a, b]\n")
        let loaded = try ConfigLoader.load(Sample.self, file: lists)
        #expect(loaded.names == ["a", "b"] && loaded.title == "a;b")
        // The keys of a part are read like those of the whole.
        #expect(try ConfigLoader.load(Whole.self, file: lists).part.names == ["a", "b"])
        #expect(try ConfigLoader.load(Sample.self, file: try file("names: a,b\n")).names == ["a", "b"])
    }

    @Test func tildeAndNullAreEmptyUnlessQuoted() throws {
        for (value, title) in [("", ""), ("~", ""), ("null", ""), ("'~'", "~"), ("\"null\"", "null"), ("~/x", "~/x")] {
            let path = try file("title: \(value)\nnames: [\(value)]\n")
            let loaded = try ConfigLoader.load(Sample.self, file: path)
            #expect(loaded.title == title && loaded.names == (title.isEmpty ? [] : [title]), "\(value)")
        }
        var sample = Sample()
        sample.title = "null"
        #expect(try ConfigLoader.load(Sample.self, file: try file(ConfigLoader.describe(sample))) == sample)
        #expect(failure(try file("deviation.fixes: ~"))?.hasPrefix("'' is not a value of 'deviation.fixes'") == true)
        for value in ["", " ~", " null"] {
            let pair = try #require(try YAMLValue(yaml: "key:\(value)", source: "it").pairs("it", ["key"]).first)
            #expect(throws: ConfigError.self) { try pair.value.text("key") }
        }
    }

    @Test func unknownKeyIsReportedWithASuggestion() throws {
        let path = try file("reroute:\n  cooldwn_s: 7\n")
        let message = try #require(failure(path))
        #expect(message.contains("unknown configuration key 'reroute.cooldwn_s'"))
        #expect(message.contains("did you mean 'reroute.cooldown_s'?") && message.contains(path))
    }

    @Test(arguments: [
        "reroute.cooldown_s=-1", "reroute.cooldown_s=nan", "reroute.cooldown_s=0x10", "deviation.fixes=1.5",
        "reroute.detect=maybe",
    ])
    func outOfRangeValueIsReportedWithTheRange(_ override: String) throws {
        let message = try #require(failure(nil, [override]))
        #expect(message.contains("it takes"))
    }

    @Test func invalidConfigurationFilesAreReported() throws {
        #expect(try #require(failure("/nonexistent/x.yaml")).contains("cannot be read"))
        #expect(try #require(failure(try file("a: [1"))).contains("is not YAML"))
        #expect(try #require(failure(try file("- a\n- b\n"))).contains("keys and values"))
        let twice = try file("reroute: {cooldown_s: 7}\nreroute.cooldown_s: 8\n")
        #expect(try #require(failure(twice)).contains("gives 'reroute.cooldown_s' twice"))
        #expect(try #require(failure(nil, ["title"])).contains("give a key and a value"))
        #expect(try #require(failure(nil, [], ["SAMPLE_SET_NOPE": "1"])).contains("SAMPLE_SET_NOPE"))
    }

    @Test func nestedAliasesAreRejected() throws {
        var lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
        for level in 1...9 {
            let items = Array(repeating: "*a\(level - 1)", count: 10).joined(separator: ", ")
            lines.append("a\(level): &a\(level) [\(items)]")
        }
        let text = lines.joined(separator: "\n")
        #expect(try #require(failure(try file(text))).contains("aliases expand to more than"))
        let error = #expect(throws: ConfigError.self) { try YAMLValue(yaml: text, source: "it") }
        #expect(error?.description.contains("aliases expand to more than") == true)
        let honest = try YAMLValue(yaml: "a: &x [1, 2]\nb: *x", source: "it").pairs("it", ["a", "b"])
        #expect(try honest[1].value.texts("b").map(\.text) == ["1", "2"])
    }

    @Test func printedConfigurationCanBeLoaded() throws {
        var sample = Sample()
        sample.cooldown = 12.5
        sample.title = "a: b"
        let path = try file(ConfigLoader.describe(sample))
        #expect(try ConfigLoader.load(Sample.self, file: path) == sample)
    }

    @Test func nearestNameIsSuggested() {
        #expect(nearestName(to: "argz", among: ["name", "args", "env"]) == "args")
        #expect(nearestName(to: "requierd", among: ["restart", "required"]) == "required")
        #expect(nearestName(to: "colour", among: ["name", "args"]) == nil)
        #expect(nearestName(to: "", among: []) == nil)
    }

    @Test func liveKeysChangeAllOrNone() throws {
        let sample = Sample()
        let changed = try ConfigLoader.changed(sample, [("reroute.cooldown_s", "8"), ("deviation.fixes", "9")])
        #expect(changed == Sample(cooldown: 8, fixes: 9))
        for (key, value, text) in [
            ("deviation.fixes", "0", "it takes 1 … 100"), ("deviaton.fixes", "2", "did you mean 'deviation.fixes'?"),
            ("title", "y", "cannot be changed while the node runs"),
        ] {
            let error = #expect(throws: ConfigError.self) {
                try ConfigLoader.changed(sample, [("reroute.cooldown_s", "8"), (key, value)])
            }
            #expect(error?.description.contains(text) == true)
        }
    }

    @Test func keyHasUnitKindAndLiveness() {
        let keys = Sample.keys
        #expect(keys.map(\.unit) == ["s", "", "", "", ""])
        #expect(keys.map(\.kind) == [.number, .integer, .flag, .text, .text])
        #expect(keys.map(\.isLive) == [true, true, false, false, false])
        #expect(
            ConfigLoader.describe(Sample()).contains("reroutes, seconds. [0 … 600] (live)\nreroute.cooldown_s: 5\n"))
        #expect(
            ConfigLoader.markdownTable(Sample.self).contains(
                "| `reroute.detect` | `true` | true \\| false | no | Whether leaving the route triggers a reroute. |\n")
        )
    }

    @Test func optionalNumberIsANumberWithAUnitOrEmpty() throws {
        let key = try #require(Truck.keys.first)
        #expect(key.kind == .number && key.unit == "t" && key.range == "0.5 … 200, or empty")
        for (text, weight) in [("7.5", 7.5), ("40", 40), ("", nil)] as [(String, Float?)] {
            let loaded = try ConfigLoader.load(Truck.self, file: nil, overrides: ["vehicle.weight_t=\(text)"])
            #expect(loaded.weight == weight && key.text(of: loaded) == text)
        }
        for text in ["0.4", "201", "nan", "heavy", "0x2", "1p3"] {
            #expect(throws: ConfigError.self) {
                try ConfigLoader.load(Truck.self, file: nil, overrides: ["vehicle.weight_t=\(text)"])
            }
        }
    }

    @Test func keysOfAPartAreKeysOfTheWhole() throws {
        let keys = Whole.keys
        #expect(keys.map(\.name) == Sample.keys.map(\.name) && keys.map(\.isLive) == Sample.keys.map(\.isLive))
        let whole = try ConfigLoader.load(Whole.self, file: nil, overrides: ["deviation.fixes=7"])
        #expect(whole.part == Sample(fixes: 7) && keys[1].text(of: whole) == "7")
    }
}

private struct Whole: NodeConfiguration {
    var part = Sample()
    static var keys: [ConfigKey<Whole>] { Sample.keys.map { $0.within(\.part) } }
}
