import NavGuidance
import NavMatching
import NavNavigator

struct InstructionsOnce: Invariant {
    static let rule = "each instruction of a route is told once, but a banner that a prediction without odometry led to"
    private var told: Set<InstructionID> = []
    private var foresight = Foresight()

    mutating func breach(_ step: SimStep) -> String? {
        for effect in step.effects {
            guard case .publish(_, let what) = effect else { continue }
            foresight.note(what, step)
            switch what {
            case .route(_, .refreshed): break
            case .route: told = []
            // A banner that was taken back off the route is shown again on it.
            case .visual(nil, _, _): told = told.filter { $0.kind != .visual }
            case .visual(let visual?, _, _):
                if !told.insert(visual.id).inserted, !foresight.mayGoBack(step) { return "\(visual.id) is shown twice" }
            case .spoken(let spoken, _, _): if !told.insert(spoken.id).inserted { return "\(spoken.id) is said twice" }
            default: break
            }
        }
        return nil
    }
}

/// How long ago positions were only expected: banners that they led to may be taken back.
private struct Foresight {
    private var last = -Double.infinity

    mutating func note(_ what: Publication, _ step: SimStep) {
        if case .position(let sighting) = what, sighting.evidence == .expected { last = step.time }
    }

    /// A fix takes them back once it is on the route, and the owner may answer later.
    func mayGoBack(_ step: SimStep) -> Bool { step.time - last < 60 }
}

struct SilentOffRoute: Invariant {
    static let rule = "nothing is told off the route but the arrival, and nothing without one"
    private var (isOff, isThere, hasRoute) = (false, false, false)

    mutating func breach(_ step: SimStep) -> String? {
        for effect in step.effects {
            guard case .publish(_, let what) = effect else { continue }
            switch what {
            case .route(let plan, let change):
                hasRoute = plan != nil
                if change != .refreshed { (isOff, isThere) = (false, false) }
            case .arrival(let event): isThere = event.phase == .arrived || event.phase == .held
            case .progress(let progress):
                isOff = progress.deviation.state == .offRoute || progress.deviation.state == .wrongWay
            case .visual(_?, _, _), .spoken:
                let arrives = step.publications.contains {
                    if case .arrival(let event) = $0.what { event.phase == .arrived } else { false }
                }
                if isOff, !isThere, !arrives { return "an instruction off the route" }
                if !hasRoute { return "an instruction without a route" }
            default: break
            }
        }
        return nil
    }
}

struct InstructionsGoForward: Invariant {
    static let rule = "what a screen shows and what a voice says goes forward along the route"
    private var (shown, said): (InstructionID?, InstructionID?)
    private var foresight = Foresight()

    mutating func breach(_ step: SimStep) -> String? {
        for effect in step.effects {
            guard case .publish(_, let what) = effect else { continue }
            foresight.note(what, step)
            switch what {
            case .route(_, .refreshed): break
            case .route, .visual(nil, _, _): (shown, said) = (nil, nil)
            case .visual(let visual?, _, _):
                if let shown, visual.id.isBefore(shown), !foresight.mayGoBack(step) {
                    return "\(visual.id) after \(shown)"
                }
                shown = visual.id
            case .spoken(let spoken, _, _):
                if let said, spoken.id.isBefore(said) { return "\(spoken.id) after \(said)" }
                said = spoken.id
            default: break
            }
        }
        return nil
    }
}
