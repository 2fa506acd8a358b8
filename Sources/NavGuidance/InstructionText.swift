internal import NavGeo
internal import NavMap

/// The wording of maneuvers in one language and one system of units.
public struct InstructionText: Sendable, Hashable {
    public var phrases: PhraseTable
    /// Units and rounding.
    public var scale: DistanceScale

    /// A text in English and metric units by default.
    public init(phrases: PhraseTable = .english, scale: DistanceScale = .metric) {
        self.phrases = phrases
        self.scale = scale
    }

    /// Returns a maneuver's instruction as a complete sentence, such as "Turn left onto Mannerheimintie".
    public func instruction(_ maneuver: Maneuver) -> String { finished(body(maneuver, atHand: true)).text }

    /// Returns a distance for a display, such as "1.5 km"; 0 if negative or not finite.
    public func displayed(metres: Double) -> String {
        let rounded = DistanceScale.round(metres, scale.displayed, decimalSeparator: phrases.decimalSeparator)
        return Sentence(
            phrases.phrase(["display.\(rounded.unit)"])
        ) { $0 == "number" ? Sentence(words: rounded.number) : Sentence() }.text
    }

    /// Returns a distance in spoken words, such as "1.5 kilometres".
    public func spoken(metres: Double) -> String { distance(metres, in: "").text }

    /// Returns a road's spoken name: its name, else its first number; empty when unnamed. Motorways are called by their number if they have
    /// one.
    func name(_ road: RoadLabel) -> String {
        guard road.isCalledByNumber, let reference = road.references.first else { return phrases.name(of: road) }
        return reference
    }

    /// Returns a road's name as a part of a sentence, in a grammatical case.
    private func name(_ road: RoadLabel, in grammaticalCase: Substring) -> Sentence {
        let isReference = road.isCalledByNumber
        let name = name(road)
        var sentence = phrases.names.sentence(
            isReference ? phrases.names.spoken(reference: name) : name, isReference: isReference, in: grammaticalCase)
        if name == road.name, let sound = road.localNames[LocalNames.pronunciation] {
            sentence.pronounce(name, as: sound)
        }
        return sentence
    }

    /// Splits a placeholder into its name and its grammatical case; the case is empty for none.
    private func parts(_ placeholder: Substring) -> (key: Substring, grammaticalCase: Substring) {
        guard let colon = placeholder.firstIndex(of: ":") else { return (placeholder, "") }
        return (placeholder[..<colon], placeholder[placeholder.index(after: colon)...])
    }

    // MARK: Sentences

    private func distance(_ metres: Double, in grammaticalCase: Substring) -> Sentence {
        let rounded = DistanceScale.round(metres, scale.spoken, decimalSeparator: phrases.decimalSeparator)
        return Sentence(phrases.distancePhrase(rounded, String(grammaticalCase))) {
            $0 == "number" ? Sentence(words: rounded.number) : Sentence()
        }
    }

    /// Returns "In 300 metres, …".
    func inDistance(_ metres: Double, _ instruction: Sentence) -> Sentence {
        Sentence(phrases.phrase(["sentence.distance"])) { placeholder in
            let (key, grammaticalCase) = parts(placeholder)
            return switch key {
            case "distance": distance(metres, in: grammaticalCase)
            case "instruction": instruction
            default: Sentence()
            }
        }
    }

    /// Returns "…, then …".
    func chained(_ instruction: Sentence, _ next: Sentence) -> Sentence {
        Sentence(phrases.phrase(["sentence.then"])) { key in
            switch key {
            case "instruction": instruction
            case "next": next
            default: Sentence()
            }
        }
    }

    /// Returns "Continue on … for 5 kilometres".
    func continuing(on road: RoadLabel, metres: Double) -> Sentence {
        Sentence(phrases.phrase(road.isUnnamed ? ["sentence.continue"] : ["sentence.continue.name"])) { placeholder in
            let (key, grammaticalCase) = parts(placeholder)
            return switch key {
            case "name": name(road, in: grammaticalCase)
            case "distance": distance(metres, in: grammaticalCase)
            default: Sentence()
            }
        }
    }

    /// Returns the words of a notice as a part of a sentence.
    func body(_ notice: RouteNotice) -> Sentence {
        Sentence(phrases.phrase(["notification.\(notice.kind.rawValue)"])) { placeholder in
            let (key, grammaticalCase) = parts(placeholder)
            return key == "distance" ? distance(notice.length ?? 0, in: grammaticalCase) : Sentence()
        }
    }

    func finished(_ sentence: Sentence) -> Sentence {
        phrases.capitalisesSentences ? sentence.capitalised() : sentence
    }

    /// Returns the action as a part of a sentence, with the name of the crossroads.
    ///
    /// - Parameter atHand: Whether the maneuver is reached; an arrival is then worded as having happened.
    func body(_ maneuver: Maneuver, atHand: Bool) -> Sentence {
        let action = action(maneuver, atHand: atHand)
        guard !maneuver.junctionName.isEmpty else { return action }
        return Sentence(phrases.phrase(["sentence.junction"])) { key in
            switch key {
            case "junction": Sentence(name: maneuver.junctionName)
            case "instruction": action
            default: Sentence()
            }
        }
    }

    private func action(_ maneuver: Maneuver, atHand: Bool) -> Sentence {
        Sentence(phrase(maneuver, atHand: atHand)) { placeholder in
            let (key, grammaticalCase) = parts(placeholder)
            return switch key {
            case "name": name(maneuver.road, in: grammaticalCase)
            case "destination": destination(maneuver.road, in: grammaticalCase)
            case "exit": Sentence(name: exitNumbers(maneuver))
            case "junction": Sentence(name: list(maneuver.exitPlaces))
            case "rotary":
                phrases.names.sentence(maneuver.roundaboutName, isReference: false, in: grammaticalCase)
            case "waypoint": Sentence(name: maneuver.waypointName)
            case "nth": Sentence(words: ordinal(maneuver.roundaboutExit))
            case "direction": Sentence(words: compass(maneuver.bearingAfter))
            default: Sentence()
            }
        }
    }

    /// Returns a maneuver's exit numbers as a list.
    func exitNumbers(_ maneuver: Maneuver) -> String {
        maneuver.exitNumbers.joined(separator: phrases.listSeparator)
    }

    /// Returns the destinations on a road's signs as a part of a sentence, with road numbers in a grammatical case and places unchanged.
    private func destination(_ road: RoadLabel, in grammaticalCase: Substring) -> Sentence {
        guard road.destinations.isEmpty else { return Sentence(name: list(road.destinations)) }
        var sentence = Sentence()
        for reference in road.destinationReferences.prefix(2) {
            if !sentence.pieces.isEmpty { sentence.pieces += Sentence(words: phrases.listSeparator).pieces }
            let spoken = phrases.names.spoken(reference: reference)
            sentence.pieces += phrases.names.sentence(spoken, isReference: true, in: grammaticalCase).pieces
        }
        return sentence
    }

    /// Returns the first two of some places as a list.
    private func list(_ places: [String]) -> String { places.prefix(2).joined(separator: phrases.listSeparator) }

    /// Returns the most specific phrase for a maneuver; empty when there is none.
    private func phrase(_ maneuver: Maneuver, atHand: Bool) -> String {
        // The name of the crossroads identifies the place better than the end of the road.
        let isNamed = !maneuver.junctionName.isEmpty
        let endsRoad = maneuver.endsRoad || maneuver.type == .endOfRoad
        // The road continues around the corner, so it does not end.
        let goesOn = maneuver.type == .endOfRoad && maneuver.keepsRoad && !maneuver.road.isUnnamed
        let kind = goesOn ? .continue : endsRoad ? (isNamed ? .turn : .endOfRoad) : maneuver.type
        let type = maneuver.type == .arrive && atHand ? "arrived" : kind.rawValue
        let direction = direction(maneuver)
        let variants = variants(maneuver)
        // Boarding a ferry is announced as such, even at the end of a road.
        let types = variants.contains("ferry") ? ["turn", type] : [type, "turn"]
        for type in type == "turn" || type == "arrived" ? [type] : types {
            for variant in variants {
                let ending = variant.isEmpty ? "" : "." + variant
                if let phrase = phrases.phrase(type, direction, ending) { return phrase }
                guard ending.hasSuffix(".destination"),
                    let plain = phrases.phrase(type, direction, String(ending.dropLast(".destination".count))),
                    let phrase = phrases.withDestination(plain)
                else { continue }
                return phrase
            }
        }
        return ""
    }

    /// Returns the direction in the key of a maneuver's phrase; empty for none. The direction of a ramp is its side, except for an exit on
    /// the right in right-hand traffic, where drivers expect it.
    private func direction(_ maneuver: Maneuver) -> String {
        let side = maneuver.modifier?.side
        return switch maneuver.type {
        case .offRamp where side == .right && maneuver.drivingSide == .right: ""
        case .offRamp, .onRamp: side?.rawValue ?? ""
        default: maneuver.modifier?.rawValue ?? ""
        }
    }

    /// Returns the variants of a maneuver's phrase for which the road after it has data, the most specific first; the last one is always
    /// empty.
    private func variants(_ maneuver: Maneuver) -> [String] {
        let road = maneuver.road
        var signs: [String] = []
        let isRamp = maneuver.type == .offRamp || maneuver.type == .onRamp
        // A ramp is called by the name of the road that it leads onto if its signs show only that road's number.
        let prefersSigns = isRamp && !(road.destinations.isEmpty && road.isCalledBySignedNumber)
        if !road.signs.isEmpty { signs.append("destination") }
        if !road.isUnnamed { signs.insert("name", at: prefersSigns ? signs.count : 0) }
        // An exit is named after the destinations on its signs if they are known, else by its own name.
        if maneuver.type == .offRamp, road.destinations.isEmpty, !maneuver.exitName.isEmpty {
            signs.insert("named", at: 0)
        }
        signs.append("")

        switch maneuver.type {
        case .arrive:
            return maneuver.waypointName.isEmpty ? (maneuver.isFinal ? [""] : ["stop", ""]) : ["waypoint", ""]
        case .offRamp where !maneuver.exitNumbers.isEmpty:
            return signs.map { $0.isEmpty ? "exit" : "exit.\($0)" } + signs
        case .roundabout where maneuver.roundaboutExit != nil, .rotary where maneuver.roundaboutExit != nil:
            return signs.map { $0.isEmpty ? "nth" : "nth.\($0)" } + signs
        case _ where maneuver.notes.contains(.boardsFerry):
            return signs.map { $0.isEmpty ? "ferry" : "ferry.\($0)" } + signs
        case _ where maneuver.notes.contains(.leavesFerry):
            return signs.map { $0.isEmpty ? "leaves ferry" : "leaves ferry.\($0)" } + signs
        case .fork where maneuver.keepsRoad && !road.isUnnamed:
            return ["stay"] + signs
        default:
            return signs
        }
    }

    private func ordinal(_ number: Int?) -> String {
        guard let number, number > 0 else { return "" }
        if number <= phrases.ordinals.count { return phrases.ordinals[number - 1] }
        return Sentence(phrases.phrase(["ordinal.other"])) {
            $0 == "number" ? Sentence(words: String(number)) : Sentence()
        }.text
    }

    private func compass(_ bearing: Double) -> String {
        guard !phrases.compass.isEmpty else { return "" }
        let share = Angle.normalised(bearing) / (2 * Double.pi) * Double(phrases.compass.count)
        return phrases.compass[Int(share.rounded()) % phrases.compass.count]
    }
}
