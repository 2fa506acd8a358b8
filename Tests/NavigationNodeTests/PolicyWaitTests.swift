import Foundation
import Logging
import NavBus
import NavKit
import NavMessages
import NavNavigator
import NavRecording
import NavReplay
import NavTestKit
import NavWire
import NavigationNode
import Testing

/// A node with policy requests, which handles the first fix only once the policy node is ready.
struct PolicyWaitTests {
    @Test func nodeStartsOncePolicyIsServed() throws {
        let tiles = try Tiles()
        try withTemporaryFolder { folder in
            let directory = try BusDirectory(path: folder)
            let bus = try BusNode(name: "navigation-node", configuration: BusConfiguration(directory: directory))
            defer { bus.close() }
            let hasStarted = DispatchSemaphore(value: 0)
            let hasLeft = DispatchSemaphore(value: 0)
            let owner = Thread {
                defer { hasLeft.signal() }
                Thread.sleep(forTimeInterval: 0.5)
                guard let node = try? BusNode(name: "owner", configuration: BusConfiguration(directory: directory))
                else { return }
                try? node.serve(
                    ServiceDescription(name: PolicyService.name, methods: [MethodDescription("ShouldReroute")])
                ) { $0.finish([]) }
                while hasStarted.wait(timeout: .now()) == .timedOut {
                    try? node.runServices(timeout: .milliseconds(10))
                }
                node.close()
            }
            owner.start()
            defer { hasLeft.wait() }
            defer { hasStarted.signal() }
            var configuration = Helsinki.configuration
            configuration.tiles = tiles.path
            configuration.navigator.policy.asked = [.shouldReroute]
            configuration.policyWait = 60
            let node = try NodeRunner<NavigationNode>(
                bus, configuration: RunConfiguration(configuration), log: NodeLog(node: "test", level: .critical))
            defer { node.finish() }
            #expect(try bus.isServed(PolicyService.name, by: nil))
            #expect(try bus.isServed(PolicyService.name, by: "owner"))
            #expect(try !bus.isServed(PolicyService.name, by: "another"))
        }
    }
}
