/// The version of this build.
public enum NavbusVersion {
    /// Semantic version.
    public static let text = "0.1.0"
}
