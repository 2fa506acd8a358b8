import NavGeo
import NavGuidance
import NavMap
import NavRouting
import Testing

extension Town {
    /// A pass with a tunnel, a toll road, a toll booth and a border, 1 to 2 km apart, and no junction.
    static var pass: Town {
        var town = Town("A         B         C         D         E         F         G         H", scale: 100)
        town.road("AB", "Pass Road", country: "AT")
        town.road("BC", "Pass Road", flags: .tunnel, country: "AT")
        town.road("CD", "Pass Road", country: "AT")
        town.road("DEF", "Pass Road", flags: .toll, country: "AT")
        town.road("FG", "Pass Road", country: "AT")
        town.road("GH", "Pass Road", country: "CH")
        town.nodeFlags["F"] = .tollBooth
        return town
    }
}

@Suite("Notices")
struct NoticeTests {
    private func options(_ topics: RouteNotice.Topics) -> GuidanceOptions {
        var wording = Wording()
        wording.notices = topics
        return GuidanceOptions(wording)
    }

    /// Returns the announcements of a drive at 14 m/s.
    private func told(_ guidance: RouteGuidance) -> [SpokenInstruction] {
        var trigger = InstructionTrigger(guidance)
        var told: [SpokenInstruction] = []
        let length = guidance.steps.last?.routeOffset ?? 0
        for offset in stride(from: 0, through: length, by: 14) {
            for case .spoken(let spoken) in trigger.update(offset: offset, speed: 14) { told.append(spoken) }
        }
        return told
    }

    @Test("A tunnel, a toll road, a booth and a border are announced in addition to the steps")
    func pass() throws {
        let guidance = try Town.pass.guidance("ABCDEFGH")
        let notices = guidance.notices
        #expect(guidance.maneuvers.map(\.type) == [.depart, .arrive])
        #expect(notices.map(\.kind) == [.tunnel, .tollRoad, .tollBooth, .border])
        #expect(notices.map { Int(($0.routeOffset / 100).rounded()) } == [10, 30, 50, 60])
        #expect(notices.map { $0.length.map { Int(($0 / 100).rounded()) } } == [10, 20, nil, nil])
        #expect(notices.map(\.country) == ["", "", "", "CH"] && notices.map(\.number) == [0, 1, 2, 3])
        #expect(
            notices.map { guidance.instruction($0) } == [
                "Tunnel of 1 kilometre", "Start of the toll road", "Toll booth", "Border crossing",
            ])
        let told = told(guidance).filter { $0.id.kind == .notice }
        #expect(told.map(\.id.notice) == [0, 1, 2, 3])
        for (spoken, notice) in zip(told, notices) {
            #expect(spoken.text.hasPrefix("In "))
            #expect(spoken.text.lowercased().hasSuffix(guidance.instruction(notice).lowercased()), "\(spoken.text)")
            #expect((500...1_000).contains(spoken.distance))
        }
    }

    @Test("Notices can be switched off by topic")
    func topics() throws {
        let town = Town.pass
        #expect(try town.guidance("ABCDEFGH", options: options([])).notices.isEmpty)
        let borders = try town.guidance("ABCDEFGH", options: options(.borders))
        #expect(borders.notices.map(\.kind) == [.border])
        let others = try town.guidance("ABCDEFGH", options: options([.tolls, .tunnels]))
        #expect(others.notices.map(\.kind) == [.tunnel, .tollRoad, .tollBooth])
    }

    @Test("Short tunnels, short passages through a country and features at the route's start are not announced")
    func left() throws {
        var town = Town("A    B    C    D    E    F", scale: 80)
        town.road("AB", "High Street", flags: [.tunnel, .toll], country: "AT")
        town.road("BC", "High Street", country: "AT")
        town.road("CD", "High Street", flags: .tunnel, country: "DE")
        town.road("DEF", "High Street", country: "AT")
        #expect(try town.guidance("ABCDEF").notices.isEmpty)
        var sea = Town("A    B    C    D", scale: 200)
        sea.road("AB", "Quay", country: "FI")
        sea.road("BC", "Sea Line", roadClass: .ferry, flags: .toll, speed: 5, country: "EE")
        sea.road("CD", "Island Road", country: "EE")
        #expect(try sea.guidance("ABCD").notices.isEmpty)
    }

    @Test("A toll road is announced once; of one that begins at a booth, only the booth is announced")
    func booths() throws {
        var town = Town("A         B  C    D    E         F", scale: 100)
        town.road("ABC", "High Street")
        town.road("CD", "High Street", flags: .toll)
        town.road("DE", "High Street")
        town.road("EF", "High Street", flags: .toll)
        #expect(try town.guidance("ABCDEF").notices.map(\.kind) == [.tollRoad])
        town.nodeFlags["B"] = .tollBooth
        #expect(try town.guidance("ABCDEF").notices.map(\.kind) == [.tollBooth])
    }

    @Test(
        "A notice neither delays nor changes an announcement of a maneuver", arguments: [0.0, 60, 200, 400, 700, 1_500])
    func quiet(gap: Double) throws {
        var town = Town("A")
        town.place("B", rightOf: "A", 3_000)
        town.place("C", rightOf: "B", 600)
        town.place("D", rightOf: "C", max(gap, 1))
        town.place("E", below: "D", 50)
        town.place("F", below: "E", 1_500)
        town.place("X", rightOf: "D", 500)
        town.place("Y", rightOf: "E", 500)
        town.road("AB", "High Street")
        town.road("BC", "High Street", flags: .tunnel)
        town.road("CDX", "High Street")
        town.road("DE", "Mill Lane")
        town.road("EF", "Mill Lane", flags: .tunnel)
        town.road("EY", "Church Street")
        let told = told(try town.guidance("ABCDEF"))
        let plain = self.told(try town.guidance("ABCDEF", options: options([])))
        #expect(told.contains { $0.id.kind == .notice })
        #expect(told.filter { $0.id.kind != .notice } == plain)
    }

    @Test("A notice has its own id and may come at any place among the announcements of its step")
    func ids() {
        let notice = InstructionID(leg: 0, step: 2, kind: .notice, notice: 4)
        let next = InstructionID(leg: 0, step: 2, kind: .notice, notice: 5)
        #expect(notice.isBefore(next) && !next.isBefore(notice) && notice != next)
        for kind in InstructionID.Kind.allCases where kind != .notice {
            let other = InstructionID(leg: 0, step: 2, kind: kind)
            #expect(!notice.isBefore(other) && !other.isBefore(notice))
        }
        #expect(InstructionID(leg: 0, step: 1, kind: .now).isBefore(notice))
        #expect(notice.isBefore(InstructionID(leg: 0, step: 3, kind: .far)))
        #expect(notice.description == "0/2/notice/4")
    }
}
