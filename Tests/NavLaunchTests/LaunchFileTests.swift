import NavLaunch
import Testing

@Suite struct LaunchFileTests {
    let scratch = Scratch()

    @Test func aNodeBecomesACommandLine() throws {
        let tool = scratch.write("tool", "#!/bin/sh\n", executable: true)
        let config = scratch.write("node.yaml", "")
        scratch.write(
            "a.yaml",
            """
            arguments:
              work: /data
              drive: ${work}/drive.mcap
            env: {A: "1", B: "2"}
            remaps: {/gnss/fix: /left/fix, /nav/route: /r}
            nodes:
              - name: one
                executable: tool
                args: [play, "${drive}", 10, $$x]
                config: node.yaml
                set: {rate: 5, note: "${env:PLACE} ${launch_dir}"}
                env: {B: "3"}
                remaps: {/nav/route: /mine}
                required: true
                restart: {policy: on-failure, delay_s: 0.25, max_delay_s: 2, limit: 3}
              - {name: two, executable: sh, bus: false}
            """)
        let file = try scratch.load("a.yaml", ["work": "/elsewhere"])
        #expect(file.nodes.map(\.name) == ["one", "two"])
        let one = file.nodes[0]
        #expect(one.executable == tool)
        #expect(
            one.arguments == [
                "play", "/elsewhere/drive.mcap", "10", "$x", "--name", "one", "--config", config, "--set", "rate=5",
                "--set", "note=here \(scratch.path)", "--remap", "/gnss/fix:=/left/fix", "--remap",
                "/nav/route:=/mine",
            ])
        #expect(one.environment.map(\.name) == ["A", "B", "B"])
        #expect(one.required)
        let restart = RestartPolicy(
            mode: .onFailure, delay: .milliseconds(250), maximumDelay: .seconds(2), limit: 3)
        #expect(one.restart == restart)
        #expect(file.nodes[1].arguments.isEmpty)
        #expect(file.nodes[1].restart == RestartPolicy())
        #expect(["/usr/bin/sh", "/bin/sh"].contains(file.nodes[1].executable))
    }

    @Test func includesPassArgumentsAndPrefixTheNamespace() throws {
        scratch.write("tool", "", executable: true)
        scratch.write(
            "sensors.yaml",
            """
            arguments: {rate: 1, port: ~}
            namespace: gnss
            nodes: [{name: reader, executable: ./tool, args: ["${rate}", "${port}"]}]
            """)
        scratch.write(
            "main.yaml",
            """
            arguments: {both: true}
            include:
              - {file: sensors.yaml, namespace: left, arguments: {port: a}}
              - {file: sensors.yaml, namespace: right, arguments: {port: b, rate: 2}, when: "${both}"}
            nodes: [{name: last, executable: ./tool}]
            """)
        let both = try scratch.load("main.yaml")
        #expect(both.nodes.map(\.name) == ["left-gnss-reader", "right-gnss-reader", "last"])
        #expect(both.nodes[1].arguments == ["2", "b", "--name", "right-gnss-reader"])
        let left = try scratch.load("main.yaml", ["both": "false"])
        #expect(left.nodes.map(\.name) == ["left-gnss-reader", "last"])
    }

    @Test func disabledNodeNeedsNoExecutable() throws {
        scratch.write(
            "a.yaml",
            """
            arguments: {extra: false}
            nodes:
              - {name: absent, executable: no-such-tool, config: none.yaml, when: "${extra}"}
              - {name: here, executable: sh, bus: false}
            """)
        #expect(try scratch.load("a.yaml").nodes.map(\.name) == ["here"])
        #expect(throws: LaunchFileError.self) { try scratch.load("a.yaml", ["extra": "true"]) }
    }

    @Test func launchFileOfTheDemoIsValid() throws {
        for name in ["navbus", "navigation-node"] { scratch.write(name, "", executable: true) }
        let demo = #filePath.replacing("Tests/NavLaunchTests/LaunchFileTests.swift", with: "launch/demo.yaml")
        let file = try LaunchFile.load(
            path: demo, arguments: ["work": "/data", "destination": "60.1,24.9"], context: scratch.context)
        #expect(file.nodes.map(\.name) == ["recorder", "navigation-node", "player"])
        #expect(file.nodes.map(\.required) == [true, true, true])
        #expect(file.nodes.map(\.after) == [[], ["recorder"], ["navigation-node"]])
        #expect(file.nodes[1].readiness == Readiness([.topic("/nav/state")], timeout: .seconds(60)))
        #expect(file.nodes[2].arguments.starts(with: ["bag", "play", "/data/drive.mcap", "--rate", "10"]))
    }

    /// The nodes started by each example, with the command in its first lines.
    @Test(arguments: [
        ("vehicle", ["tiles": "/data"], ["gnss-node", "navigation-node"]),
        (
            "vehicle", ["tiles": "/data", "record": "true", "bag": "d.mcap"],
            ["recorder", "gnss-node", "navigation-node"]
        ),
        ("playback", ["tiles": "/data", "drive": "/d.mcap"], ["recorder", "navigation-node", "player"]),
        ("policy", ["tiles": "/data", "depot": "60,25,100"], ["policy-node", "navigation-node", "gnss-node"]),
        (
            "policy", ["tiles": "/data", "policy": "policy/policy_node.py", "receiver": "false"],
            ["policy-node", "navigation-node"]
        ),
        ("two-hosts", ["hosts": "/h.yaml", "tiles": "/data"], ["navigation-node"]),
        ("two-hosts", ["hosts": "/h.yaml", "on_vehicle": "false", "on_desk": "true"], ["recorder"]),
    ])
    func launchFilesOfTheExamplesAreValid(name: String, arguments: [String: String], nodes: [String]) throws {
        for name in ["navbus", "navigation-node", "gnss-node", "policy-node-example"] {
            scratch.write(name, "", executable: true)
        }
        let path = #filePath.replacing("Tests/NavLaunchTests/LaunchFileTests.swift", with: "launch/\(name).yaml")
        let file = try LaunchFile.load(path: path, arguments: arguments, context: scratch.context)
        #expect(file.nodes.map(\.name) == nodes)
    }

    @Test func commandLineArgumentsAreNameAndValue() throws {
        #expect(try LaunchFile.parseArguments(["a:=1", "b:=x:=y", "c:="]) == ["a": "1", "b": "x:=y", "c": ""])
        let error = #expect(throws: LaunchFileError.self) {
            try LaunchFile.parseArguments(["a=1", ":=2", "b:=1", "b:=2"])
        }
        #expect(
            error?.problems.map(\.description) == [
                "command line: \"a=1\" is not an argument: write NAME:=VALUE",
                "command line: \":=2\" is not an argument: write NAME:=VALUE",
                "command line: the argument \"b\" is given twice",
            ])
    }

    @Test func aCommandLineCanBePastedIntoAShell() {
        let node = LaunchNode(name: "n", executable: "/bin/x", arguments: ["a b", "it's", "", "/t:=/u"])
        #expect(node.commandLine == "/bin/x 'a b' 'it'\\''s' '' /t:=/u")
    }
}
