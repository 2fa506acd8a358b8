import NavDirections
import Testing

/// What the errors of a provider say.
struct DirectionsErrorTests {
    @Test(arguments: DirectionsError.Code.allCases)
    func onlyTransientFailuresAreRetriedAtOnce(code: DirectionsError.Code) {
        let isTransient = [.rateLimited, .server, .timedOut, .unreachable].contains(code)
        #expect(DirectionsError(code, "").isTransient == isTransient)
    }
}
