import NavGeo
import NavGuidance
import NavMap
import NavRouting
import Testing

/// Drives along a route at constant speed and returns the announcements with their distances to the maneuver, metres.
private func drive(
    _ guidance: RouteGuidance, speed: Double, from start: Double = 0, to end: Double = .infinity, step: Double? = nil,
    arrivalRadius: Double? = nil
) -> (spoken: [SpokenInstruction], visual: [VisualInstruction]) {
    var trigger = InstructionTrigger(guidance)
    trigger.arrivalRadius = arrivalRadius
    var spoken: [SpokenInstruction] = []
    var visual: [VisualInstruction] = []
    let length = guidance.steps.last?.routeOffset ?? 0
    var offset = start
    func note(_ due: [Instruction]) {
        for instruction in due {
            switch instruction {
            case .spoken(let value): spoken.append(value)
            case .visual(let value): visual.append(value)
            }
        }
    }
    while offset < min(end, length) + (step ?? speed) {
        note(trigger.update(offset: min(offset, length), speed: speed))
        offset += step ?? speed
    }
    if end >= length, let last = guidance.legs.indices.last { note(trigger.arrive(leg: last)) }
    return (spoken, visual)
}

@Suite("Instruction timing")
struct InstructionTriggerTests {
    /// Returns 3 km of High Street, a right turn and 1 km of Mill Lane.
    private func longTown(speed: Float = 14, roadClass: RoadClass = .secondary) -> Town {
        var town = Town(
            """
            A              B    X
                           |
                           C
            """, scale: 200)
        town.road("AB", "High Street", roadClass: roadClass, speed: speed)
        town.road("BX", "Low Street", roadClass: roadClass, speed: speed)
        town.road("BC", "Mill Lane", roadClass: roadClass, speed: speed)
        return town
    }

    @Test("A turn is announced in advance, shortly before and at the maneuver")
    func sequence() throws {
        let told = drive(try longTown().guidance("ABC"), speed: 14).spoken
        #expect(
            told.map(\.text) == [
                "Head east on High Street",
                "In 1 kilometre, turn right onto Mill Lane",
                "In 200 metres, turn right onto Mill Lane",
                "Turn right onto Mill Lane",
                "In 200 metres, you will arrive at your destination",
                "You have arrived at your destination",
            ])
        #expect(
            told.map(\.id.description) == [
                "0/0/depart", "0/0/prepare", "0/0/near", "0/0/now", "0/1/near", "0/1/now",
            ])
    }

    @Test("A faster vehicle gets the announcement earlier", arguments: [(5.0, 75.0), (10.0, 150.0), (20.0, 300.0)])
    func speed(speed: Double, distance: Double) throws {
        let told = drive(try longTown().guidance("ABC"), speed: speed, step: 1).spoken
        let near = try #require(told.first { $0.id.kind == .near && $0.id.step == 0 })
        #expect(near.distance <= distance && near.distance > distance - 2)
        // Sparser fixes delay the announcement, but it is due at the same place.
        let late = try #require(
            drive(try longTown().guidance("ABC"), speed: speed, step: 0.7 * speed).spoken.first {
                $0.id.kind == .near && $0.id.step == 0
            })
        #expect(abs(late.triggerDistance - distance) < 1e-6 && abs(near.triggerDistance - distance) < 1e-6)
        #expect(late.distance <= distance)
    }

    @Test("The next maneuver is repeated on request with the remaining distance, but not twice in a row")
    func repeatedOnRequest() throws {
        let guidance = try longTown().guidance("ABC")
        var trigger = InstructionTrigger(guidance)
        _ = trigger.update(offset: 0, speed: 14)
        let turn = try #require(guidance.steps.dropFirst().first).maneuver.routeOffset
        for (distance, text) in [
            (2_500.0, "In 2.5 kilometres, turn right onto Mill Lane"),
            (400, "In 400 metres, turn right onto Mill Lane"), (5, "Turn right onto Mill Lane"),
        ] {
            let repeated = trigger.repeated(offset: turn - distance, speed: 14)
            let again = try #require(repeated)
            #expect(again.text == text && again.isRepeat && abs(again.distance - distance) < 1e-6)
            #expect(again.triggerDistance == again.distance)
        }
        let end = try #require(guidance.steps.last).routeOffset
        let arrival = trigger.repeated(offset: end - 150, speed: 14)
        #expect(arrival?.text == "In 150 metres, you will arrive at your destination")
        for offset in [end, .nan] {
            let none = trigger.repeated(offset: offset, speed: 14)
            #expect(none == nil)
        }

        // The repetition is requested 230 m before the turn; the announcement due at 210 m would repeat it.
        func spoken(asksAt asked: Double?) -> [InstructionID.Kind] {
            var trigger = InstructionTrigger(guidance)
            var kinds: [InstructionID.Kind] = []
            for remaining in stride(from: 300.0, through: 190, by: -10) {
                if remaining == asked { _ = trigger.repeated(offset: turn - remaining, speed: 14) }
                for case .spoken(let spoken) in trigger.update(offset: turn - remaining, speed: 14) {
                    kinds.append(spoken.id.kind)
                }
            }
            return kinds
        }
        #expect(spoken(asksAt: nil).contains(.near) && !spoken(asksAt: 230).contains(.near))
    }

    @Test("On a fast road the announcement is earlier, and the distance after a maneuver is announced")
    func fastRoad() throws {
        var town = longTown(speed: 30, roadClass: .trunk)
        town.road("CD", "")
        let told = drive(try longTown(speed: 30).guidance("ABC"), speed: 30, from: 100).spoken
        #expect(
            told.prefix(4).map(\.text) == [
                "Continue on High Street for 2.9 kilometres",
                "In 2.5 kilometres, turn right onto Mill Lane",
                "In 1.2 kilometres, turn right onto Mill Lane",
                "In 450 metres, turn right onto Mill Lane",
            ])
    }

    @Test("Each instruction is given once, even if the position jitters")
    func once() throws {
        let guidance = try longTown().guidance("ABC")
        var trigger = InstructionTrigger(guidance)
        var ids: [InstructionID] = []
        for tick in 0..<400 {
            let offset = Double(tick) * 10 + (tick % 3 == 0 ? -35 : 0)
            ids += trigger.update(offset: max(offset, 0), speed: 10).map(\.id)
        }
        for _ in 0..<2 { ids += trigger.arrive(leg: 0).map(\.id) }
        #expect(Set(ids).count == ids.count)
        #expect(ids.filter { $0.kind == .visual }.count == 3)
    }

    @Test("A jump skips the instructions that it passes")
    func jump() throws {
        let guidance = try longTown().guidance("ABC")
        var trigger = InstructionTrigger(guidance)
        _ = trigger.update(offset: 0, speed: 14)
        let turn = guidance.steps[1].routeOffset
        #expect(trigger.update(offset: turn - 50, speed: 14).map(\.id.description) == ["0/0/now"])
        #expect(trigger.update(offset: turn + 195, speed: 14).map(\.id.description) == ["0/1/visual", "0/1/near"])
        #expect(trigger.update(offset: turn - 100, speed: 14) == [])
    }

    @Test("A start in the middle of the route gives the current banner and the next due announcement")
    func midRoute() throws {
        let guidance = try longTown().guidance("ABC")
        let turn = guidance.steps[1].routeOffset
        var trigger = InstructionTrigger(guidance)
        let first = trigger.update(offset: turn - 500, speed: 14)
        #expect(first.map(\.id.description) == ["0/0/visual", "0/0/prepare"])
        guard case .spoken(let spoken) = first.last else {
            Issue.record("nothing was announced")
            return
        }
        #expect(spoken.text == "In 500 metres, turn right onto Mill Lane")
    }

    @Test("A NaN position gives no instruction, and an unknown speed defaults to the road's")
    func badInput() throws {
        let guidance = try longTown().guidance("ABC")
        var trigger = InstructionTrigger(guidance)
        #expect(trigger.update(offset: .nan, speed: 14) == [])
        #expect(trigger.update(offset: .infinity, speed: 14) == [])
        let turn = guidance.steps[1].routeOffset
        for speed in [nil, Double.nan, -1, Double.infinity] {
            var other = InstructionTrigger(guidance)
            #expect(other.update(offset: turn - 205, speed: speed).map(\.id.kind) == [.visual, .near])
        }
        #expect(trigger.update(offset: -1e300, speed: 1e300).map(\.id.kind) == [.visual, .depart])
    }

    @Test("Close turns are announced together, and the second is not repeated right after")
    func chain() throws {
        var town = Town(
            """
            A              B    X

                           C    D
                           |
                           Y
            """, scale: 30)
        town.road("ABX", "High Street")
        town.road("BCY", "Mill Lane")
        town.road("CD", "Side Lane")
        let told = drive(try town.guidance("ABCD"), speed: 14).spoken.map(\.text)
        #expect(
            told == [
                "Head east on High Street",
                "In 400 metres, turn right onto Mill Lane",
                "In 200 metres, turn right onto Mill Lane, then turn left onto Side Lane",
                "Turn right onto Mill Lane, then turn left onto Side Lane",
                "You will arrive at your destination",
                "You have arrived at your destination",
            ])
        let banners = drive(try town.guidance("ABCD"), speed: 14).visual
        #expect(banners.map(\.primary.text).prefix(2) == ["Mill Lane", "Side Lane"])
        #expect(banners[0].sub?.text == "Side Lane")
    }

    @Test("A turn is announced after the last road that could be mistaken for it")
    func ambiguousSideRoad() throws {
        var town = Town(
            """
            A                   P   B   X

                                Q   C
            """, scale: 10)
        town.road("APBX", "High Street", speed: 20)
        town.road("PQ", "First Lane")
        town.road("BC", "Second Lane")
        let guidance = try town.guidance("APBC")
        let told = drive(guidance, speed: 12, step: 1).spoken
        let now = try #require(told.first { $0.id.kind == .now && $0.id.step == 0 })
        #expect(now.distance <= 41 && now.distance > 38)
        #expect(now.text.hasPrefix("Turn right onto Second Lane"))
    }

    @Test("An ambiguous turn is announced in time, with its distance", arguments: [18.0, 25])
    func ambiguousAtSpeed(speed: Double) throws {
        var town = Town(
            """
            A                   P   B   X

                                Q   C
            """, scale: 10)
        town.road("APBX", "High Street", speed: 20)
        town.road("PQ", "First Lane")
        town.road("BC", "Second Lane")
        let told = drive(try town.guidance("APBC"), speed: speed).spoken
        let now = try #require(told.first { $0.id.kind == .now && $0.id.step == 0 })
        #expect(now.distance >= 2 * speed && now.distance > 41)
        #expect(now.text.hasPrefix("In ") && now.text.contains(" metres, turn right onto Second Lane"))
    }

    @Test("A maneuver is announced at least 2 s before it, or together with the one before")
    func inTime() throws {
        for gap in stride(from: 20, through: 200, by: 10) {
            for speed in stride(from: 4.0, through: 24, by: 4) {
                var town = Town(
                    """
                    A              B    X
                    """, scale: 40)
                town.road("ABX", "High Street", speed: Float(speed))
                town.place("C", below: "B", Double(gap))
                town.place("Y", below: "C", 100)
                town.place("D", rightOf: "C", 400)
                town.road("BCY", "Mill Lane", speed: Float(speed))
                town.road("CD", "Side Lane", speed: Float(speed))
                let told = drive(try town.guidance("ABCD"), speed: speed).spoken
                for step in 0...1 {
                    let name = step == 0 ? "Mill Lane" : "Side Lane"
                    let now = told.first { $0.id.kind == .now && $0.id.step == step }
                    let then = told.contains {
                        $0.id.step == step - 1 && $0.text.contains("then turn left onto \(name)")
                    }
                    #expect(now.map { $0.distance >= 2 * speed } ?? then, "\(gap) m at \(speed) m/s: \(told)")
                }
            }
        }
    }

    @Test("The same announcement of a maneuver is not repeated within 8 s")
    func repeats() throws {
        for gap in stride(from: 20, through: 600, by: 20) {
            for speed in [5.0, 9, 14, 22] {
                var town = Town(
                    """
                    A              B    X
                    """, scale: 40)
                town.road("ABX", "High Street", speed: Float(speed))
                town.place("C", below: "B", Double(gap))
                town.place("Y", below: "C", 100)
                town.place("D", rightOf: "C", 400)
                town.road("BCY", "Mill Lane", speed: Float(speed))
                town.road("CD", "Side Lane", speed: Float(speed))
                let guidance = try town.guidance("ABCD")
                var trigger = InstructionTrigger(guidance)
                var last = -100.0
                for second in 0..<400 {
                    let offset = min(Double(second) * speed, guidance.steps.last?.routeOffset ?? 0)
                    for case .spoken(let spoken) in trigger.update(
                        offset: offset, speed: speed, at: Timestamp(nanoseconds: Int64(second) * 1_000_000_000))
                    where spoken.text.lowercased().contains("side lane") {
                        #expect(Double(second) - last >= 8, "\(gap) m at \(speed) m/s: \(spoken.text)")
                        last = Double(second)
                    }
                }
            }
        }
    }

    @Test(
        "No maneuver is announced twice within 8 s to an accelerating vehicle", arguments: [1.0, 1.5, 2.5], [1.0, 0.2])
    func repeatsWhileAccelerating(acceleration: Double, interval: Double) throws {
        for gap in stride(from: 40, through: 400, by: 10) {
            var town = Town(
                """
                A              B    X
                """, scale: 10)
            town.road("ABX", "High Street", speed: 14)
            town.place("C", below: "B", Double(gap))
            town.place("Y", below: "C", 100)
            town.place("D", rightOf: "C", 400)
            town.road("BCY", "Mill Lane", speed: 14)
            town.road("CD", "Side Lane", speed: 14)
            let guidance = try town.guidance("ABCD")
            let corner = guidance.steps[1].routeOffset
            var trigger = InstructionTrigger(guidance)
            var (seconds, offset, speed, last) = (0.0, 0.0, 4.0, -100.0)
            var isTold = false
            while offset < corner + Double(gap) {
                for case .spoken(let spoken) in trigger.update(
                    offset: offset, speed: speed, at: Timestamp(nanoseconds: Int64((seconds * 1e9).rounded())))
                where spoken.text.lowercased().contains("side lane") {
                    #expect(seconds - last >= 8, "\(gap) m: \(spoken.text)")
                    last = seconds
                    isTold = true
                }
                if offset >= corner { speed = min(speed + acceleration * interval, 14) }
                offset += speed * interval
                seconds += interval
            }
            #expect(isTold, "\(gap) m")
        }
    }

    @Test("Three turns in a few seconds are announced together")
    func row() throws {
        var town = Town(
            """
            A              B    X

                           C  D    Z

                           Y  E

                              F
            """, scale: 20)
        town.road("ABX", "High Street")
        town.road("BCY", "Mill Lane")
        town.road("CDZ", "Side Lane")
        town.road("DEF", "Back Lane")
        let told = drive(try town.guidance("ABCDEF"), speed: 10).spoken.map(\.text)
        let row = "Turn right onto Mill Lane, then turn left onto Side Lane, then turn right onto Back Lane"
        #expect(told.contains { $0.hasPrefix(row) }, "\(told)")
    }

    @Test("Distances use the units of the vehicle's country unless configured otherwise")
    func units() throws {
        var town = Town(
            """
            A              B    X
                           |
                           C
            """, scale: 200)
        town.road("ABX", "High Street", country: "GB")
        town.road("BC", "Mill Lane", country: "IE")
        for (units, inForce, turn, arrival) in [
            (DistanceUnits.ofCountry, DistanceUnits?.none, "In 200 yards", "In 200 metres"),
            (.metric, .metric, "In 200 metres", "In 200 metres"),
            (.imperial, .imperial, "In 200 yards", "In 700 feet"),
        ] {
            let guidance = try town.guidance("ABC", options: GuidanceOptions(Wording(units: units)))
            #expect(guidance.units == inForce)
            let told = drive(guidance, speed: 14).spoken.map(\.text)
            #expect(told.contains("\(turn), turn right onto Mill Lane"), "\(told)")
            #expect(told.contains("\(arrival), you will arrive at your destination"), "\(told)")
        }
    }

    @Test("No instruction to continue is given aboard a ferry")
    func aboard() throws {
        var town = Town("A                   B                   C                   D", scale: 200)
        town.road("AB", "Quay")
        town.road("BC", "Sea Line", roadClass: .ferry, speed: 5)
        town.road("CD", "Island Road")
        // The second route starts aboard, too far from the quay for a departure announcement.
        for (path, start) in [("ABCD", 0.0), ("BCD", 100)] {
            let told = drive(try town.guidance(path), speed: 5, from: start).spoken.map(\.text)
            #expect(told.filter { $0.hasPrefix("Continue") } == ["Continue on Island Road for 4 kilometres"], "\(told)")
        }
    }

    @Test("A clock change neither suppresses nor repeats announcements")
    func clock() throws {
        let guidance = try longTown().guidance("ABC")
        var trigger = InstructionTrigger(guidance)
        var ids: [InstructionID] = []
        for second in 0..<300 {
            let day = second > 150 ? -86_400 : second > 100 ? 86_400 : 0
            let stamp = Timestamp(nanoseconds: Int64(1_700_000_000 + second + day) * 1_000_000_000)
            ids += trigger.update(offset: Double(second) * 14, speed: 14, at: stamp).map(\.id)
        }
        #expect(Set(ids).count == ids.count)
        #expect(ids.contains { $0.kind == .now && $0.step == 0 } && ids.contains { $0.kind == .near && $0.step == 1 })
    }

    @Test("Announcements that do not fit into a short step are omitted, and a merge is announced once")
    func shortSteps() throws {
        var town = Town(
            """
            A              B    X


                           C    D
                           |
                           Y
            """, scale: 100)
        town.road("ABX", "High Street")
        town.road("BCY", "Mill Lane")
        town.road("CD", "Side Lane")
        let told = drive(try town.guidance("ABCD"), speed: 14).spoken
        #expect(told.filter { $0.id.step == 1 }.map(\.id.kind) == [.near, .now])

        var ramp = Town(
            """
            A              M    B
            R
            """, scale: 100)
        ramp.road("AMB", "", oneway: true, roadClass: .motorway, reference: "A 1")
        ramp.road("RM", "", oneway: true, roadClass: .motorway, flags: .link)
        #expect(
            drive(try ramp.guidance("RMB"), speed: 14).spoken.prefix(2).map(\.text) == [
                "Head east", "Merge left onto A 1",
            ])
    }

    @Test("The banner of a roundabout stays until its exit")
    func roundaboutBanner() throws {
        var town = Town(
            """
                     N

                     n
                  w     e     E
                     s

                     S
            """, scale: 20)
        town.road("senws", "", oneway: true, flags: .roundabout)
        town.road("Nn", "North Road")
        town.road("Ee", "East Road")
        town.road("Ss", "South Road")
        let guidance = try town.guidance("SsenN")
        let roundabout = guidance.steps[1].maneuver
        #expect(guidance.visual(at: roundabout.routeOffset + 5)?.primary.type == .roundabout)
        #expect(guidance.visual(at: roundabout.endOffset + 5)?.primary.type == .arrive)
    }

    @Test("At a stop, the current step depends on the leg")
    func legs() throws {
        let town = longTown()
        let guidance = RouteGuidance(route: try town.route("AB", "BC"), graph: try town.graph())
        #expect(guidance.legs.count == 2)
        let stop = guidance.steps[guidance.legs[1].lowerBound].routeOffset
        #expect(guidance.step(at: stop + 1, leg: 0) == 1)
        #expect(guidance.step(at: stop, leg: 1) == 2)
        var trigger = InstructionTrigger(guidance)
        // A vehicle that waits just before the stop has not arrived yet.
        #expect(
            trigger.update(offset: stop - 5, speed: 0, leg: 0).map(\.id.description) == ["0/0/visual", "0/0/near"])
        #expect(trigger.update(offset: stop, speed: 0, leg: 0) == [])
        #expect(trigger.arrive(leg: 0).map(\.id.description) == ["0/0/now", "0/1/visual"])
        #expect(trigger.update(offset: stop, speed: 0, leg: 0) == [])
        // The arrival announcement is not interrupted.
        #expect(trigger.update(offset: stop, speed: 0, leg: 1).map(\.id.description) == ["1/0/visual"])
        #expect(trigger.update(offset: stop + 14, speed: 14, leg: 1) == [])
        #expect(trigger.update(offset: stop + 45, speed: 14, leg: 1).map(\.id.description) == ["1/0/depart"])
    }

    /// Returns High Street, Mill Lane to the right after `first` metres, and Side Lane to the left after `second` more.
    private func corners(_ first: Double, _ second: Double, mill: String = "Mill Lane", side: String = "Side Lane")
        -> Town
    {
        var town = Town("A")
        town.place("B", rightOf: "A", first)
        town.place("X", rightOf: "B", 300)
        town.road("ABX", "High Street")
        town.place("C", below: "B", second)
        town.place("Y", below: "C", 300)
        town.place("D", rightOf: "C", 400)
        town.road("BCY", mill)
        town.road("CD", side)
        return town
    }

    @Test("A departure includes exactly the turns that leave no time for a separate announcement")
    func departure() throws {
        let far = drive(try corners(100, 300).guidance("ABCD"), speed: 11).spoken
        #expect(far.prefix(2).map(\.text) == ["Head east on High Street", "Turn right onto Mill Lane"])
        #expect(far.count > 1 && far[1].distance >= 22)

        let near = drive(try corners(40, 300).guidance("ABCD"), speed: 11).spoken.map(\.text)
        #expect(near.first == "Head east on High Street, then turn right onto Mill Lane")
        #expect(near.count { $0.contains("Mill Lane") } == 1)

        let row = drive(try corners(40, 40).guidance("ABCD"), speed: 11).spoken.map(\.text)
        #expect(
            row.first == "Head east on High Street, then turn right onto Mill Lane, then turn left onto Side Lane")
        #expect(row.count { $0.contains("Lane") } == 1)
    }

    @Test("An announcement that names a turn is not interrupted to add a later one")
    func uninterrupted() throws {
        let town = corners(
            300, 80, mill: "Saint Bartholomew Memorial Parkway", side: "Saint Catherine Memorial Parkway")
        let guidance = try town.guidance("ABCD")
        let turn = guidance.steps[1].routeOffset
        var trigger = InstructionTrigger(guidance)
        _ = trigger.update(offset: turn - 64, speed: 14)
        let repeated = trigger.repeated(offset: turn - 64, speed: 14)
        #expect(repeated?.text == "In 60 metres, turn right onto Saint Bartholomew Memorial Parkway")
        var told: [SpokenInstruction] = []
        for offset in stride(from: turn - 50, through: turn + 70, by: 14) {
            for case .spoken(let spoken) in trigger.update(offset: offset, speed: 14) { told.append(spoken) }
        }
        #expect(told.first?.text == "Turn left onto Saint Catherine Memorial Parkway")
        #expect(told.first.map { $0.distance >= 28 } == true)
    }

    @Test("A long announcement begins early enough to end at the turn")
    func longName() throws {
        var town = Town(
            """
            A                   P   B   X

                                Q   C
            """, scale: 10)
        town.road("APBX", "High Street", speed: 20)
        town.road("PQ", "First Lane")
        town.road("BC", "Saint Bartholomew of the Northern Meadows Memorial Parkway")
        let told = drive(try town.guidance("APBC"), speed: 12, step: 1).spoken
        let now = try #require(told.first { $0.id.kind == .now && $0.id.step == 0 })
        // At 15 characters per second.
        let words = "Turn right onto Saint Bartholomew of the Northern Meadows Memorial Parkway"
        #expect(now.distance > (0.5 + Double(words.count) / 15) * 12 - 2, "\(now.text)")
        // The side road is still ahead.
        #expect(now.text.hasPrefix("In "))
    }

    @Test("A turn after a large roundabout is not announced together with it")
    func longestRow() throws {
        var town = Town(
            """
               W     T     V
                     n
                  w     e     E
                     s

                     S
            """, scale: 60)
        town.road("senws", "", oneway: true, flags: .roundabout)
        town.road("nT", "North Road")
        town.road("WTV", "Top Street")
        town.road("Ee", "East Road")
        town.road("Ss", "South Road")
        let told = drive(try town.guidance("SsenTW"), speed: 14).spoken.map(\.text)
        #expect(told.contains { $0.contains("roundabout") } && told.contains { $0.contains("Top Street") })
        #expect(!told.contains { $0.contains(", then ") }, "\(told)")
    }

    @Test("An arrival is not announced in advance shortly before it")
    func arrivalRadius() throws {
        let guidance = try corners(300, 125).guidance("ABC")
        let (ahead, there) = ("You will arrive at your destination", "You have arrived at your destination")
        #expect(drive(guidance, speed: 10).spoken.suffix(2).map(\.text) == [ahead, there])
        let told = drive(guidance, speed: 10, arrivalRadius: 20).spoken.map(\.text)
        #expect(!told.contains(ahead) && told.last == there, "\(told)")
        // A vehicle that waits 30 m before the end has time for the announcement.
        var trigger = InstructionTrigger(guidance)
        trigger.arrivalRadius = 20
        let end = try #require(guidance.steps.last).routeOffset
        let waiting = trigger.update(offset: end - 30, speed: 0)
        #expect(waiting.contains { if case .spoken(let spoken) = $0 { spoken.text == ahead } else { false } })
    }
}
