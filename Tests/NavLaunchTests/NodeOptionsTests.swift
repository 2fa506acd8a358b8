import NavLaunch
import Testing

/// The configuration keys of a node for its start and its process settings.
@Suite struct NodeOptionsTests {
    let scratch = Scratch()

    @Test func everyKeyIsApplied() throws {
        scratch.write(
            "a.yaml",
            """
            arguments: {cores: "0-1,4"}
            domain: front
            remaps: {/gnss/fix: /left/fix}
            nodes:
              - name: gnss
                executable: sh
                ready_when: {topic: [/gnss/fix, /x], service: navbus.v1.Node, timeout_s: 2.5, on_timeout: continue}
              - name: nav
                executable: sh
                after: [gnss]
                ready_when: {message: /nav/state}
                cpus: ${cores}
                nice: -5
                scheduler: fifo:20
                core_limit: unlimited
                memory_limit: 512M
                open_files: 4096
              - {name: log, executable: sh, after: nav, cpus: [3, 1], scheduler: batch, core_limit: 0}
            """)
        let nodes = try scratch.load("a.yaml").nodes
        let conditions: [Readiness.Condition] = [
            .topic("/left/fix"), .topic("/x"), .service("navbus.v1.Node"),
        ]
        #expect(nodes[0].readiness == Readiness(conditions, timeout: .seconds(2.5), onTimeout: .proceed))
        #expect(nodes[0].environment == [EnvironmentVariable("NAVBUS_DOMAIN", "front")])
        #expect(nodes[1].readiness == Readiness([.message("/nav/state")], onTimeout: .proceed), "no node depends on it")
        #expect(nodes.map(\.after) == [[], ["gnss"], ["nav"]])
        #expect(
            nodes[1].settings
                == ProcessSettings(
                    cpus: [0, 1, 4], nice: -5, scheduler: .fifo(20), coreLimit: .unlimited,
                    memoryLimit: .value(512 << 20), openFiles: .value(4_096)))
        #expect(nodes[2].settings == ProcessSettings(cpus: [1, 3], scheduler: .batch, coreLimit: .value(0)))
        #expect(
            nodes[1].details == [
                "after gnss", "ready when there is a message on /nav/state, within 30.0 s, else continuing",
                "cpus 0-1,4",
                "nice -5",
                "scheduler fifo:20", "core_limit unlimited", "memory_limit 536870912", "open_files 4096",
            ])
    }

    @Test func afterResolvesNamesFromTheInnerNamespaceOutwards() throws {
        scratch.write(
            "part.yaml",
            "nodes: [{name: one, executable: sh}, {name: two, executable: sh, after: [one, base, none]}]")
        scratch.write(
            "main.yaml",
            """
            include:
              - {file: part.yaml, namespace: left}
            nodes:
              - {name: one, executable: sh}
              - {name: base, executable: sh, after: [left-two]}
              - {name: none, executable: no-such-tool, when: false}
            """)
        // A cycle across both files: left-two after base after left-two.
        let error = #expect(throws: LaunchFileError.self) { try scratch.load("main.yaml") }
        #expect(error?.problems.map(\.message).first?.hasPrefix("the start order is circular: ") == true)
        scratch.write("main.yaml", (scratch.read("main.yaml") ?? "").replacing(", after: [left-two]", with: ""))
        #expect(try scratch.load("main.yaml").nodes.map(\.after) == [[], ["left-one", "base"], [], []])
    }

    @Test(arguments: ["true", "false"])
    func conditionalNodesMayShareANameUsedByAfter(isLive: String) throws {
        scratch.write(
            "a.yaml",
            """
            arguments: {live: true, playback: false}
            nodes:
              - {name: source, executable: sh, args: [live], when: "${live}"}
              - {name: source, executable: sh, args: [playback], when: "${playback}"}
              - {name: nav, executable: sh, after: [source]}
            """)
        let arguments = ["live": isLive, "playback": isLive == "true" ? "false" : "true"]
        #expect(try scratch.load("a.yaml", arguments).nodes.map(\.after) == [[], ["source"]])
        #expect(try scratch.load("a.yaml", ["live": "false"]).nodes.map(\.after) == [[]])
    }

    @Test func nodesOfADisabledIncludeAreNeitherAwaitedNorChecked() throws {
        scratch.write(
            "inner.yaml",
            "nodes: [{name: inner, executable: no-such-tool, unknown: 1}, {name: other, executable: \"${env:ABSENT}\"}]"
        )
        scratch.write(
            "sensors.yaml",
            """
            arguments: {port: ~}
            namespace: front
            include: [{file: inner.yaml}, {file: inner.yaml, namespace: b, when: false}, {file: sensors.yaml}]
            nodes: [{name: gnss, config: none.yaml}]
            """)
        scratch.write(
            "main.yaml",
            """
            include:
              - {file: sensors.yaml, when: false}
              - {file: no-such-file.yaml, when: false}
            nodes:
              - name: nav
                executable: sh
                after: [front-gnss, front-inner, front-other, front-b-inner]
            """)
        let file = try scratch.load("main.yaml")
        #expect(file.nodes.map(\.name) == ["nav"])
        #expect(file.nodes.map(\.after) == [[]])
        #expect(file.warnings.isEmpty)
    }

    @Test func remapsOfAnIncludedFileReplaceInheritedOnes() throws {
        scratch.write(
            "part.yaml",
            """
            remaps: {/gnss/fix: /inner/fix}
            nodes: [{name: one, executable: sh, ready_when: {topic: [/gnss/fix, /nav/state]}}]
            """)
        scratch.write(
            "main.yaml",
            """
            remaps: {/gnss/fix: /outer/fix, /nav/state: /outer/state}
            include: [{file: part.yaml}]
            """)
        let one = try #require(try scratch.load("main.yaml").nodes.first)
        #expect(one.readiness?.conditions == [.topic("/inner/fix"), .topic("/outer/state")])
        #expect(
            one.arguments == [
                "--name", "one", "--remap", "/nav/state:=/outer/state", "--remap", "/gnss/fix:=/inner/fix",
            ])
    }

    @Test(arguments: [
        (
            "nodes: [{name: recorder, executable: sh}, {name: a, executable: sh, after: [recoder]}]",
            "launch.yaml:1:76: node \"a\" starts after \"recoder\", which is not a node; did you mean \"recorder\"? "
                + "(known nodes: recorder, a)"
        ),
        (
            "nodes: [{name: a, executable: sh, after: c}, {name: b, executable: sh, after: [a]}, "
                + "{name: c, executable: sh, after: [b]}]",
            "launch.yaml:1:42: the start order is circular: a after c after b after a"
        ),
        (
            "nodes: [{name: a, executable: sh, after: a}]",
            "launch.yaml:1:42: the start order is circular: a after a"
        ),
        (
            "nodes: [{name: a, executable: sh, ready_when: {topc: /a}}]",
            "launch.yaml:1:48: unknown key \"topc\" in \"ready_when\" of node \"a\"; did you mean \"topic\"?"
        ),
        (
            "nodes: [{name: a, executable: sh, ready_when: {timeout_s: 3}}]",
            "launch.yaml:1:47: \"ready_when\" of node \"a\" needs \"topic\", \"message\" or \"service\""
        ),
        (
            "nodes: [{name: a, executable: sh, ready_when: {topic: fix}}]",
            "launch.yaml:1:55: \"fix\" in \"ready_when\" of node \"a\" is not a topic: write /word/word"
        ),
        (
            "nodes: [{name: a, executable: sh, ready_when: {topic: /a, on_timeout: stopp}}]",
            "launch.yaml:1:71: \"on_timeout\" in \"ready_when\" of node \"a\" must be one of stop, continue, not \"stopp\"; "
                + "did you mean \"stop\"?"
        ),
        (
            "nodes: [{name: a, executable: sh, ready_when: {topic: /a, timeout_s: 0}}]",
            "launch.yaml:1:70: \"timeout_s\" in \"ready_when\" of node \"a\" must be a number from 0.001 to 86400.0"
        ),
        (
            "nodes: [{name: a, executable: sh, bus: false, ready_when: {topic: /a}}]",
            "launch.yaml:1:59: node \"a\" has ready_when, but \"bus: false\""
        ),
        (
            "nodes: [{name: a, executable: sh, cpus: 2-0}]",
            "launch.yaml:1:41: \"cpus\" in node \"a\" must be processors from 0 to 1023 such as [0, 1] or \"0-1,3\", not "
                + "\"2-0\""
        ),
        ("nodes: [{name: a, executable: sh, cpus: [0, 1024]}]", "launch.yaml:1:41: \"cpus\" in node \"a\""),
        ("nodes: [{name: a, executable: sh, cpus: []}]", "launch.yaml:1:41: \"cpus\" in node \"a\""),
        (
            "nodes: [{name: a, executable: sh, nice: 20}]",
            "launch.yaml:1:41: \"nice\" in node \"a\" must be a whole number from -20 to 19, not \"20\""
        ),
        ("nodes: [{name: a, executable: sh, scheduler: fifo}]", "launch.yaml:1:46: \"scheduler\" in node \"a\""),
        ("nodes: [{name: a, executable: sh, scheduler: rr:100}]", "launch.yaml:1:46: \"scheduler\" in node \"a\""),
        (
            "nodes: [{name: a, executable: sh, core_limit: 1T}]",
            "launch.yaml:1:47: \"core_limit\" in node \"a\" must be \"unlimited\" or a whole number, optionally with K, M "
                + "or G for powers of 1024, not \"1T\""
        ),
        (
            "nodes: [{name: a, executable: sh, memory_limit: 18446744073709551615G}]",
            "launch.yaml:1:49: \"memory_limit\" in node \"a\""
        ),
        (
            "{domain: Front, nodes: [{name: a, executable: sh}]}",
            "launch.yaml:1:10: \"domain\" in the launch file: "
        ),
        (
            "{namespace: abcdefghijklmnopqrstuvwxyz0123456789, nodes: [{name: abcdefghijklmnopqrstuvwxyz01, "
                + "executable: sh}]}",
            "launch.yaml:1:66: the name \"abcdefghijklmnopqrstuvwxyz0123456789-abcdefghijklmnopqrstuvwxyz01\" is 65 bytes"
        ),
        (
            "nodes: [{name: Gnss, executable: sh}]",
            "launch.yaml:1:16: \"Gnss\" cannot be the name of node \"Gnss\": use up to 64 of a-z, 0-9, \"_\" and \"-\""
        ),
    ])
    func mistakeIsReportedOnceWithItsPlace(text: String, expected: String) {
        let problems = scratch.problems(text)
        #expect(problems.count == 1, "\(problems)")
        #expect(problems.first?.hasPrefix(expected) == true, "\(problems)")
    }

    @Test func invalidConfigFileIsRejectedWithItsPlace() {
        scratch.write("node.yaml", "rate: 5\nsource: [")
        let problems = scratch.problems("nodes: [{name: a, executable: sh, config: node.yaml}]")
        #expect(problems.first?.hasPrefix("node.yaml:3:1: not valid YAML") == true, "\(problems)")
        scratch.write("node.yaml", "")
        #expect(scratch.problems("nodes: [{name: a, executable: sh, config: node.yaml}]") == [])
    }

    @Test func absentProcessorsTopicsAndServicesAreWarnings() throws {
        scratch.write(
            "a.yaml",
            """
            remaps: {/gnss/fixes: /left/fix}
            nodes: [{name: a, executable: sh, cpus: "0-2", ready_when: {topic: [/nav/stat, /left/fix, /health/a]}}]
            """)
        scratch.write(
            "services.yaml",
            "nodes: [{name: a, executable: sh, ready_when: {service: [navbus.v1.Node, navbus.v1.Navigaton]}}]")
        var context = scratch.context
        context.cpus = [0, 1]
        context.topics = ["/gnss/fix", "/nav/state", "/health/<node>"]
        context.services = ["navbus.v1.Node", "navbus.v1.Navigation"]
        let services = try LaunchFile.load(path: scratch.path + "/services.yaml", context: context)
        #expect(
            services.warnings.map(\.message) == [
                "\"navbus.v1.Navigaton\" in \"ready_when\" of node \"a\" is not in the service catalogue; did you mean "
                    + "\"navbus.v1.Navigation\"?"
            ])
        let file = try LaunchFile.load(path: scratch.path + "/a.yaml", context: context)
        #expect(
            file.warnings.map { $0.description.replacing(scratch.path + "/", with: "") } == [
                "a.yaml:1:23: \"/gnss/fixes\" in \"remaps\" of the launch file is not in the topic catalogue; did you mean "
                    + "\"/gnss/fix\"?",
                "a.yaml:2:68: \"/nav/stat\" in \"ready_when\" of node \"a\" is not in the topic catalogue; did you mean "
                    + "\"/nav/state\"?",
                "a.yaml:2:41: node \"a\" cannot start on this machine: it needs the processors 2, but may use only 0-1",
            ])
    }

    @Test func requiredNodesMustBeReadyAndWatchdogIsConfigurable() throws {
        scratch.write(
            "b.yaml",
            """
            nodes:
              - {name: a, executable: sh, required: true, ready_when: {topic: /a}, watchdog_s: 2.5}
              - {name: b, executable: sh, ready_when: {topic: /a, on_timeout: stop}, watchdog_s: 0}
              - {name: c, executable: sh, ready_when: {topic: /a}}
            """)
        let nodes = try scratch.load("b.yaml").nodes
        #expect(nodes.map(\.readiness?.onTimeout) == [.stop, .stop, .proceed])
        #expect(nodes.map(\.watchdog) == [.seconds(2.5), .zero, LaunchNode.defaultWatchdog])
        #expect(
            scratch.problems("nodes: [{name: a, executable: sh, watchdog_s: 0.2}]")
                == ["launch.yaml:1:47: \"watchdog_s\" in node \"a\" must be 0, which turns it off, or at least 1"])
    }
}
