package import NavStorage

/// A reason for which the tile cache could not fulfil a request.
package struct TileFailure: Error, Sendable, Equatable {
    /// The kind, by its number on the wire (`navbus.v1.ErrorCode`).
    package enum Code: Int32, Sendable, CaseIterable {
        case unspecified = 0
        case invalidRequest = 1
        case deadlineExceeded = 6
        case cancelled = 7
        case providerUnavailable = 8
        case wrongState = 9
        case notFound = 10
        case deniedByPolicy = 11
        case resourceExhausted = 12
        case corruptData = 13
        case `internal` = 14
    }

    package var code: Code
    /// A message for users: what failed, where, and what to do.
    package var message: String
    /// A temporary addition to the message, such as a time; it is shown to callers but not logged.
    package var addition = ""
    /// Whether the same request may succeed later.
    package var isRetryable: Bool
    /// The condition of this machine that must end first; nil when the cause is not on this machine.
    package var obstacle: RegionObstacle?

    package init(_ code: Code, _ message: String, isRetryable: Bool = false, obstacle: RegionObstacle? = nil) {
        self.obstacle = obstacle
        self.code = code
        self.message = message
        self.isRetryable = isRetryable
    }

    /// The message with its addition.
    package var text: String { message + addition }

    /// Returns the failure prefixed with the name of the field that caused it.
    package func about(_ field: String) -> TileFailure {
        var failure = self
        failure.message = "\(field): \(message)"
        return failure
    }

    package init(_ fault: RegionFault) { self.init(.invalidRequest, fault.description) }

    package init(_ error: StoreError) {
        switch error.code {
        case .diskFull: self.init(.resourceExhausted, error.description, isRetryable: true, obstacle: .disk)
        case .missing: self.init(.notFound, error.description)
        case .invalid: self.init(.invalidRequest, error.description)
        case .inUse, .closed, .busy: self.init(.wrongState, error.description, isRetryable: true)
        case .corruptObject, .corruptIndex: self.init(.corruptData, error.description, isRetryable: true)
        case .exhausted: self.init(.`internal`, error.description, isRetryable: true)
        case .readOnly: self.init(.wrongState, error.description)
        case .newerSchema, .system: self.init(.`internal`, error.description)
        }
    }

    package init(_ error: TileSourceError) {
        let code: Code =
            switch error.code {
            case .configuration: .invalidRequest
            case .malformed, .mismatch, .tooLarge: .corruptData
            case .cancelled: .cancelled
            case .system: .`internal`
            case .editionChanged, .closed: .wrongState
            case .missing, .unauthorized, .refused, .rateLimited, .server, .redirected, .truncated, .timedOut, .tooSlow,
                .unreachable, .unreadable, .paused, .offline:
                .providerUnavailable
            }
        // Login pages of networks and expired credentials are resolved without a change to the request.
        let mayEnd = [.editionChanged, .redirected, .unauthorized].contains(error.code)
        self.init(
            code, error.message, isRetryable: error.isRetryable || mayEnd,
            obstacle: error.code == .offline ? .network : nil)
    }

    /// The failure as the store keeps it with a region.
    package var stored: StoredRegionFailure {
        StoredRegionFailure(code: "\(code.rawValue)\(isRetryable ? "+" : "")", message: text)
    }

    /// A failure that the store keeps with a region.
    package init(_ failure: StoredRegionFailure) {
        let number = Int32(failure.code.filter(\.isNumber)) ?? 0
        self.init(Code(rawValue: number) ?? .unspecified, failure.message, isRetryable: failure.code.hasSuffix("+"))
    }
}
