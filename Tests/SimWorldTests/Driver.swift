import Glibc
import NavGeo
import NavMap
import NavNavigator
import NavRouting
import NavSimulation

/// A driver who follows the route like people do, but sometimes turns off, turns round, stops, reverses or leaves the
/// road.
struct Driver {
    /// The true position of the vehicle.
    struct Truth {
        var coordinate: Coordinate
        /// The direction of the vehicle's body, radians clockwise from north.
        var heading: Double
        /// m/s, negative backwards.
        var speed: Double
        /// Radians per second, clockwise.
        var turnRate: Double
    }

    /// The character of a driver.
    struct Character {
        /// The share of crossings at which the driver does not follow the route.
        var disobedience = 0.02
        /// Sudden decisions per minute: to turn round, stop, reverse or leave the road.
        var whims = 0.5
        /// The share of the usual speed.
        var pace = 1.0

        init(_ random: inout SeededRandom) {
            let wildness = random.uniform()
            disobedience = wildness < 0.4 ? 0.01 : 0.15 * wildness
            whims = wildness < 0.4 ? 0.1 : 1.2 * wildness
            pace = 0.8 + 0.5 * random.uniform()
        }
    }

    private enum Mood {
        case drives
        case stands(until: Double)
        /// Reverses along the road.
        case backs(until: Double)
        /// Drives off the road in a direction, then back.
        case strays(direction: Double, turnsBack: Double)
    }

    private let map: SimMap
    private let character: Character
    private var random: SeededRandom
    private var mood = Mood.drives
    private var edge: EdgeIndex
    private var offset: Double
    private var next: EdgeIndex?
    private var speed = 0.0
    private var time = 0.0
    /// The offset from the road, metres.
    private var aside = LocalPoint(east: 0, north: 0)
    private var heading = 0.0
    private var turnRate = 0.0
    /// The nodes of the planned way, in order, and the number of those already passed.
    private var plan: [Int64] = []
    private var reached = 0

    /// The interval between two moments of the drive, seconds.
    private static let step = 0.1
    private static let strayingSpeed = 6.0

    init(_ map: SimMap, seed: UInt64) {
        self.map = map
        random = SeededRandom(seed: seed)
        character = Character(&random)
        (edge, offset) = map.place(&random)
        heading = map.graph.position(at: offset, of: edge).bearing
    }

    /// Adopts the published route, if any.
    mutating func take(_ route: Route?) {
        plan =
            route.map { route in
                (route.segments.first.map { [$0.fromNodeID] } ?? []) + route.segments.map(\.toNodeID)
            } ?? []
        reached = 0
        next = nil
    }

    /// Waits for a number of seconds, as at a stop.
    mutating func stand(_ seconds: Double) {
        if case .drives = mood { mood = .stands(until: time + seconds) }
    }

    // MARK: The drive

    /// Returns the position of the vehicle at a moment, which must not precede the last requested one.
    mutating func drive(to moment: Double) -> Truth {
        while time + Driver.step <= moment {
            time += Driver.step
            move(Driver.step)
        }
        let place = map.graph.position(at: min(max(offset, 0), length), of: edge)
        let coordinate =
            aside == LocalPoint(east: 0, north: 0)
            ? place.coordinate : LocalFrame(origin: place.coordinate).coordinate(of: aside)
        return Truth(coordinate: coordinate, heading: heading, speed: speed, turnRate: turnRate)
    }

    private var length: Double { Double(map.graph.edgeLengths[edge.index]) }

    private mutating func move(_ seconds: Double) {
        switch mood {
        case .stands(let until):
            brake(to: 0, seconds)
            forwards(seconds)
            if time >= until { mood = .drives }
        case .backs(let until):
            speed = max(speed - 1.5 * seconds, -2)
            offset = max(offset + speed * seconds, 0)
            if time >= until || offset == 0 {
                mood = .drives
                speed = 0
            }
            face(map.graph.position(at: offset, of: edge).bearing, seconds)
        case .strays(let direction, let turnsBack): stray(direction, turnsBack, seconds)
        case .drives:
            let wanted = map.edges[edge.index].speed * character.pace
            brake(to: min(wanted, cornerSpeed), seconds)
            forwards(seconds)
            if random.uniform() < character.whims / 60 * seconds { followWhim() }
        }
    }

    private mutating func brake(to wanted: Double, _ seconds: Double) {
        speed = wanted < speed ? max(speed - 2.5 * seconds, wanted) : min(speed + 1.8 * seconds, wanted)
    }

    /// The permitted approach speed of the next crossing.
    private var cornerSpeed: Double {
        guard let next else { return .infinity }
        let bend = Angle.separation(
            Double(map.graph.edgeEndBearings[edge.index]), Double(map.graph.edgeStartBearings[next.index]))
        let corner = bend < 0.4 ? .infinity : max(2.5, 12 / (1 + 2 * bend))
        return (corner * corner + 4 * max(length - offset, 0)).squareRoot()
    }

    private mutating func forwards(_ seconds: Double) {
        offset += speed * seconds
        if next == nil, length - offset < 60 { next = choose() }
        while offset >= length {
            guard let onward = next ?? choose() else {
                offset = length
                speed = 0
                return
            }
            offset = max(min(offset - length, 30), 0)
            edge = onward
            next = length - offset < 60 ? choose() : nil
        }
        face(map.graph.position(at: offset, of: edge).bearing, seconds)
    }

    private mutating func face(_ bearing: Double, _ seconds: Double) {
        let turn = Angle.difference(from: heading, to: bearing)
        turnRate = min(max(turn / seconds, -0.8), 0.8)
        heading = Angle.normalised(heading + turnRate * seconds)
    }

    // MARK: Choice of the way

    /// Returns the edge after this one: that of the plan, or another one.
    private mutating func choose() -> EdgeIndex? {
        let graph = map.graph
        let opposite = graph.opposite(edge)
        var exits = Array(graph.outgoing(graph.edgeHeads[edge.index])).filter { map.roads.metric.allows($0) }
        if let planned = planned(exits), random.uniform() >= character.disobedience { return planned }
        if exits.count > 1 { exits.removeAll { $0 == opposite } }
        guard !exits.isEmpty else { return opposite }
        return exits[Int(random.next() % UInt64(exits.count))]
    }

    private mutating func planned(_ exits: [EdgeIndex]) -> EdgeIndex? {
        let own = map.edges[edge.index]
        var index = reached
        while index + 1 < plan.count {
            if plan[index] == own.penultimate, plan[index + 1] == own.last { break }
            index += 1
        }
        guard index + 2 < plan.count else { return nil }
        reached = index
        let onward = plan[index + 2]
        return exits.first { map.edges[$0.index].second == onward }
    }

    // MARK: Sudden decisions

    private mutating func followWhim() {
        switch random.uniform() {
        case ..<0.35: mood = .stands(until: time + 5 + 40 * random.uniform())
        case ..<0.6: turnRound()
        case ..<0.8:
            speed = 0
            mood = .backs(until: time + 3 + 10 * random.uniform())
        default:
            mood = .strays(
                direction: Angle.normalised(heading + 3 * (random.uniform() - 0.5)),
                turnsBack: time + 5 + 40 * random.uniform())
        }
    }

    private mutating func turnRound() {
        guard let opposite = map.graph.opposite(edge), map.roads.metric.allows(opposite) else { return }
        offset = max(length - offset, 0)
        edge = opposite
        next = nil
        speed = 1
    }

    private mutating func stray(_ direction: Double, _ turnsBack: Double, _ seconds: Double) {
        speed = Driver.strayingSpeed
        let metres = speed * seconds
        if time < turnsBack {
            face(direction, seconds)
            aside.east += metres * sin(heading)
            aside.north += metres * cos(heading)
            return
        }
        let distance = (aside.east * aside.east + aside.north * aside.north).squareRoot()
        guard distance > metres else {
            aside = LocalPoint(east: 0, north: 0)
            mood = .drives
            return
        }
        aside.east -= metres * aside.east / distance
        aside.north -= metres * aside.north / distance
        face(atan2(-aside.east, -aside.north), seconds)
    }
}
