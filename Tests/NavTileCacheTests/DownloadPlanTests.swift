import NavDigest
import NavGeo
import NavTileCache
import Testing

@Suite("Download order")
struct DownloadPlanTests {
    private typealias Outcome = Result<TileAnswer, TileSourceError>

    private static func tile(_ index: Int) -> TileID {
        TileID(zoom: 14, x: UInt32(index), y: 0) ?? TileID(containing: Coordinate(latitude: 0, longitude: 0), zoom: 14)
    }

    private static func demand(_ index: Int, _ tileset: String = "map", need: Double = 0, size: Int64? = 10)
        -> TileDemand
    {
        TileDemand(TileAddress(tileset, tile(index)), need: need, size: size)
    }

    private static func plan(_ change: (inout DownloadConfiguration) -> Void = { _ in }) -> DownloadPlan {
        var configuration = DownloadConfiguration()
        configuration.concurrency = 2
        change(&configuration)
        return DownloadPlan(configuration, sources: [("map", true), ("local", false)])
    }

    private static let predicted = DownloadOwner(.predicted, "drive")
    private static let region = DownloadOwner(.region, "home")

    private static func fetched(_ start: DownloadPlan.Start, bytes: Int = 10) -> Outcome {
        .success(fetched(start.key.address, bytes: bytes))
    }

    private static func fetched(_ address: TileAddress, bytes: Int) -> TileAnswer {
        let data = [UInt8](repeating: 1, count: bytes)
        let parts = ContentHash(of: data).map { [FetchedPart(.body, data: data, hash: $0)] } ?? []
        return .fetched(FetchedTile(address, edition: "", parts: parts, validators: Validators()))
    }

    private static func failed(_ code: TileSourceError.Code, retryAfter: Double? = nil) -> Outcome {
        .failure(TileSourceError(code, "a test", retryAfter: retryAfter))
    }

    private static func indices(_ starts: [DownloadPlan.Start]) -> [Int] { starts.map { Int($0.key.address.tile.x) } }

    /// Fetches everything, one tile at a time, and returns the order.
    private static func drain(_ plan: inout DownloadPlan, at now: Duration = .zero) -> [Int] {
        var order: [Int] = []
        var running = plan.starts(at: now)
        while !running.isEmpty {
            let start = running.removeFirst()
            order += indices([start])
            if let result = plan.finish(start.key, fetched(start), at: now) {
                plan.hold(result)
                plan.release(result)
            }
            running += plan.starts(at: now)
        }
        return order
    }

    @Test("Requested tiles come first, then those the vehicle needs soonest, then regions")
    func order() {
        var plan = Self.plan()
        plan.setDemands((0..<3).map { Self.demand(20 + $0, need: Double($0)) }, for: Self.region)
        plan.setDemands(
            [Self.demand(2, need: 9), Self.demand(1, need: 3), Self.demand(3, need: .nan)], for: Self.predicted)
        plan.request(Self.demand(9))
        #expect(Self.drain(&plan) == [9, 1, 2, 3, 20, 21, 22])
    }

    @Test("Awaited tiles are fetched two at a time before tiles needed later, but not before requested ones")
    func awaited() {
        var plan = Self.plan { $0.concurrency = 4 }
        let awaited = (1...3).map { TileDemand(TileAddress("map", Self.tile($0)), need: Double($0), isAwaited: true) }
        plan.setDemands(awaited + [Self.demand(4, need: 6), Self.demand(5, need: 7)], for: Self.predicted)
        plan.setDemands([Self.demand(20)], for: Self.region)
        plan.setDemands([Self.demand(30, "local")], for: DownloadOwner(.predicted, "other"))
        let first = plan.starts(at: .zero)
        #expect(Self.indices(first).sorted() == [1, 2, 30])
        plan.request(Self.demand(9))
        #expect(Self.indices(plan.starts(at: .zero)) == [9])
        for start in first where start.key.address.tileset == "map" {
            _ = plan.finish(start.key, start.demand.need == 1 ? Self.failed(.server) : Self.fetched(start), at: .zero)
        }
        // One of the downloads failed: until its retry, other tiles may use the network.
        let third = plan.starts(at: .zero)
        #expect(Self.indices(third) == [3])
        for start in third { _ = plan.finish(start.key, Self.fetched(start), at: .zero) }
        #expect(Self.indices(plan.starts(at: .zero)) == [4, 5, 20])
    }

    @Test("An awaited tile that does not arrive delays others only briefly")
    func awaitedTimesOut() {
        var plan = Self.plan { $0.concurrency = 4 }
        let awaited = (1...2).map { TileDemand(TileAddress("map", Self.tile($0)), need: 9, isAwaited: true) }
        plan.setDemands(awaited + [Self.demand(4, need: 1)], for: Self.predicted)
        #expect(Self.indices(plan.starts(at: .zero)) == [1, 2])
        #expect(plan.wake(at: .zero) == .seconds(10) && plan.starts(at: .seconds(9)).isEmpty)
        #expect(Self.indices(plan.starts(at: .seconds(10))) == [4] && plan.wake(at: .seconds(10)) == nil)
    }

    @Test("A due tile that does not fit starts as soon as there is room, without polling")
    func dueWithoutRoom() throws {
        var plan = Self.plan {
            $0.concurrency = 4
            $0.undeliveredBytes = 100
        }
        plan.setDemands([Self.demand(20)], for: Self.region)
        let begun = plan.starts(at: .zero)
        let failing = try #require(begun.first)
        _ = plan.finish(failing.key, Self.failed(.server), at: .zero)
        let due = try #require(plan.wake(at: .zero))
        plan.setDemands([Self.demand(1, size: 100), Self.demand(2, size: 100)], for: Self.predicted)
        let soonest = plan.starts(at: .zero)
        let first = try #require(soonest.first)
        #expect(plan.starts(at: due).isEmpty && plan.wake(at: due) == nil)
        let finished = plan.finish(first.key, Self.fetched(first, bytes: 100), at: due)
        let result = try #require(finished)
        plan.hold(result)
        #expect(plan.starts(at: due).isEmpty && plan.wake(at: due) == nil)
        plan.release(result)
        #expect(Self.indices(plan.starts(at: due)) == [2])
    }

    @Test("A replaced set drops pending tiles, and the results of running downloads are discarded")
    func replaced() {
        var plan = Self.plan()
        plan.setDemands((0..<10).map { Self.demand($0, need: Double($0)) }, for: Self.predicted)
        let running = plan.starts(at: .zero)
        #expect(Self.indices(running) == [0, 1])
        plan.setDemands([Self.demand(1), Self.demand(7, need: 1)], for: Self.predicted)
        let first = plan.finish(running[0].key, Self.fetched(running[0]), at: .zero)
        #expect(first?.owners == [])
        #expect(Self.indices(plan.starts(at: .zero)) == [7])
        let second = plan.finish(running[1].key, Self.fetched(running[1]), at: .zero)
        #expect(second?.owners == [Self.predicted])
        #expect(plan.starts(at: .zero).isEmpty)
    }

    @Test("A tile with several owners is fetched once and delivered to all")
    func shared() {
        var plan = Self.plan()
        plan.setDemands([Self.demand(1)], for: Self.region)
        plan.setDemands([Self.demand(1)], for: Self.predicted)
        let starts = plan.starts(at: .zero)
        #expect(starts.count == 1)
        let result = plan.finish(starts[0].key, Self.fetched(starts[0]), at: .zero)
        #expect(result?.owners == [Self.predicted, Self.region])
        #expect(plan.starts(at: .zero).isEmpty)
    }

    @Test("A tile that awaits its reader is not fetched again when a set is replaced")
    func heldCounts() throws {
        var plan = Self.plan()
        plan.setDemands([Self.demand(1)], for: Self.predicted)
        let start = plan.starts(at: .zero)[0]
        let finished = plan.finish(start.key, Self.fetched(start), at: .zero)
        let result = try #require(finished)
        plan.hold(result)
        plan.setDemands([Self.demand(1)], for: Self.predicted)
        #expect(plan.starts(at: .zero).isEmpty)
        plan.release(result)
        plan.setDemands([Self.demand(1)], for: Self.predicted)
        #expect(plan.starts(at: .zero).count == 1)
    }

    @Test("A held tile does not count as fetched for another tileset")
    func heldOfAnotherTileset() throws {
        var plan = Self.plan()
        plan.setDemands([Self.demand(1)], for: Self.predicted)
        let start = plan.starts(at: .zero)[0]
        let finished = plan.finish(start.key, Self.fetched(start), at: .zero)
        plan.hold(try #require(finished))
        plan.setDemands([Self.demand(1, "local")], for: Self.predicted)
        #expect(plan.starts(at: .zero).map(\.key.address.tileset) == ["local"])
    }

    @Test(
        "A failing source counts as unreachable only if it does not respond",
        arguments: [(TileSourceError.Code.unreachable, true), (.timedOut, true), (.server, false), (.mismatch, false)])
    func unreachable(code: TileSourceError.Code, isUnreachable: Bool) throws {
        var plan = Self.plan { $0.failuresToOpen = 1 }
        plan.setDemands([Self.demand(1)], for: Self.predicted)
        let start = plan.starts(at: .zero)[0]
        _ = plan.finish(start.key, Self.failed(code), at: .zero)
        let condition = try #require(plan.conditions.first { $0.tileset == "map" })
        #expect(condition.reachability == .offline && condition.isUnreachable == isUnreachable)
    }

    @Test("A failed tile is retried with doubling pauses and then fails, without delaying others")
    func retries() throws {
        var plan = Self.plan {
            $0.retries = 3
            $0.failuresToOpen = 100
            $0.concurrency = 1
        }
        plan.setDemands([Self.demand(1), Self.demand(2, need: 1)], for: Self.predicted)
        var now = Duration.zero
        var pauses: [Double] = []
        var start = plan.starts(at: now)[0]
        for attempt in 1...3 {
            #expect(start.attempt == attempt)
            #expect(plan.finish(start.key, Self.failed(.server), at: now) == nil)
            if attempt == 1 {
                let other = plan.starts(at: now)[0]
                #expect(Self.indices([other]) == [2])
                _ = plan.finish(other.key, Self.fetched(other), at: now)
            }
            let due = try #require(plan.wake(at: now))
            pauses.append((due - now) / .seconds(1))
            #expect(plan.starts(at: due - .milliseconds(1)).isEmpty)
            now = due
            start = plan.starts(at: now)[0]
        }
        for (pause, longest) in zip(pauses, [1.0, 2, 4]) { #expect(pause >= longest / 2 && pause <= longest) }
        let result = plan.finish(start.key, Self.failed(.server), at: now)
        #expect(result?.attempts == 4)
        guard case .failure? = result?.outcome else { throw TileSourceError(.system, "no failure") }
        // A new demand during the cooldown fails at once, without a request.
        plan.setDemands([Self.demand(1)], for: Self.predicted)
        #expect(plan.starts(at: now).isEmpty)
        #expect(plan.takeEarly().map(\.attempts) == [0])
        // A caller's request, or a demand after the cooldown, starts a download.
        plan.request(Self.demand(1))
        #expect(plan.starts(at: now).count == 1)
    }

    @Test("A failed tile reports its cooldown, which a caller's request ends")
    func forgottenFailures() throws {
        var plan = Self.plan { $0.failureCooldown = 100 }
        plan.setDemands([Self.demand(1)], for: Self.region)
        let start = plan.starts(at: .zero)[0]
        #expect(plan.finish(start.key, Self.failed(.redirected), at: .zero)?.attempts == 1)
        plan.setDemands([Self.demand(1)], for: Self.region)
        #expect(plan.starts(at: .seconds(40)).isEmpty)
        let early = try #require(plan.takeEarly().first)
        guard case .failure(let error) = early.outcome else { throw TileSourceError(.system, "no failure") }
        #expect(early.attempts == 0 && error.code == .redirected && error.retryAfter == 60)
        plan.forgetFailures(of: ["local"])
        plan.setDemands([Self.demand(1)], for: Self.region)
        #expect(plan.starts(at: .seconds(40)).isEmpty && plan.takeEarly().count == 1)
        plan.forgetFailures(of: ["map"])
        plan.setDemands([Self.demand(1)], for: Self.region)
        #expect(plan.starts(at: .seconds(40)).count == 1)
    }

    @Test("Equal seeds give equal pauses, different seeds different ones")
    func seeds() {
        let pause = { (seed: UInt64) -> Duration? in
            var plan = Self.plan { $0.seed = seed }
            plan.setDemands([Self.demand(1)], for: Self.predicted)
            _ = plan.finish(plan.starts(at: .zero)[0].key, Self.failed(.server), at: .zero)
            return plan.wake(at: .zero)
        }
        #expect(pause(1) == pause(1))
        #expect(pause(1) != pause(2))
    }

    @Test("An unreachable source is paused; its tiles wait and do not fail")
    func outage() throws {
        var plan = Self.plan {
            $0.retries = 1
            $0.failuresToOpen = 2
        }
        plan.setDemands((0..<4).map { Self.demand($0, need: Double($0)) }, for: Self.region)
        var now = Duration.zero
        for start in plan.starts(at: now) { #expect(plan.finish(start.key, Self.failed(.unreachable), at: now) == nil) }
        #expect(plan.starts(at: now).isEmpty)
        #expect(plan.conditions.last?.reachability == .offline)
        for rest in [5.0, 10, 20, 40, 80, 120, 120] {
            now = try #require(plan.wake(at: now))
            let trials = plan.starts(at: now)
            #expect(trials.count == 1, "one request tests whether the source has recovered")
            #expect(plan.finish(trials[0].key, Self.failed(.unreachable), at: now) == nil)
            let next = try #require(plan.wake(at: now))
            #expect(next - now == .seconds(min(rest * 2, 120)))
        }
        now = try #require(plan.wake(at: now))
        #expect(Self.drain(&plan, at: now).sorted() == [0, 1, 2, 3])
        #expect(plan.conditions.last?.reachability == .online)
    }

    @Test("Retry-After is honoured within a limit")
    func retryAfter() throws {
        var plan = Self.plan { $0.longestRetryAfter = 100 }
        plan.setDemands([Self.demand(1)], for: Self.predicted)
        let start = plan.starts(at: .zero)[0]
        _ = plan.finish(start.key, Self.failed(.rateLimited, retryAfter: 50), at: .zero)
        #expect(plan.wake(at: .zero) == .seconds(50))
        let again = plan.starts(at: .seconds(50))[0]
        _ = plan.finish(again.key, Self.failed(.rateLimited, retryAfter: 1e12), at: .seconds(50))
        #expect(plan.wake(at: .seconds(50)) == .seconds(150))
    }

    @Test("Continuous requests are fetched in order, and a failed one is retried after them")
    func continuousRequests() throws {
        var plan = Self.plan()
        plan.request(Self.demand(0))
        var running = plan.starts(at: .zero)
        var order = Self.indices(running)
        for index in 1...5_000 {
            // A request is always pending, so earlier requests are only dropped once there are many.
            plan.request(Self.demand(index))
            let starts = plan.starts(at: .zero)
            order += Self.indices(starts)
            running += starts
            let done = running.removeFirst()
            let result = plan.finish(done.key, index == 1 ? Self.failed(.server) : Self.fetched(done), at: .zero)
            #expect((result == nil) == (index == 1))
        }
        #expect(order == Array(0...5_000))
        for start in running { _ = plan.finish(start.key, Self.fetched(start), at: .zero) }
        let due = try #require(plan.wake(at: .zero))
        let again = plan.starts(at: due)
        #expect(Self.indices(again) == [0] && again.first?.attempt == 2)
        for start in again { _ = plan.finish(start.key, Self.fetched(start), at: due) }
        #expect(plan.starts(at: due).isEmpty && plan.wake(at: due) == nil)
    }

    @Test("A permanent failure is reported at once")
    func permanentFailure() throws {
        var plan = Self.plan()
        for code in [.unauthorized, .tooLarge, .refused, .redirected, .editionChanged] as [TileSourceError.Code] {
            plan.setDemands([], for: Self.predicted)
            plan.setDemands([Self.demand(code.rawValue.count)], for: Self.predicted)
            let start = try #require(plan.starts(at: .seconds(1_000 * code.rawValue.count)).first)
            #expect(plan.finish(start.key, Self.failed(code), at: .seconds(1_000 * code.rawValue.count)) != nil)
        }
    }

    @Test(
        "Offline permits only local sources, metered excludes regions, and paused permits only requested tiles"
    )
    func network() {
        var plan = Self.plan { $0.concurrency = 10 }
        plan.setDemands([Self.demand(1), Self.demand(2, "local")], for: Self.predicted)
        plan.setDemands([Self.demand(3), Self.demand(4, "local")], for: Self.region)
        plan.isPaused = true
        #expect(plan.starts(at: .zero).isEmpty)
        plan.request(Self.demand(5))
        #expect(Self.indices(plan.starts(at: .zero)) == [5])
        plan.isPaused = false
        plan.network = .offline
        #expect(Self.indices(plan.starts(at: .zero)) == [2, 4])
        #expect(plan.obstacle("map", at: .zero)?.code == .offline)
        #expect(plan.obstacle("local", at: .zero) == nil)
        plan.network = .metered
        #expect(Self.indices(plan.starts(at: .zero)) == [1])
        plan.network = .unmetered
        #expect(Self.indices(plan.starts(at: .zero)) == [3])
    }

    @Test("Downloads cancelled by the network mode are fetched later without counting as attempts")
    func cancelledByNetworkMode() {
        var plan = Self.plan { $0.retries = 0 }
        plan.setDemands([Self.demand(1)], for: Self.predicted)
        let start = plan.starts(at: .zero)[0]
        plan.network = .offline
        #expect(plan.finish(start.key, Self.failed(.cancelled), at: .zero) == nil)
        #expect(plan.starts(at: .zero).isEmpty)
        plan.network = .unmetered
        #expect(plan.starts(at: .zero).map(\.attempt) == [1])
    }

    @Test("Downloads stay within the buffer limit, except a single large tile")
    func room() {
        var plan = Self.plan {
            $0.concurrency = 10
            $0.undeliveredBytes = 100
        }
        plan.setDemands((0..<6).map { Self.demand($0, need: Double($0), size: $0 == 0 ? 5_000 : 40) }, for: Self.region)
        let first = plan.starts(at: .zero)
        #expect(Self.indices(first) == [0])
        let huge = plan.finish(first[0].key, Self.fetched(first[0], bytes: 5_000), at: .zero)
        if let huge { plan.hold(huge) }
        #expect(plan.starts(at: .zero).isEmpty, "the buffer is full until the reader releases it")
        if let huge { plan.release(huge) }
        #expect(Self.indices(plan.starts(at: .zero)) == [1, 2])
    }

    @Test("A hundred thousand demands keep their order when replaced and drained")
    func many() {
        var plan = Self.plan { $0.concurrency = 8 }
        let demands = (0..<16_000).map { Self.demand($0, need: Double(($0 * 7_919) % 16_000)) }
        plan.setDemands(demands, for: Self.region)
        let order = Self.drain(&plan)
        #expect(order == demands.sorted { $0.need < $1.need }.map { Int($0.address.tile.x) })
    }
}
