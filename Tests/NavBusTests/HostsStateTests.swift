import Foundation
import NavBus
import NavSimulation
import NavTestKit
import Testing

/// The state machines for connections between hosts, without sockets and with a simulated time.
@Suite struct HostsStateTests {
    // MARK: The authenticator

    private func request(_ key: [UInt8], mechanism: String = "CURVE", version: String = "1.0") -> [[UInt8]] {
        ["\(version)", "17", "navbus", "10.0.0.9", "", mechanism].map { Array($0.utf8) } + [key]
    }

    @Test func authenticatorAdmitsAllowedKeysAndReportsOthersOnceInTenSeconds() throws {
        let (friend, stranger) = (try CurveKeyPair.generate().publicKey, try CurveKeyPair.generate().publicKey)
        var authenticator = Authenticator(allowed: [friend])
        let yes = authenticator.authenticate(request(friend.bytes), now: 0)
        #expect(yes.reply.prefix(3) == [Array("1.0".utf8), Array("17".utf8), Array("200".utf8)] && yes.event == nil)
        #expect(yes.reply.count == 6)
        let no = authenticator.authenticate(request(stranger.bytes), now: 0)
        #expect(no.reply[2] == Array("400".utf8))
        #expect(no.event == .denied(key: stranger, address: "10.0.0.9"))
        #expect(authenticator.authenticate(request(stranger.bytes), now: 9_000_000_000).event == nil)
        #expect(authenticator.authenticate(request(stranger.bytes), now: 10_000_000_000).event != nil)
        #expect(authenticator.statistics.denied == 3)
    }

    @Test func authenticatorDeniesEveryMalformedRequest() throws {
        let friend = try CurveKeyPair.generate().publicKey
        var authenticator = Authenticator(allowed: [friend])
        var random = SeededRandom(seed: 1)
        var requests = [
            request(friend.bytes, mechanism: "NULL"), request(friend.bytes, mechanism: "PLAIN"),
            request(friend.bytes, version: "2.0"), request(Array(friend.bytes.dropLast())), request([]),
            Array(request(friend.bytes).dropLast()), request(friend.bytes) + [[]], [], [[]],
            request(Array(friend.description.utf8)),
        ]
        for _ in 0..<500 {
            requests.append(
                (0..<Int.random(in: 0...9, using: &random)).map { _ in
                    (0..<Int.random(in: 0...40, using: &random)).map { _ in random.next() }
                })
        }
        for request in requests {
            let verdict = authenticator.authenticate(request, now: 0)
            #expect(verdict.reply.count == 6 && verdict.reply[2] == Array("400".utf8) && verdict.event == nil)
        }
        #expect(authenticator.statistics.denied == UInt64(requests.count))
    }

    @Test func floodOfNewKeysIsBoundedInLogAndMemory() {
        var authenticator = Authenticator(allowed: [])
        var told = 0
        for number in 0..<100_000 as Range<UInt32> {
            let key = (0..<8).flatMap { _ in withUnsafeBytes(of: number) { Array($0) } }
            if authenticator.authenticate(request(key), now: Int64(number)).event != nil { told += 1 }
        }
        #expect(told == 64)
        #expect(authenticator.statistics.denied == 100_000)
    }

    @Test func connectionsNeverAdmittedCountAsRefused() {
        var authenticator = Authenticator(allowed: [])
        for _ in 0..<3 { authenticator.accepted() }
        authenticator.admitted()
        #expect(authenticator.disconnected(from: "tcp://0.0.0.0:1", now: 0) == .refused(endpoint: "tcp://0.0.0.0:1"))
        #expect(authenticator.disconnected(from: "tcp://0.0.0.0:1", now: 1) == nil)
        #expect(authenticator.statistics.refused == 2)
        // The third was admitted, and another had ended.
        authenticator.admitted()
        #expect(authenticator.statistics.refused == 1)
        _ = authenticator.disconnected(from: "", now: 2)
        #expect(authenticator.statistics.refused == 1 && authenticator.statistics.connections == 3)
    }

    @Test func allowedKeysAreReadAgainWhenTheirFileChanges() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/allowed"
        let keys = try (0..<3).map { _ in try CurveKeyPair.generate().publicKey }
        func write(_ text: String) throws {
            try text.write(toFile: path, atomically: true, encoding: .utf8)
            chmod(path, 0o644)
        }
        #expect(busError { _ = try AllowedKeys([], file: path) } != nil)
        try write("\(keys[1])")
        var allowed = try AllowedKeys([keys[0]], file: path)
        #expect(allowed.keys == Set(keys[..<2]) && allowed.refresh(now: 0) == nil)
        try write("\(keys[1])\n\(keys[2]) desk")
        #expect(allowed.refresh(now: 0) == .allowedKeysChanged(path: path, count: 3))
        #expect(allowed.keys == Set(keys) && allowed.refresh(now: 0) == nil)

        // The last valid keys remain; the file is read again a second later, and the error is reported once in ten
        // seconds.
        try write("nonsense")
        let event = allowed.refresh(now: second)
        #expect(event?.isWarning == true && event?.description.contains("line 1") == true)
        #expect(allowed.refresh(now: 2 * second) == nil && allowed.keys == Set(keys))
        try FileManager.default.removeItem(atPath: path)
        #expect(allowed.refresh(now: 3 * second)?.isWarning == true && allowed.keys == Set(keys))
        try write("")
        #expect(allowed.refresh(now: 3 * second) == nil)
        #expect(allowed.refresh(now: 4 * second) == .allowedKeysChanged(path: path, count: 1))
        #expect(allowed.keys == [keys[0]])
    }

    // MARK: Followers

    @Test func followerIsSentMissingAnnouncementsWithFewRepetitions() {
        var board = AnnouncementFollowers(bootID: 5)
        let one = ClientAddress("1")
        #expect(board.changed(0).isEmpty)
        #expect(board.asked(one, boot: 0, revision: 0, now: 0) == .announcement)
        #expect(board.asked(one, boot: 0, revision: 0, now: 1) == .nothing)
        #expect(board.asked(one, boot: 5, revision: 1, now: 2) == .signOfLife)
        // Revisions of another run do not apply to this one.
        #expect(board.asked(one, boot: 4, revision: 1, now: 200_000_000) == .announcement)
        #expect(board.changed(200_000_001) == [one])
        #expect(board.asked(one, boot: 5, revision: 1, now: 200_000_002) == .nothing)
        #expect(board.asked(one, boot: 5, revision: 1, now: 400_000_000) == .announcement)
        board.remove(one)
        #expect(board.changed(400_000_001).isEmpty)
    }

    @Test func followersAreBoundedAndSilentOnesReplaced() {
        var board = AnnouncementFollowers(bootID: 5)
        for number in 0..<1000 {
            let answer = board.asked(ClientAddress("\(number)"), boot: 0, revision: 0, now: 0)
            #expect((answer == .announcement) == (number < AnnouncementFollowers.maximumWatchers))
        }
        #expect(board.addresses.count == AnnouncementFollowers.maximumWatchers)
        #expect(board.asked(ClientAddress("late"), boot: 0, revision: 0, now: 3_000_000_000) == .announcement)
        #expect(board.addresses == [ClientAddress("late")])
    }

    // MARK: A peer

    private func announcement(_ node: String = "server", boot: String = "aa", topics: Int = 1) -> [UInt8] {
        let list = (0..<topics).map {
            """
            {"name": "/t\($0)", "type": "T", "schema_fingerprint": "0", "max_bytes": 9, "qos": {"kind": "latest"}}
            """
        }
        return Array(
            """
            {"format": 1, "node": "\(node)", "pid": 1, "boot_id": "\(boot)",
             "endpoints": {"pub": "tcp://*:7601"}, "topics": [\(list.joined(separator: ","))]}
            """.utf8)
    }

    private func peer() throws -> PeerStateMachine {
        PeerStateMachine(endpoint: try TCPEndpoint("tcp://10.0.0.1:7600"))
    }

    private let second: Int64 = 1_000_000_000

    @Test func peerIsPolledUntilItAnswersAndThenAsAHeartbeat() throws {
        var machine = try peer()
        #expect(machine.tick(now: 0) == [.ask(bootID: 0, revision: 0)])
        #expect(machine.nextTick == second)
        // Woken early, it polls again shortly afterwards.
        #expect(machine.tick(now: 1) == [])
        #expect(machine.tick(now: machine.nextTick) == [.ask(bootID: 0, revision: 0)])
        let effects = announcement().withUnsafeBytes {
            machine.announced($0, bootID: 0xaa, revision: 3, now: second)
        }
        #expect(effects.count == 2 && effects.last == .changed)
        #expect(machine.announcement?.publisherEndpoint == "tcp://10.0.0.1:7601")
        #expect(machine.tick(now: machine.nextTick) == [.ask(bootID: 0xaa, revision: 3)])
        #expect(machine.nextTick == second + 2 * PeerStateMachine.heartbeatNanoseconds)
        // A repeated announcement has no effect.
        let again = announcement().withUnsafeBytes {
            machine.announced($0, bootID: 0xaa, revision: 4, now: 2 * second)
        }
        #expect(again == [])
    }

    @Test func silentPeerIsLostAndItsNextRunIsReported() throws {
        var machine = try peer()
        _ = machine.tick(now: 0)
        _ = announcement().withUnsafeBytes { machine.announced($0, bootID: 0xaa, revision: 1, now: 0) }
        machine.noteMessage(now: second)
        #expect(machine.tick(now: 2 * second).contains(.changed) == false)
        let lost = machine.tick(now: second + PeerStateMachine.silenceNanoseconds)
        #expect(lost.first == .changed && machine.announcement == nil)
        #expect(machine.left(now: 3 * second) == [])
        let found = announcement(boot: "bb").withUnsafeBytes {
            machine.announced($0, bootID: 0xbb, revision: 1, now: 4 * second)
        }
        #expect(found.contains(.changed))
        #expect(machine.left(now: 5 * second).first == .changed)
    }

    @Test func prematureAnnouncementIsRequestedAgain() throws {
        var machine = try peer()
        _ = machine.tick(now: 0)
        _ = announcement().withUnsafeBytes { machine.announced($0, bootID: 0xaa, revision: 1, now: 100) }
        let early = announcement(topics: 2).withUnsafeBytes {
            machine.announced($0, bootID: 0xaa, revision: 2, now: 200)
        }
        #expect(early == [] && machine.announcement?.topics.count == 1)
        #expect(machine.nextTick == 200 + PeerStateMachine.secondLookNanoseconds)
        #expect(machine.tick(now: machine.nextTick) == [.ask(bootID: 0xaa, revision: 1)])
    }

    @Test func peerAnnouncementsAreValidated() throws {
        let good = String(decoding: announcement(), as: UTF8.self)
        let bad: [String] = [
            "", "{", "[]", String(repeating: "[", count: 100_000), good.replacing("\"server\"", with: "\"../x\""),
            good.replacing("\"server\"", with: "\"a@b\""), good.replacing("tcp://*:7601", with: "tcp://*:0"),
            good.replacing("tcp://*:7601", with: "tcp://10.0.0.2:7601"), good.replacing("/t0", with: "/t\\u0000"),
            good.replacing("tcp://*:7601", with: "ipc:///tmp/x"), good.replacing("tcp://*:7601", with: "tcp://*:70000"),
            good.replacing("\"aa\"", with: "\"ab\""), good.replacing("\"max_bytes\": 9", with: "\"max_bytes\": -1"),
            good.replacing("\"format\": 1", with: "\"format\": 2"),
            String(decoding: announcement(topics: 1025), as: UTF8.self),
            String(repeating: " ", count: Announcement.maximumSize) + good,
        ]
        var machine = try peer()
        for (index, text) in bad.enumerated() {
            let effects = Array(text.utf8).withUnsafeBytes {
                machine.announced($0, bootID: 0xaa, revision: 1, now: Int64(index) * second)
            }
            #expect(machine.announcement == nil && !effects.contains(.changed), "\(text.prefix(200))")
        }
        // All are malformed except the empty one, which is a heartbeat.
        #expect(machine.malformed == UInt64(bad.count - 1))
        var random = SeededRandom(seed: 2)
        for round in 0..<500 {
            var bytes = announcement()
            for _ in 0..<3 { bytes[Int.random(in: bytes.indices, using: &random)] = random.next() }
            _ = bytes.withUnsafeBytes {
                machine.announced($0, bootID: 0xaa, revision: 1, now: Int64(100 + round) * second)
            }
        }
    }

    // MARK: Endpoints and keys

    @Test func endpointsAreNumericAndTopicsUseTheNextPort() throws {
        let usual = try TCPEndpoint("tcp://192.168.1.10:7600")
        #expect(usual.address == "192.168.1.10" && usual.port == 7600 && usual.publisherPort == 7601)
        let split = try TCPEndpoint("tcp://[fd00::1]:7600,8000")
        #expect(split.address == "fd00::1" && split.publisherPort == 8000)
        #expect(split.description == "tcp://[fd00::1]:7600,8000" && usual.description == "tcp://192.168.1.10:7600")
        // The format in which ZeroMQ's events report the connection.
        #expect(try TCPEndpoint("tcp://[FD00:0::0:1]:7600,8000") == split)
        #expect(try TCPEndpoint("tcp://*:0").publisherPort == 0)
        for text in [
            "", "tcp://", "tcp://:", "tcp://a:b", "tcp://:7600", "tcp://host:7600", "tcp://1.2.3:7600", "tcp://1.2.3.4",
            "tcp://1.2.3.4:65535", "tcp://1.2.3.4:65536", "tcp://1.2.3.4:+5", "tcp://1.2.3.4:1,1", "tcp://1.2.3.4:1,",
            "tcp://1.2.3.4:1,2,3", "ipc://1.2.3.4:7600", "tcp://fd00::1:7600", "tcp://[1.2.3.4]:7600", "tcp://[]:1",
            "1.2.3.4:7600", "tcp://" + String(repeating: "1", count: 100_000) + ":1",
        ] {
            #expect(busError { _ = try TCPEndpoint(text) }?.code == .invalidArgument, "\(text.prefix(60))")
        }
    }

    @Test func keysSurviveTheRoundTripAndTheSecretIsNeverPrinted() throws {
        let folder = try TemporaryFolder()
        let (secret, open) = (folder.path + "/a.key", folder.path + "/a.pub")
        let pair = try CurveKeyPair.generate()
        try pair.write(secretTo: secret, publicTo: open, replacing: false)
        #expect(try CurveKeyPair(contentsOf: secret).publicKey == pair.publicKey)
        #expect(try CurvePublicKey(contentsOf: open) == pair.publicKey)
        #expect(try CurvePublicKey(pair.publicKey.description) == pair.publicKey)
        var status = stat()
        stat(secret, &status)
        #expect(status.st_mode & 0o777 == 0o600)
        let text = try String(contentsOfFile: secret, encoding: .utf8).split(separator: "\n")[1]
        #expect(!"\(pair)".contains(text))
        var dumped = ""
        dump(pair, to: &dumped)
        #expect(!dumped.contains("secret") && dumped.count < 200)

        #expect(busError { try pair.write(secretTo: secret, publicTo: open, replacing: false) }?.code == .registry)
        let other = try CurveKeyPair.generate()
        try other.write(secretTo: secret, publicTo: open, replacing: true)
        #expect(try CurveKeyPair(contentsOf: secret).publicKey == other.publicKey)
        chmod(secret, 0o640)
        #expect(busError { _ = try CurveKeyPair(contentsOf: secret) }?.description.contains("chmod 600") == true)
        chmod(secret, 0o600)
        for content in ["", "short", String(repeating: "~", count: 40), "a\nb", String(repeating: "#", count: 40)] {
            try content.write(toFile: secret, atomically: false, encoding: .utf8)
            #expect(busError { _ = try CurveKeyPair(contentsOf: secret) }?.code == .invalidArgument, "\(content)")
        }
    }

    @Test func keyListHasNamesAndCommentsAndIsProtected() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/allowed"
        let keys = try (0..<3).map { _ in try CurveKeyPair.generate().publicKey }
        try "# those who may\n\(keys[0]) desk\n\n\(keys[1])\t# second\r\n#\n\(keys[2])".write(
            toFile: path, atomically: false, encoding: .utf8)
        chmod(path, 0o644)
        #expect(try CurvePublicKey.list(contentsOf: path) == keys)
        #expect(busError { _ = try CurvePublicKey(contentsOf: path) }?.description.contains("has 3") == true)
        chmod(path, 0o666)
        #expect(busError { _ = try CurvePublicKey.list(contentsOf: path) }?.code == .unsafeDirectory)
        chmod(path, 0o644)
        try "\(keys[0])\nnonsense".write(toFile: path, atomically: false, encoding: .utf8)
        #expect(busError { _ = try CurvePublicKey.list(contentsOf: path) }?.description.contains("line 2") == true)
    }
}
