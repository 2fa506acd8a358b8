import NavPositioning

extension FixVerdict {
    /// Why the fix does not count; nil when it does, or is of a receiver that is not used.
    var rejection: FixRejection.Reason? {
        if case .rejected(let rejection) = self { return rejection.reason }
        return nil
    }
}
