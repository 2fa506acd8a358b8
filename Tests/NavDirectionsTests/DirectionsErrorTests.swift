import NavDirections
import Testing

/// The properties of provider errors.
struct DirectionsErrorTests {
    @Test(arguments: DirectionsError.Code.allCases)
    func onlyTransientFailuresAreRetriedAtOnce(code: DirectionsError.Code) {
        let isTransient = [.rateLimited, .server, .timedOut, .unreachable].contains(code)
        #expect(DirectionsError(code, "").isTransient == isTransient)
    }
}
