package import NavConfig
package import NavRouting

/// The configuration of the vehicle. Missing sizes have the usual values for its kind, regardless of the order of the
/// keys.
package struct VehicleKeys: NodeConfiguration, Equatable {
    package var kind = VehicleProfile.Kind.car
    package var avoid: Avoidance = []
    /// Metres; nil for the usual value of the kind.
    package var height: Float?
    /// Metres; nil for the usual value of the kind.
    package var width: Float?
    /// Metres; nil for the usual value of the kind.
    package var length: Float?
    /// Tonnes; nil for the usual value of the kind.
    package var weight: Float?
    /// Tonnes on the axle with the greatest load; nil for the usual value of the kind.
    package var axleLoad: Float?
    package var carriesDangerousGoods = false

    /// The sizes of a vehicle that are accepted, metres and tonnes.
    package enum Bounds {
        package static let height: ClosedRange<Float> = 0.5...10
        package static let width: ClosedRange<Float> = 0.5...10
        package static let length: ClosedRange<Float> = 1...60
        package static let weight: ClosedRange<Float> = 0.1...200
        package static let axleLoad: ClosedRange<Float> = 0.1...50
    }

    package init() {}

    package var profile: VehicleProfile {
        VehicleProfile(
            kind: kind, avoid: avoid, height: height, width: width, length: length, weight: weight, axleLoad: axleLoad,
            carriesDangerousGoods: carriesDangerousGoods)
    }

    /// The conflict of an axle load that exceeds the weight; nil when there is none.
    package var conflict: String? {
        guard let axleLoad, let weight, axleLoad > weight else { return nil }
        return
            "vehicle.axle_load_t (\(Self.plain(axleLoad))) must not exceed vehicle.weight_t (\(Self.plain(weight))): lower the "
            + "first or raise the second"
    }

    package static var keys: [ConfigKey<VehicleKeys>] {
        let factor = Int(CostModel.avoidanceFactor)
        return [
            .text(
                "vehicle.kind", \.kind, range: "car | truck",
                "Kind of vehicle; a truck has the usual European limits.",
                parse: { VehicleProfile.Kind(rawValue: $0) }, format: { $0.rawValue }),
            .text(
                "vehicle.avoid", \.avoid, range: "any of \(Avoidance.names.map(\.name).joined(separator: ","))",
                "Roads to avoid: a second there costs as much as \(factor) elsewhere, so a detour up to \(factor) times as long is preferred.",
                listSeparator: ",",
                parse: { Avoidance(names: $0) }, format: { $0.text }),
            .optionalNumber("vehicle.height_m", \.height, in: Bounds.height, "Height, metres; \(usual(\.height))."),
            .optionalNumber("vehicle.width_m", \.width, in: Bounds.width, "Width, metres; \(usual(\.width))."),
            .optionalNumber("vehicle.length_m", \.length, in: Bounds.length, "Length, metres; \(usual(\.length))."),
            .optionalNumber("vehicle.weight_t", \.weight, in: Bounds.weight, "Weight, tonnes; \(usual(\.weight))."),
            .optionalNumber(
                "vehicle.axle_load_t", \.axleLoad, in: Bounds.axleLoad,
                "Greatest axle load, tonnes; \(usual(\.axleLoad))."),
            .flag(
                "vehicle.dangerous_goods", \.carriesDangerousGoods,
                "Whether the vehicle carries dangerous goods, which some roads prohibit."),
        ]
    }

    /// Returns a description of the value used for an empty one.
    private static func usual(_ size: KeyPath<VehicleProfile, Float?>) -> String {
        let (truck, car) = (VehicleProfile(kind: .truck)[keyPath: size], VehicleProfile()[keyPath: size])
        let forCar = car.map { "\(plain($0)) for a car" } ?? "no limit for a car"
        return "empty means \(truck.map(plain) ?? "none") for a truck and \(forCar)"
    }

    /// Returns a number as text, without a fraction if it has none.
    private static func plain(_ value: Float) -> String {
        value == value.rounded() ? String(Int(value)) : "\(value)"
    }
}

extension Avoidance {
    /// The features that can be avoided, by name.
    package static let names: [(name: String, value: Avoidance)] = [
        ("tolls", .tolls), ("motorways", .motorways), ("ferries", .ferries), ("unpaved", .unpaved),
        ("tunnels", .tunnels),
    ]

    /// Parses a set from names separated by commas; nil when one is unknown.
    package init?(names text: String) {
        self = []
        guard !text.isEmpty else { return }
        for name in text.split(separator: ",", omittingEmptySubsequences: false) {
            guard let value = Avoidance.names.first(where: { $0.name == name })?.value else { return nil }
            insert(value)
        }
    }

    /// The names, separated by commas.
    var text: String { Avoidance.names.filter { contains($0.value) }.map(\.name).joined(separator: ",") }
}
