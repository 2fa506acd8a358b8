import NavMessages
import NavTileCache

extension ErrorInfo {
    init(_ failure: TileFailure) {
        self.init(
            code: ErrorCode(rawValue: failure.code.rawValue), message: failure.text,
            retryable: failure.isRetryable)
    }
}
