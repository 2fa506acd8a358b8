import Foundation
import NavTestSystem
import Testing

/// The tools with messages and services of types that are not compiled in.
@Suite(
    .enabled(
        if: Project.hasPython && Project.find("protoc") != nil,
        "needs protoc, and Python with zmq, google.protobuf, mcap and mcap_protobuf: set NAVBUS_PYTHON"))
struct ForeignTypeTests {
    private func withWeather(_ arguments: [String] = [], _ body: (Sandbox, Program) async throws -> Void) async throws {
        try await withSandbox { box in
            let script = Project.root + "/Tests/Peers/weather_node.py"
            let node = try box.start(Project.python, [script, "weather"] + arguments)
            try await box.announces("/weather", node: "weather")
            try await body(box, node)
            #expect(node.exitStatus == nil, "\(node.errors)")
        }
    }

    @Test func echoReadsATypeByThePublishersSchema() async throws {
        try await withWeather { box, _ in
            let echo = try await box.succeed("navbus", ["topic", "echo", "/weather", "--count", "3"])
            for line in echo.outputLines {
                let report = try #require(try json(line) as? [String: Any])
                #expect(report["station"] as? String == "Helsinki" && report["temperature_c"] is Double)
                #expect((report["gauges"] as? [String: Any])?["rain_mm"] is Double)
            }
            let field = ["topic", "echo", "/wea*", "--count", "1", "--field", "history[0].station"]
            #expect(try await box.succeed("navbus", field).output == "/weather \"yesterday\"\n")
            let rain = ["topic", "echo", "/weather", "--count", "2", "--filter", "sky=RAIN", "--json"]
            for line in try await box.succeed("navbus", rain).outputLines {
                let envelope = try #require(try json(line) as? [String: Any])
                #expect((envelope["message"] as? [String: Any])?["sky"] as? String == "SKY_RAIN")
                #expect(envelope["publisher"] as? String == "weather" && envelope["topic"] as? String == "/weather")
            }
            let info = try await box.succeed("navbus", ["topic", "info", "/weather"])
            for text in ["not compiled in here", "4: map<string, double> gauges", "SKY_CLEAR", "not in it"] {
                #expect(info.output.contains(text), "\(text) in \(info.output)")
            }
        }
    }

    @Test func echoWithoutASchemaReportsItAndShowsTheBytes() async throws {
        try await withWeather(["--no-schema"]) { box, _ in
            let echo = try await box.run("navbus", ["topic", "echo", "/weather", "--count", "1"])
            #expect(echo.status == 1)
            for text in ["weather.v1.Report", "'weather' does not serve navbus.v1.Node", "--descriptors", "--raw"] {
                #expect(echo.errors.contains(text), "\(text) in \(echo.errors)")
            }
            let raw = try await box.succeed("navbus", ["topic", "echo", "/weather", "--count", "1", "--raw"])
            #expect(raw.output.hasPrefix("0a0848656c73696e6b69"), "\(raw.output)")
            let call = try await box.run("navbus", ["service", "call", "Weather/Now", "{}"])
            #expect(call.status == 1 && call.errors.contains("--descriptors"), "\(call.errors)")
        }
    }

    @Test func ratesAndLossesAreCountedFromTheHeaders() async throws {
        try await withWeather(["--no-schema"]) { box, _ in
            let hz = try await box.succeed("navbus", ["topic", "hz", "/weather", "--count", "25", "--json"])
            let line = try #require(hz.outputLines.last)
            let last = try #require(try json(line) as? [String: Any])
            #expect(last["count"] as? Int == 25 && last["publisher"] as? String == "weather")
            // The node skips one sequence number in ten.
            #expect([2, 3].contains(last["lost"] as? Int), "\(last)")
            let rate = try #require((last["figures"] as? [String: Any])?["rate_hz"] as? Double)
            #expect((2...20).contains(rate))
            let size = try await box.succeed("navbus", ["topic", "bw", "/weather", "--count", "5", "--json"])
            #expect(size.output.contains("bytes_per_s"))
            let delay = try await box.succeed("navbus", ["topic", "delay", "/weather", "--count", "5"])
            #expect(delay.output.contains("p99"))
        }
    }

    @Test func aServiceIsListedDescribedAndCalled() async throws {
        try await withWeather { box, node in
            let list = try await box.succeed("navbus", ["service", "list"])
            #expect(list.outputLines.contains { $0.hasPrefix("weather.v1.Weather  weather  Now Forecast") })
            let info = try await box.succeed("navbus", ["service", "info", "Weather"])
            for text in ["weather.v1.Query → stream of weather.v1.Report", "2: uint32 days", "served by weather"] {
                #expect(info.output.contains(text), "\(text) in \(info.output)")
            }
            let query = #"{"station":"Helsinki","days":1}"#
            let now = ["service", "call", "weather.v1.Weather/Now", query, "--metadata", "who=me", "--node", "weather"]
            let answer = try #require(try json(try await box.succeed("navbus", now).output) as? [String: Any])
            #expect(answer["temperature_c"] as? Double == 0.5 && answer["sky"] as? String == "SKY_CLEAR")
            let history = try #require(answer["history"] as? [[String: Any]])
            #expect(history.map { $0["station"] as? String } == ["yesterday", "who=me"])

            let stream = try await box.succeed("navbus", ["service", "call", "Weather/Forecast", #"{"days":3}"#])
            #expect(stream.outputLines.count == 3)

            let failed = try await box.run("navbus", ["service", "call", "Weather/Now", #"{"station":"Atlantis"}"#])
            #expect(failed.status == 1 && failed.output.isEmpty && failed.errorLines.count == 1)
            #expect(failed.errors.contains("NOT_FOUND: no station 'Atlantis'") && failed.errors.contains("AQI="))
            let wrong = try await box.run("navbus", ["service", "call", "Weather/Now", #"{"stations":1}"#])
            #expect(wrong.status == 2 && wrong.errors.contains("it has station, days"), "\(wrong.errors)")
            // Ctrl-C cancels the call, and the server receives the cancellation.
            let open = try box.start("navbus", ["service", "call", "Weather/Forecast", "{}", "--timeout", "60"])
            try await Task.sleep(for: .seconds(1))
            open.send(SIGINT)
            #expect(try await open.wait().status == 1)
            #expect(open.errors.contains("CANCELLED"))
            try await node.says("cancelled")
            let late = ["service", "call", "Weather/Forecast", "{}", "--timeout", "0.5"]
            #expect(try await box.run("navbus", late).errors.contains("DEADLINE_EXCEEDED"))
        }
    }

    @Test func messagesPublishedWithDescriptorsAreReadByOthers() async throws {
        try await withSandbox { box in
            try box.write(
                "t.proto",
                "syntax = \"proto2\"; package t; message Note { required string text = 1; optional int32 n = 2; }")
            let protoc = try #require(Project.find("protoc"))
            let compile = ["-I", box.path, "--include_imports", "--descriptor_set_out=\(box.path)/t.bin", "t.proto"]
            try await box.succeed(protoc, compile)
            try box.write("notes", "{\"text\":\"one\"}\n\n{\"text\":\"two\",\"n\":2}\n{\"text\":\"three\"}")
            let echo = try box.start("navbus", ["topic", "echo", "/notes", "--count", "3"])
            let publish = [
                "topic", "pub", "/notes", "--file", "notes", "--type", "t.Note", "--descriptors", "t.bin", "--latched",
                "--wait", "60",
            ]
            let publisher = try box.start("navbus", publish)
            #expect(
                try await echo.wait().output == "{\"text\":\"one\"}\n{\"text\":\"two\",\"n\":2}\n{\"text\":\"three\"}\n"
            )
            // The topic is latched: a late joiner gets the last message, and a second publisher uses the type announced
            // by the first.
            let late = try await box.succeed("navbus", ["topic", "echo", "/notes", "--count", "1"])
            #expect(late.output == "{\"text\":\"three\"}\n")
            let wrong = try await box.run("navbus", ["topic", "pub", "/notes", "{}", "--wait", "0"])
            #expect(wrong.status == 2 && wrong.errors.contains("'text'"), "\(wrong.errors)")
            try await publisher.says("latched")
            publisher.send(SIGINT)
            #expect(try await publisher.wait().status == 0)
        }
    }

    @Test func theFirstMessageWaitsForItsSubscriber() async throws {
        try await withSandbox { box in
            let fix = #"{"latitude":60.5}"#
            let publisher = try box.start("navbus", ["topic", "pub", "/gnss/fix", fix, "--wait", "60"])
            let echo = try await box.succeed("navbus", ["topic", "echo", "/gnss/fix", "--count", "1"])
            #expect(echo.output == fix + "\n")
            #expect(try await publisher.wait().status == 0)
            let alone = try await box.succeed("navbus", ["topic", "pub", "/gnss/fix", fix, "--wait", "0.1"])
            #expect(alone.errors.contains("no subscriber of"))
        }
    }
}
