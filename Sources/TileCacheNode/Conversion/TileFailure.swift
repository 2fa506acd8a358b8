package import NavMessages
package import NavStorage
package import NavTileCache
package import NavTileStore

/// Why the tile cache could not do what it was asked for.
package struct TileFailure: Error, Sendable, Equatable {
    /// The kind.
    package var code: ErrorCode
    /// What, where and what to do.
    package var message: String
    /// Whether the same may succeed later.
    package var isRetryable: Bool
    /// What of this machine's own has to end before; nil when it is nothing of that.
    package var obstacle: RegionObstacle?

    /// A failure.
    package init(_ code: ErrorCode, _ message: String, isRetryable: Bool = false, obstacle: RegionObstacle? = nil) {
        self.obstacle = obstacle
        self.code = code
        self.message = message
        self.isRetryable = isRetryable
    }

    init(_ fault: RegionFault) { self.init(.invalidRequest, fault.description) }

    init(_ error: StoreError) {
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

    init(_ error: TileSourceError) {
        let code: ErrorCode =
            switch error.code {
            case .configuration: .invalidRequest
            case .malformed, .mismatch, .tooLarge: .corruptData
            case .cancelled: .cancelled
            case .system: .`internal`
            case .editionChanged, .closed: .wrongState
            case .missing, .unauthorized, .refused, .rateLimited, .server, .redirected, .truncated, .timedOut, .tooSlow,
                .unreachable, .unreadable, .resting, .offline:
                .providerUnavailable
            }
        // Login pages of networks and credentials that have run out end without anybody changing the question.
        let mayEnd = [.editionChanged, .redirected, .unauthorized].contains(error.code)
        self.init(
            code, error.message, isRetryable: error.isRetryable || mayEnd,
            obstacle: error.code == .offline ? .network : nil)
    }

    /// As the store keeps it with a region.
    var stored: StoredRegionFailure {
        StoredRegionFailure(code: "\(code.rawValue)\(isRetryable ? "+" : "")", message: message)
    }

    /// From what the store keeps with a region.
    init(_ failure: StoredRegionFailure) {
        let number = Int32(failure.code.filter(\.isNumber)) ?? 0
        self.init(ErrorCode(rawValue: number), failure.message, isRetryable: failure.code.hasSuffix("+"))
    }
}

extension ErrorInfo {
    init(_ failure: TileFailure) {
        self.init(code: failure.code, message: failure.message, retryable: failure.isRetryable)
    }
}
