import Glibc
import NavTestSystem
import Testing

/// The example policy nodes, started by `launch/policy.yaml`; they take the owner's decisions.
struct PolicyNodeTests {
    /// The area of the depot. The vehicle leaves its route inside and the depot itself some seconds later.
    private static let depot = "60.16959,24.93872,150"

    /// Drives with a policy node and expects the reroute to wait for its approval.
    ///
    /// - Parameter node: the policy node as an argument of the launch file.
    private func drive(_ node: String, environment: [String: String] = [:]) async throws {
        try await withSandbox { box in
            let (tiles, drive) = (try await Town.shared.tiles, try await Town.shared.drive)
            let echo = try box.start("navbus", ["topic", "echo", "/nav/policy/decision"])
            let launch = try box.start(
                "navbus",
                [
                    "launch", Project.root + "/launch/policy.yaml", "policy:=\(node)", "tiles:=\(tiles)",
                    "destination:=\(Town.to)", "depot:=\(Self.depot)", "receiver:=false", "deadline_s:=10",
                ], environment: environment)
            try await box.announces("/nav/progress", node: "navigation-node")
            try await box.succeed(
                "navbus", ["bag", "play", drive, "--rate", "25", "--topics", "/gnss/fix", "--subscribers", "1"])
            try await launch.says("arrival ARRIVED destination")
            launch.send(SIGINT)
            let result = try await launch.wait()
            #expect(result.status == 0, "\(result.errors)\n\(result.output)")
            expectInOrder(
                [
                    "state GUIDANCE OFF_ROUTE", "policy SHOULD_REROUTE: NO by CLIENT",
                    "policy SHOULD_REROUTE: YES by CLIENT", "reroute WILL_REROUTE", "reroute APPLIED",
                ], in: result.output + result.errors)

            echo.send(SIGINT)
            let decisions = try await echo.wait().outputLines.map { try #require(try json($0) as? [String: Any]) }
                .filter { $0["kind"] as? String == "POLICY_KIND_SHOULD_REROUTE" }
            #expect(decisions.allSatisfy { $0["decided_by"] as? String == "POLICY_DECIDER_CLIENT" }, "\(decisions)")
            #expect(decisions.first?["verdict"] as? String == "POLICY_VERDICT_NO")
            #expect(decisions.first?["reason"] as? String == "in the depot")
            #expect(decisions.last?["verdict"] as? String == "POLICY_VERDICT_YES")
        }
    }

    @Test func swiftPolicyNodeWithholdsARerouteInTheDepot() async throws { try await drive("policy-node-example") }

    @Test(
        .enabled(
            if: Project.hasPython && Project.find("protoc") != nil,
            "needs protoc, and Python with zmq, google.protobuf, mcap and mcap_protobuf: set NAVBUS_PYTHON"))
    func pythonPolicyNodeWithholdsARerouteInTheDepot() async throws {
        try await withSandbox { box in
            // The script's shebang runs `python3`, which must be the Python with the packages.
            let python = try box.write("python3", "#!/bin/sh\nexec '\(Project.python)' \"$@\"\n")
            #expect(chmod(python, 0o755) == 0)
            let path = "\(box.path):\(box.environment["PATH"] ?? "")"
            try await drive("policy/policy_node.py", environment: ["PATH": path])
        }
    }
}
