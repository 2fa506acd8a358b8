import Logging
import NavBus
import NavGeo
import NavKit
import NavMessages
import NavRecording
import NavReplay
import NavTestBus
import NavWire
import NavigationNode
import Testing

/// Several receivers, of which one is selected.
struct ReceiverSelectionTests {
    /// Returns the fixes of the drive from one receiver.
    private func fixes(_ name: String, accuracy: Double, _ range: Range<Int>, shift: Int64 = 0) throws -> [GnssFix] {
        try Helsinki.drive.get()[range].map { fix in
            var fix = fix
            fix.source = name
            fix.horizontalAccuracyM = accuracy
            fix.stampNs = fix.stampNs.map { $0 + shift }
            return fix
        }
    }

    /// Handles the fixes of several receivers in the order of their times.
    private func run(_ receivers: [GnssFix]..., configuration: NavigationConfiguration = Helsinki.configuration) throws
        -> SessionHarness
    {
        let seat = try SessionHarness(configuration)
        for fix in receivers.joined().sorted(by: { ($0.stampNs ?? 0) < ($1.stampNs ?? 0) }) { seat.take(.fix(fix)) }
        return seat
    }

    private static let half: Int64 = 100_000_000

    @Test func firstReceiverStaysSelectedWhileItIsAsGood() throws {
        let seat = try run(
            try fixes("front", accuracy: 3, 0..<100), try fixes("rear", accuracy: 2.5, 0..<100, shift: Self.half))
        let selections = seat.all(ReceiverSelection.self)
        #expect(selections.map(\.receiver) == ["front"] && selections.map(\.reason) == [.first])
        #expect(selections[0].previous == nil && selections[0].stampNs != nil)
        #expect(seat.session.positioning.standby == 100 && seat.session.positioning.used == 100)
        #expect(seat.all(MatchedPosition.self).allSatisfy { $0.source != .predicted })
    }

    @Test func solutionsWithoutAPositionAreRejectedWhoeverSendsThem() throws {
        let front = try fixes("front", accuracy: 3, 0..<60)
        var nameless = try fixes("", accuracy: 3, 20..<30, shift: Self.half)
        for index in nameless.indices {
            (nameless[index].latitude, nameless[index].longitude) = (nil, nil)
            if index >= 5 { nameless[index].fixType = .noFix }
        }
        let (seat, alone) = (try run(front, nameless), try run(front))
        #expect(seat.all(FixRejected.self).map(\.reason) == Array(repeating: .invalid, count: 5))
        #expect(seat.session.positioning.standby == 5, "a receiver without a solution is on standby")
        let places = seat.all(MatchedPosition.self).map(\.matched)
        #expect(places.count == 60 && places == alone.all(MatchedPosition.self).map(\.matched))
    }

    @Test func betterReceiverIsSelectedAndSilentOneReplaced() throws {
        let seat = try run(
            try fixes("front", accuracy: 9, 0..<200),
            try fixes("rear", accuracy: 1.5, 20..<100, shift: Self.half))
        let selections = seat.all(ReceiverSelection.self)
        #expect(selections.map(\.reason) == [.first, .better, .failed])
        #expect(selections.map(\.receiver) == ["front", "rear", "front"])
        #expect(selections.map(\.previous) == [nil, "front", "rear"])
        #expect(selections.last?.receivers == ["front", "rear"])
        // The silent receiver is reported only for a minute.
        #expect(seat.all(SimulationEvent.self).isEmpty)
    }

    @Test(arguments: [false, true])
    func receiverWithFalseAccuracyIsReplaced(isFrozen: Bool) throws {
        var front = try fixes("front", accuracy: 2.5, 0..<60)
        for index in 30..<60 {
            if isFrozen {
                (front[index].latitude, front[index].longitude) = (front[29].latitude, front[29].longitude)
            } else {
                front[index].latitude = front[index].latitude.map { $0 + 0.05 }
            }
        }
        let seat = try run(front, try fixes("rear", accuracy: 3, 0..<60, shift: Self.half))
        let selections = seat.all(ReceiverSelection.self)
        #expect(selections.map(\.receiver) == ["front", "rear"] && selections.map(\.reason) == [.first, .failed])
    }

    @Test func configuredOrderTakesPrecedenceOverAccuracy() throws {
        var configuration = Helsinki.configuration
        configuration.receivers = ["rtk", "backup"]
        var broken = try fixes("rtk", accuracy: 8, 10..<150, shift: Self.half)
        for index in 50..<70 { (broken[index].latitude, broken[index].longitude) = (nil, nil) }
        let seat = try run(broken, try fixes("backup", accuracy: 2, 0..<150), configuration: configuration)
        let selections = seat.all(ReceiverSelection.self)
        #expect(selections.map(\.receiver) == ["backup", "rtk", "backup", "rtk"])
        #expect(selections.map(\.reason) == [.first, .preferred, .failed, .preferred])
        #expect(selections.allSatisfy { $0.receivers == ["rtk", "backup"] })
        #expect(seat.all(ArrivalEvent.self).isEmpty == false || seat.all(RouteProgress.self).count > 100)
    }

    @Test(arguments: [18, -18] as [Int64])
    func standbyReceiverDoesNotAdvanceTime(difference: Int64) throws {
        let seat = try SessionHarness(Helsinki.configuration)
        let front = try fixes("front", accuracy: 3, 0..<100)
        let rear = try fixes("rear", accuracy: 3, 0..<100, shift: difference * 1_000_000_000)
        for (one, other) in zip(front, rear) {
            seat.take(.fix(one))
            seat.take(.fix(other))
        }
        #expect(seat.all(ReceiverSelection.self).map(\.receiver) == ["front"])
        #expect(seat.all(MatchedPosition.self).count { $0.source != .predicted } == 100)
        #expect(seat.all(MatchedPosition.self).count { $0.source == .predicted } <= 20)
    }

    /// The preferred receiver fails; shortly after it has resumed, both clocks are set back by an hour.
    @Test(arguments: [-100_000_000, 100_000_000] as [Int64])
    func clockStepNeitherFailsNorExcludesAReceiver(rearAfterFront shift: Int64) throws {
        var configuration = Helsinki.configuration
        configuration.receivers = ["front", "rear"]
        let seat = try SessionHarness(configuration)
        func seconds(_ fix: GnssFix) -> Double { Double((fix.stampNs ?? 0) - Helsinki.start) / 1e9 }
        let front = try fixes("front", accuracy: 3, 0..<150).filter { !(60...63.5).contains(seconds($0)) }
        let rear = try fixes("rear", accuracy: 3, 1..<150, shift: shift)
        for fix in (front + rear).sorted(by: { seconds($0) < seconds($1) }) {
            var fix = fix
            if seconds(fix) >= 68 { fix.stampNs = fix.stampNs.map { $0 - 3_600_000_000_000 } }
            seat.take(.fix(fix))
        }
        let selections = seat.all(ReceiverSelection.self)
        #expect(selections.map(\.receiver) == ["front", "rear", "front"], "\(selections.map(\.receiver))")
        #expect(selections.map(\.reason) == [.first, .failed, .preferred], "\(selections.map(\.reason))")
    }

    @Test func numberOfTrackedReceiversIsBounded() throws {
        let seat = try SessionHarness(NavigationConfiguration())
        for (index, fix) in try Helsinki.drive.get().prefix(60).enumerated() {
            var fix = fix
            fix.frameId = "receiver \(index)"
            seat.take(.fix(fix))
        }
        #expect(seat.all(ReceiverSelection.self).allSatisfy { $0.receivers.count <= 8 })
    }

    @Test func healthNamesTheSilentNodeOfTwoOnOneTopic() throws {
        let tiles = try Tiles()
        let network = InProcessNetwork(pipeDepth: 10_000)
        let quiet = NodeLog(node: "test", level: .critical)
        var configuration = Helsinki.configuration
        configuration.tiles = tiles.path
        configuration.receivers = ["front", "rear"]
        var run = RunConfiguration(configuration)
        run.kit.simTime = true
        let ear = try InProcessBus(name: "ear", network: network)
        let node = try NodeRunner<NavigationNode>(
            try InProcessBus(name: "navigation-node", network: network), configuration: run, log: quiet)
        defer { node.finish() }
        _ = try ear.subscribe(
            matching: TopicFilter(include: ["/nav/receiver", "/health/*"]), qos: .keepLast(10_000),
            maximumPayloadSize: 1 << 20)
        let player = NodeLink(try InProcessBus(name: "player", network: network), log: quiet)
        let front = NodeLink(try InProcessBus(name: "front", network: network), log: quiet)
        let rear = NodeLink(try InProcessBus(name: "rear", network: network), log: quiet)
        try player.advertise([Topics.clock])
        for link in [front, rear] { try link.advertise([Topics.gnssFix]) }
        var healths: [NodeHealth] = []
        var selections: [ReceiverSelection] = []
        for (index, fix) in try fixes("front", accuracy: 3, 0..<60).enumerated() {
            let stamp = NavGeo.Timestamp(nanoseconds: fix.stampNs ?? 0)
            player.publish(Clock(stampNs: fix.stampNs), on: Topics.clock, stamp: stamp)
            if index < 30 { front.publish(fix, on: Topics.gnssFix, stamp: stamp) }
            var other = fix
            other.source = "rear"
            other.stampNs = fix.stampNs.map { $0 + 1_000 }
            rear.publish(other, on: Topics.gnssFix, stamp: stamp)
            // Solutions without a position do not make their sender a receiver.
            if index < 30 {
                rear.publish(GnssFix(frameId: "none", fixType: .threeD), on: Topics.gnssFix, stamp: stamp)
            }
            for _ in 0..<4 { try node.step(waiting: .zero) }
            while let delivery = try ear.poll(timeout: .zero) {
                if delivery.topic == "/nav/receiver" {
                    selections.append(try ReceiverSelection(decoding: delivery.payload.bytes))
                } else {
                    healths.append(try NodeHealth(decoding: delivery.payload.bytes))
                }
            }
        }
        #expect(selections.map(\.receiver) == ["front", "rear"] && selections.map(\.reason) == [.first, .failed])
        let last = try #require(healths.last)
        #expect(last.state == .degraded && last.reasons.map(\.code) == ["receiver_silent"])
        func counter(_ name: String) -> UInt64? { last.counters.first { $0.name == name }?.value }
        #expect(counter("fixes_rejected_invalid") == 30)
        #expect(last.reasons[0].message?.contains("'front'") == true)
        #expect(counter("receiver_switches") == 1)
        #expect((counter("fixes_used") ?? 0) >= 55 && (counter("fixes_standby") ?? 0) >= 29)
        // A late joiner receives the selected receiver.
        let late = try InProcessBus(name: "late", network: network)
        _ = try late.subscribe(to: "/nav/receiver", qos: .latched, maximumPayloadSize: 1 << 16)
        let latched = try #require(try late.poll(timeout: .zero))
        #expect(try ReceiverSelection(decoding: latched.payload.bytes).receiver == "rear")
    }
}
