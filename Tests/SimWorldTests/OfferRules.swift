import NavMap
import NavNavigator
import NavRouting

struct AlternativesAreOthers: Invariant {
    static let rule =
        "lists of alternatives are complete and unique, differ from the route in force and end with it"
    private var shown: Set<UInt64> = []
    private var route: [EdgeKey] = []

    mutating func violation(_ step: SimStep) -> String? {
        for effect in step.effects {
            guard case .publish(_, let what) = effect else { continue }
            switch what {
            case .route(let plan, let change):
                if change != .refreshed, !shown.isEmpty { return "alternatives outlive their route" }
                route = plan?.route.edges.map(\.key) ?? []
            case .arrival(let event):
                if event.phase == .arrived, event.isDestination { route = [] }
            case .alternatives(let update): if let what = take(update) { return what }
            default: break
            }
        }
        return route.isEmpty && !shown.isEmpty ? "alternatives without a trip" : nil
    }

    private mutating func take(_ update: AlternativesUpdate) -> String? {
        for removed in update.removed where shown.remove(removed.id) == nil {
            return "\(removed.id) is removed, but was not there"
        }
        for id in update.added where !shown.insert(id).inserted { return "\(id) is added twice" }
        let ids = update.alternatives.map(\.id)
        if ids.count != Set(ids).count || Set(ids) != shown || ids.count > 2 {
            return "the list has \(ids.count) alternatives instead of \(shown.count)"
        }
        let own = Set(route)
        for offered in update.alternatives where update.added.contains(offered.id) {
            let keys = offered.plan.alternative.route.edges.map(\.key)
            if keys.allSatisfy(own.contains), Array(route.suffix(keys.count)) == keys {
                return "alternative \(offered.id) is the route in force"
            }
        }
        return nil
    }
}

struct PreviewsAreSound: Invariant {
    static let rule = "a preview has up to three routes, one of them active, and ends when guidance starts"
    private var count = 0

    mutating func violation(_ step: SimStep) -> String? {
        for effect in step.effects {
            guard case .publish(_, let what) = effect else { continue }
            switch what {
            case .preview(let preview):
                count = preview.routes.count
                let isActive =
                    preview.routes.isEmpty ? preview.active == 0 : preview.routes.indices.contains(preview.active)
                if count > 3 || !isActive { return "\(count) routes, of which \(preview.active) is active" }
                if Set(preview.routes.map(\.id)).count != count { return "two routes have the same id" }
                if let odd = preview.routes.first(where: {
                    !$0.plan.route.duration.isFinite || $0.plan.route.edges.isEmpty
                }) {
                    return "route \(odd.id) is invalid"
                }
            case .route(_?, .started), .route(_?, .set):
                if count > 0 { return "the preview outlives the start of guidance" }
            default: break
            }
        }
        return nil
    }
}

struct TilesAreNamed: Invariant {
    static let rule = "a failure that names tiles requests them"

    mutating func violation(_ step: SimStep) -> String? {
        var needed: Set<RoadTileID> = []
        for effect in step.effects {
            guard case .needTiles(let tiles) = effect else { continue }
            if tiles.isEmpty { return "a request for tiles is empty" }
            needed.formUnion(tiles)
        }
        for effect in step.effects {
            guard case .publish(_, .reroute(let event)) = effect, case .failed(let failure, _) = event.phase else {
                continue
            }
            if !needed.isSuperset(of: failure.missingTiles) { return "missing tiles are not requested" }
        }
        return nil
    }
}
