import Testing

/// Checks of the repository. Skipped without git, as in an unpacked archive.
@Suite(.enabled(if: !Repository.paths.isEmpty, "no git, or not a clone: the list of files is unknown"))
struct TidyTests {
    @Test func theRepositoryIsFound() {
        #expect(Repository.paths.contains("Package.swift"))
        #expect(Repository.swiftSources.count > 10)
    }

    @Test func importsFollowTheLayers() {
        expectNone(Rules.imports(Repository.swiftSources))
    }

    @Test func pureTestsUseNoSocketsOrProcesses() {
        expectNone(Rules.testImports(Repository.files))
    }

    @Test func pureTargetsUseNoClockRandomnessOrIO() {
        expectNone(Rules.purity(Repository.swiftSources))
    }

    @Test func topicNamesAreOnlyInTheirTable() {
        expectNone(Rules.topicNames(Repository.swiftSources))
    }

    @Test func glossaryNamesExist() {
        expectNone(Rules.glossaryNames(Repository.files))
    }

    @Test func sourcesHaveNoTraps() {
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

    @Test func publicIsUsedOnlyWhereNeeded() {
        expectNone(Rules.access(Repository.swiftSources))
    }

    @Test func filesStayShort() {
        expectNone(Rules.fileLength(Repository.files))
    }

    @Test func noMachinePathsOrRegistriesOccur() {
        expectNone(Rules.foreignWords(Repository.files))
    }

    @Test func randomNumbersComeFromOneGenerator() {
        expectNone(Rules.generators(Repository.files))
    }

    @Test func topLevelHasOnlyKnownNames() {
        expectNone(Rules.layout(Repository.paths))
    }

    func expectNone(_ findings: [Finding], sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(
            findings.isEmpty, "\(findings.map(\.description).joined(separator: "\n"))", sourceLocation: sourceLocation)
    }
}
