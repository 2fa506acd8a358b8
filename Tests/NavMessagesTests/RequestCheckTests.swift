import NavMessages
import Testing

/// The check of requests for unusable values.
@Suite struct RequestCheckTests {
    private static func unusable(_ message: some Message) -> String? {
        let bytes = message.encoded()
        return bytes.withUnsafeBytes { SchemaPool.builtIn.unusableValue(in: $0, as: type(of: message).fullName) }
    }

    @Test func validValuesPass() {
        let order = CalculateRouteRequest(
            waypoints: [Waypoint(latitude: 60.1, longitude: 24.9, kind: .via)],
            options: RouteOptions(vehicle: VehicleProfile(vehicleClass: .truck, heightM: 4), avoid: [.tolls, .ferries]))
        #expect(Self.unusable(order) == nil)
        #expect(Self.unusable(SetRouteRequest()) == nil)
    }

    @Test func unknownEnumValueIsReported() {
        let units = CalculateRouteRequest(options: RouteOptions(units: UnitSystem(rawValue: 9)))
        #expect(Self.unusable(units)?.hasPrefix("options.units: 9 is not a value of") == true)
        let avoid = SetRouteRequest(
            target: .calculate(
                CalculateRouteRequest(options: RouteOptions(avoid: [.tolls, AvoidFeature(rawValue: 99)]))))
        #expect(Self.unusable(avoid)?.contains("options.avoid: 99") == true)
        #expect(Self.unusable(RouteOptions(units: UnitSystem(rawValue: -1)))?.contains("-1") == true)
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity]) func nonFiniteNumberIsReported(number: Double) {
        let order = CalculateRouteRequest(options: RouteOptions(vehicle: VehicleProfile(weightKg: number)))
        #expect(Self.unusable(order)?.hasPrefix("options.vehicle.weight_kg:") == true)
    }

    @Test func malformedBytesPass() {
        for length in 0..<64 {
            let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 * 37 + 11) }
            let text = bytes.withUnsafeBytes {
                SchemaPool.builtIn.unusableValue(in: $0, as: CalculateRouteRequest.fullName)
            }
            #expect(text?.isEmpty != true)
        }
    }
}
