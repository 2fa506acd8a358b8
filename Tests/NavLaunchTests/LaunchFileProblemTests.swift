import NavLaunch
import Testing

/// The errors of launch files, each on one line with file, line, column, cause and remedy.
@Suite struct LaunchFileProblemTests {
    let scratch = Scratch()

    @Test func unknownKeyIsReportedWithASuggestion() {
        let problems = scratch.problems(
            """
            nodes:
              - name: one
                executable: sh
                bus: false
                requierd: true
            """)
        #expect(
            problems == [
                "launch.yaml:5:5: unknown key \"requierd\" in node \"one\"; did you mean \"required\"? (known keys: name, "
                    + "executable, args, config, set, env, remaps, bus, required, restart, when, ready_when, after, cpus, "
                    + "nice, scheduler, core_limit, memory_limit, open_files, watchdog_s)"
            ])
    }

    @Test(arguments: [
        ("nodes: [{executable: sh}]", "launch.yaml:1:9: a node has no \"name\""),
        ("nodes: [{name: a}]", "launch.yaml:1:9: node \"a\" has no \"executable\""),
        ("nodes: [{name: a b, executable: sh}]", "launch.yaml:1:16: \"a b\" cannot be the name of node \"a b\""),
        (
            "nodes: [{name: a, executable: sh, required: maybe}]",
            "launch.yaml:1:45: \"required\" in node \"a\" must be true or false, not \"maybe\""
        ),
        (
            "nodes: [{name: a, executable: sh, args: -v}]",
            "launch.yaml:1:41: \"args\" in node \"a\" must be a list: [first, second]"
        ),
        (
            "nodes: [{name: a, executable: sh, args: [[b]]}]",
            "launch.yaml:1:42: an item of \"args\" in node \"a\" must be a word or a number"
        ),
        (
            "nodes: [{name: a, executable: sh, restart: on-failur}]",
            "launch.yaml:1:44: \"policy\" in \"restart\" of node \"a\" must be one of never, on-failure, always, not \"on-failur\"; "
                + "did you mean \"on-failure\"?"
        ),
        (
            "nodes: [{name: a, executable: sh, restart: {policy: always, delay_s: 0.2, max_delay_s: 0.1}}]",
            "launch.yaml:1:70: \"delay_s\" in \"restart\" of node \"a\" must not exceed \"max_delay_s\", which is 30 unless given"
        ),
        (
            "nodes: [{name: a, executable: sh, restart: {policy: always, delay_s: nan}}]",
            "launch.yaml:1:70: \"delay_s\" in \"restart\" of node \"a\" must be a number from 0.0 to 3600.0, not \"nan\""
        ),
        (
            "nodes: [{name: a, executable: sh, remaps: {fix: /b}}]",
            "launch.yaml:1:49: \"fix\" in \"remaps\" of node \"a\" is not a topic: write /word/word"
        ),
        (
            "nodes: [{name: a, executable: sh, args: [\"${b}\"]}]",
            "launch.yaml:1:42: an item of \"args\" in node \"a\": \"${b}\" is not an argument (known arguments: launch_dir)"
        ),
        (
            "nodes: [{name: a, executable: sh, args: [\"${b\"]}]",
            "launch.yaml:1:42: an item of \"args\" in node \"a\": \"${\" without \"}\"; write \"$$\" for a dollar sign"
        ),
        (
            "nodes: [{name: a, executable: sh, args: [\"x\\0y\"]}]",
            "launch.yaml:1:42: an item of \"args\" in node \"a\" contains a NUL character"
        ),
        (
            "nodes: [{name: a, executable: sh, env: {\"A=B\": 1}}]",
            "launch.yaml:1:48: \"A=B\" in \"env\" of node \"a\" is not a variable's name"
        ),
        (
            "nodes: [{name: a, executable: sh, config: none.yaml}]",
            "launch.yaml:1:43: node \"a\": there is no config file none.yaml"
        ),
        (
            "nodes: [{name: a, executable: sh, bus: false, remaps: {/a: /b}}]",
            "launch.yaml:1:55: node \"a\" has remaps, but \"bus: false\""
        ),
        (
            "nodes: [{name: a, executable: ./none}]",
            "launch.yaml:1:31: node \"a\": none does not exist"
        ),
        (
            "nodes: [{name: a, executable: sh}, {name: a, executable: sh}]",
            "launch.yaml:1:43: the name \"a\" is taken by the node at launch.yaml:1: two nodes cannot share a name"
        ),
        ("nodes: x", "launch.yaml:1:8: \"nodes\" in the launch file must be a list, each item on a line with \"- \""),
        ("nodes: [x]", "launch.yaml:1:9: a node must be a mapping of keys"),
        ("[x]", "launch.yaml:1:1: the launch file must be a mapping of keys"),
        ("nodes: [", "launch.yaml:2:1: not valid YAML: did not find expected node content"),
        ("nodes: []\nnodes: []", "launch.yaml:1:1: the key \"nodes\" is given twice"),
        ("", "launch.yaml: the file is empty: a launch file has \"nodes\""),
        ("nodes: []", "launch.yaml: no process to start: add \"nodes\""),
        ("include: [{file: launch.yaml}]", "launch.yaml:1:18: launch.yaml includes itself"),
        (
            "include: [{file: other.yaml}]",
            "launch.yaml:1:18: 'other.yaml' cannot be read: No such file or directory; does it exist?"
        ),
        ("include: [{}]", "launch.yaml:1:11: an include has no \"file\""),
        (
            "arguments: {a b: 1}",
            "launch.yaml:1:13: \"a b\" cannot be an argument's name: use letters, digits and \"_\""
        ),
        ("arguments: {a: ~}", "launch.yaml:1:13: the argument \"a\" has no default: give it as a:=VALUE"),
        (
            "arguments: {a: {description: a number}}",
            "launch.yaml:1:13: the argument \"a\" (a number) has no default: give it as a:=VALUE"
        ),
        ("arguments: {a: [1]}", "launch.yaml:1:16: \"default\" in argument \"a\" must be a word or a number"),
    ])
    func mistakeIsReportedOnceWithItsPlace(text: String, expected: String) {
        let problems = scratch.problems(text)
        #expect(problems.count == 1)
        #expect(problems.first?.hasPrefix(expected) == true, "\(problems)")
    }

    @Test func allProblemsAreReportedAtOnce() {
        let problems = scratch.problems("nodes: [{name: a, executable: no-such, required: 1, when: 2}, {nam: b}]")
        #expect(problems.count == 6, "\(problems)")
    }

    @Test func missingExecutableIsReportedWithTheSearchedPlaces() {
        let problems = scratch.problems("nodes: [{name: a, executable: no-such-tool}]")
        #expect(
            problems == [
                "launch.yaml:1:31: node \"a\": there is no executable \"no-such-tool\" in \(scratch.path) or on PATH: build "
                    + "or install it, or give its path"
            ])
        scratch.write("plain", "")
        let plain = scratch.problems("nodes: [{name: a, executable: ./plain}]")
        #expect(plain == ["launch.yaml:1:31: node \"a\": plain is not an executable file: chmod +x it"])
    }

    @Test func unknownArgumentIsRejected() {
        let problems = scratch.problems(
            "{arguments: {tiles: 1}, nodes: [{name: a, executable: sh}]}", ["tile": "x"])
        #expect(
            problems == [
                "command line: launch.yaml has no argument \"tile\"; did you mean \"tiles\"? (it has: tiles)"
            ])
    }

    @Test func topicThatIsTooLongForTheBusIsReported() {
        let topics = [200, 201].map { "/" + String(repeating: "a", count: $0 - 1) }
        let problems = topics.map { topic in
            scratch.problems("nodes: [{name: a, executable: sh, remaps: {/a: \(topic)}}]").filter {
                $0.contains("is not a topic")
            }.count
        }
        #expect(problems == [0, 1])
    }

    @Test func substitutedArgumentsAreBounded() {
        var text = "arguments:\n  a0: xxxxxxxxxxxxxxxx\n"
        for index in 1...40 {
            text += "  a\(index): ${a\(index - 1)}${a\(index - 1)}\n"
        }
        let problems = scratch.problems(text + "nodes: [{name: a, executable: sh}]")
        #expect(problems.first?.hasSuffix("the text is longer than 65536 bytes after substitution") == true)
        #expect(problems.count <= 50)
    }

    @Test(arguments: [[0xFF, 0xFE, 0x00], [UInt8](repeating: UInt8(ascii: "["), count: 200_000)])
    func invalidBytesAreRejected(bytes: [UInt8]) {
        let text = String(decoding: bytes, as: UTF8.self)
        #expect(scratch.problems(text).count == 1)
    }

    @Test func folderIsRejected() {
        let error = #expect(throws: LaunchFileError.self) { try scratch.load("") }
        #expect(error?.problems.first?.message.hasSuffix("Is a directory") == true)
    }
}
