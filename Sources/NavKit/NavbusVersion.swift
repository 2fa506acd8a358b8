internal import CProcess

/// The version of this build.
public enum NavbusVersion {
    /// The semantic version.
    public static let text = "0.1.0"

    /// The version and, if the build contains it, the commit, as in semantic versioning: `0.1.0+2e26f41a05b3`.
    public static let full: String = {
        let commit = String(cString: cprocess_commit())
        return commit.isEmpty ? text : text + "+" + commit
    }()
}
