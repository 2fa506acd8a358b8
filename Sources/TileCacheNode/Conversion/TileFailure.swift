import NavMessages
import NavTileCache

extension ErrorInfo {
    /// The message of a failure.
    init(_ failure: TileFailure) {
        self.init(
            code: ErrorCode(rawValue: failure.code.rawValue), message: failure.message,
            retryable: failure.isRetryable)
    }
}
