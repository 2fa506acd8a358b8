import NavGuidance
import NavMatching
import NavNavigator
import NavPositioning

struct InstructionsOnce: Invariant {
    static let rule = "each instruction of a route is given once, except a banner that was predicted without odometry"
    private var told: Set<InstructionID> = []
    private var foresight = BannerWithdrawal()

    mutating func violation(_ step: SimStep) -> String? {
        for effect in step.effects {
            guard case .publish(_, let what) = effect else { continue }
            foresight.note(what, step)
            switch what {
            case .route(_, .refreshed): break
            case .route: told = []
            // A banner cleared off route is shown again on the route.
            case .visual(nil, _, _): told = told.filter { $0.kind != .visual }
            case .visual(let visual?, _, _):
                if !told.insert(visual.id).inserted, !foresight.mayGoBack(step) { return "\(visual.id) is shown twice" }
                // A banner shown too early is shown again when it is due.
                told = told.filter { $0.kind != .visual || !visual.id.isBefore($0) }
            case .spoken(let spoken, _, _) where !spoken.isRepeat:
                if !told.insert(spoken.id).inserted { return "\(spoken.id) is spoken twice" }
            default: break
            }
        }
        return nil
    }
}

/// Whether banners may be withdrawn: those shown because of expected positions, until the first measured one on the
/// route.
private struct BannerWithdrawal {
    private var end = -Double.infinity
    /// The longest time that an answer of the owner may take, seconds.
    private static let patience = 5.0

    mutating func note(_ what: Publication, _ step: SimStep) {
        switch what {
        case .position(let position): if position.evidence == .expected { end = .infinity }
        case .progress(let progress):
            let isOn = progress.deviation.state == .onRoute || progress.deviation.state == .offStep
            if isOn, progress.position.evidence != .expected { end = min(end, step.time + BannerWithdrawal.patience) }
        default: break
        }
    }

    func mayGoBack(_ step: SimStep) -> Bool { step.time <= end }
}

struct SilentOffRoute: Invariant {
    static let rule = "off route there is no instruction except the arrival, and none without a route"
    private var (isOff, isThere, hasRoute) = (false, false, false)

    mutating func violation(_ step: SimStep) -> String? {
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
    static let rule = "banners and announcements advance along the route"
    private var (shown, said): (InstructionID?, InstructionID?)
    private var foresight = BannerWithdrawal()

    mutating func violation(_ step: SimStep) -> String? {
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
            case .spoken(let spoken, _, _) where spoken.isRepeat:
                if let said, (spoken.id.leg, spoken.id.step) < (said.leg, said.step) {
                    return "\(spoken.id) again after \(said)"
                }
            case .spoken(let spoken, _, _):
                if let said, spoken.id.isBefore(said) { return "\(spoken.id) after \(said)" }
                said = spoken.id
            default: break
            }
        }
        return nil
    }
}
