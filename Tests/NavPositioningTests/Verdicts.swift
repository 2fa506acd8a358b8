import NavPositioning

extension FixVerdict {
    /// The reason why the fix is rejected; nil when it is accepted or of an unused receiver.
    var rejection: FixRejection.Reason? {
        if case .rejected(let rejection) = self { return rejection.reason }
        return nil
    }
}
