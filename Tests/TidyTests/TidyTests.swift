import Testing

/// Reads the repository itself. Where there is no git (an unpacked archive) there is nothing to read.
@Suite(.enabled(if: !Repository.paths.isEmpty, "no git, or not a clone: the list of files is unknown"))
struct TidyTests {
    @Test func theRepositoryIsFound() {
        #expect(Repository.paths.contains("Package.swift"))
        #expect(Repository.swiftSources.count > 10)
    }

    @Test func importsRunOneWay() {
        expectNone(Rules.imports(Repository.swiftSources))
    }

    @Test func pureTestsTakeNoSocketsAndNoProcesses() {
        expectNone(Rules.testImports(Repository.files))
    }

    @Test func pureTargetsKnowNoClockNoChanceAndNoIO() {
        expectNone(Rules.purity(Repository.swiftSources))
    }

    @Test func topicsAreNamedInTheirTableAlone() {
        expectNone(Rules.topicNames(Repository.swiftSources))
    }

    @Test func theGlossaryNamesWhatThereIs() {
        expectNone(Rules.glossaryNames(Repository.files))
    }

    @Test func sourcesHoldNoTraps() {
        expectNone(Rules.soundness(Repository.swiftSources))
    }

    @Test func nothingIsLeftUnfinished() {
        expectNone(Rules.finished(Repository.files))
    }

    @Test func noCodeIsCommentedOut() {
        expectNone(Rules.commentedOutCode(Repository.files))
    }

    @Test func theExportedProductIsDocumented() {
        expectNone(Rules.documentation(Repository.swiftSources))
    }

    @Test func filesStayShort() {
        expectNone(Rules.fileLength(Repository.files))
    }

    @Test func theProjectSpeaksOfItselfAlone() {
        expectNone(Rules.foreignWords(Repository.files))
    }

    @Test func theTopLevelHoldsTheKnownNamesAndNoProducts() {
        expectNone(Rules.layout(Repository.paths))
    }

    func expectNone(_ findings: [Finding], sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(
            findings.isEmpty, "\(findings.map(\.description).joined(separator: "\n"))", sourceLocation: sourceLocation)
    }
}
