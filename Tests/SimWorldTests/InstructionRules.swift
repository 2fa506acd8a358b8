import NavGuidance
import NavNavigator

struct InstructionsOnce: Invariant {
    static let rule = "each instruction of a route is told once"
    private var told: Set<InstructionID> = []

    mutating func breach(_ step: SimStep) -> String? {
        for effect in step.effects {
            guard case .publish(_, let what) = effect else { continue }
            switch what {
            case .route(_, .refreshed): break
            case .route: told = []
            case .visual(let visual?, _, _):
                if !told.insert(visual.id).inserted { return "\(visual.id) is shown twice" }
            case .spoken(let spoken, _, _): if !told.insert(spoken.id).inserted { return "\(spoken.id) is said twice" }
            default: break
            }
        }
        return nil
    }
}

struct SilentOffRoute: Invariant {
    static let rule = "nothing is told off the route, and nothing without one"
    private var isOff = false
    private var hasRoute = false

    mutating func breach(_ step: SimStep) -> String? {
        for effect in step.effects {
            guard case .publish(_, let what) = effect else { continue }
            switch what {
            case .route(let plan, let change):
                hasRoute = plan != nil
                if change != .refreshed { isOff = false }
            case .progress(let progress):
                isOff = progress.deviation.state == .offRoute || progress.deviation.state == .wrongWay
            case .visual(_?, _, _), .spoken:
                if isOff { return "an instruction off the route" }
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

    mutating func breach(_ step: SimStep) -> String? {
        for effect in step.effects {
            guard case .publish(_, let what) = effect else { continue }
            switch what {
            case .route(_, .refreshed): break
            case .route, .visual(nil, _, _): (shown, said) = (nil, nil)
            case .visual(let visual?, _, _):
                if let shown, visual.id.isBefore(shown) { return "\(visual.id) after \(shown)" }
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
