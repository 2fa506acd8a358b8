import Glibc
import NavLaunch
import Testing

extension LauncherTests {
    func shell(_ script: String, settings: ProcessSettings) -> LaunchNode {
        LaunchNode(name: "a", executable: "/bin/sh", arguments: ["-c", script], settings: settings)
    }

    @Test func settingsReachTheProcess() throws {
        let cpu = try #require(LaunchContext.current().cpus.first)
        let settings = ProcessSettings(
            cpus: [cpu], nice: 7, scheduler: .batch, coreLimit: .value(0), memoryLimit: .value(256 << 20),
            openFiles: .value(64))
        let script = """
            grep Cpus_allowed_list /proc/self/status; ulimit -c; ulimit -d; ulimit -n
            set -- $(cat /proc/self/stat); echo "nice ${19} policy ${41}"
            """
        let (code, lines) = run([shell(script, settings: settings)])
        #expect(code == 0)
        let expected = ["Cpus_allowed_list:\t\(cpu)", "0", "262144", "64", "nice 7 policy 3"]
        #expect(
            lines.filter { $0.hasPrefix("a ") }.prefix(5) == ArraySlice(expected.map { "a      | " + $0 }), "\(lines)")
    }

    @Test func openFileLimitOfTheLauncherIsNotInherited() {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(7), &limit)
        // The launcher raises its own limit, possibly already in an earlier test.
        let (_, lines) = run([shell("ulimit -n", settings: ProcessSettings())])
        let after = lines.first { $0.hasPrefix("a ") }.flatMap { UInt64($0.split(separator: " ").last ?? "") }
        #expect(after != nil && after ?? 0 <= UInt64(limit.rlim_max))
    }

    @Test func absentProcessorIsAnErrorAtStart() {
        let (code, lines) = run([shell("echo never", settings: ProcessSettings(cpus: [0, 1_023]))])
        #expect(code == 1)
        let told =
            "a      | [could not be started: cpus: some of the processors 0,1023 are missing or not allowed "
        #expect(lines.contains { $0.hasPrefix(told) }, "\(lines)")
    }

    // Root has these privileges.
    @Test(.enabled(if: geteuid() != 0)) func missingPrivilegesAreReported() {
        let (_, nice) = run([shell("echo never", settings: ProcessSettings(nice: -20))])
        #expect(nice.contains { $0.contains("nice: ") && $0.contains("CAP_SYS_NICE") }, "\(nice)")
        let (_, fifo) = run([shell("echo never", settings: ProcessSettings(scheduler: .fifo(99)))])
        #expect(fifo.contains { $0.contains("scheduler: ") && $0.contains("rtprio") }, "\(fifo)")
    }

    @Test func summaryHasMemoryAndSignals() {
        let (code, lines) = run([shell("kill -SEGV $$", settings: ProcessSettings(coreLimit: .value(0)))])
        #expect(code == 1)
        let row = summary("a", lines)
        #expect(row?.hasPrefix("killed by SIGSEGV") == true, "\(lines)")
        #expect(row?.hasSuffix(" MiB") == true, "\(lines)")
    }
}
