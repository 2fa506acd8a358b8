package import NavPositioning
package import NavWire
package import NavKit
import NavMatching
package import NavMessages
import NavNavigator

/// A report of positioning and its input, for the health of the node.
package struct PositioningReport: Sendable {
    /// The health of positioning; nil before the first fix.
    package internal(set) var health: PositionHealth?
    package internal(set) var used: UInt64 = 0
    /// Fixes without a time, which cannot be ordered among the events.
    package internal(set) var timeless: UInt64 = 0
    /// Fixes with an invalid time, which cannot be ordered either.
    package internal(set) var misdated: UInt64 = 0
    /// Fixes of receivers that are not in use.
    package internal(set) var standby: UInt64 = 0
    /// Rejected fixes, counted by the index of the reason.
    package private(set) var rejected = [UInt64](repeating: 0, count: FixRejection.Reason.allCases.count)
    package internal(set) var odometry: UInt64 = 0
    /// Discarded odometry: without a time, before the first accepted fix, or too far in time from the fixes.
    package internal(set) var odometryLeftOut: UInt64 = 0
    /// The count of odometry that differed too much in time from the fixes, and the lead of the last of it, seconds; negative when
    /// behind.
    private var strays: (count: UInt64, lead: Double) = (0, 0)

    /// Values of one kind of input that were not used.
    package struct Defects: Sendable {
        package private(set) var count: UInt64 = 0
        /// A recent defect. It changes only with the field, so that the health does not change with every message.
        package private(set) var example: FieldDefect?

        mutating func add(_ defect: FieldDefect) {
            count += 1
            if example?.name != defect.name { example = defect }
        }
    }

    /// Defects of fixes that were otherwise usable.
    package internal(set) var fixDefects = Defects()
    package internal(set) var odometryDefects = Defects()

    mutating func noteStray(lead: Double) { strays = (strays.count + 1, lead) }

    mutating func count(_ reason: FixRejection.Reason) { rejected[Int(reason.rawValue)] += 1 }

    /// All counters by their names in the health report; rejections only if they occurred.
    package var counters: [(name: String, value: UInt64)] {
        [
            ("fixes_used", used), ("fixes_standby", standby), ("odometry_used", odometry),
            ("odometry_left_out", odometryLeftOut),
        ]
            + [
                ("fixes_left_out", timeless + misdated), ("fix_fields_out_of_range", fixDefects.count),
                ("odometry_fields_out_of_range", odometryDefects.count),
            ].filter { $0.1 > 0 }
            + zip(FixRejection.Reason.allCases, rejected).filter { $0.1 > 0 }.map { reason, count in
                ("fixes_rejected_" + FixRejectionReason(reason).word, count)
            }
    }

    /// Returns the findings of positioning for the node's health.
    ///
    /// - Parameter isOverdue: Whether the first fix has been awaited for as long as a lost one.
    package func findings(isOverdue: Bool) -> [HealthFinding] {
        guard let health else {
            let text =
                timeless + misdated > 0
                ? "no fix with a valid time has arrived yet"
                : "no fix has arrived yet: check that a receiver node, such as gnss-node, is running"
            return [HealthFinding("gnss_no_fix", text, severity: isOverdue ? .lost : .degraded)]
        }
        guard health.level != .full else { return [] }
        let severity: HealthFinding.Severity = health.level == .lost ? .lost : .degraded
        return Self.explanations.filter { health.reasons.contains($0.reason) }.map {
            let isSuspicion = $0.reason == .spoofing && health.lostReasons.isDisjoint(with: .spoofing)
            return HealthFinding($0.code, isSuspicion ? Self.suspicion : $0.text, severity: severity)
        }
    }

    /// Returns the findings of defective input in the last ten seconds, which are also logged.
    package func defects(_ memory: inout HealthMemory, at now: Int64) -> [HealthFinding] {
        func unused(_ code: String, _ topic: String, _ defects: Defects) -> HealthFinding? {
            guard memory.recentLoss(code, total: defects.count, at: now) > 0, let example = defects.example
            else { return nil }
            return HealthFinding(
                code, "\(topic) is not fully used: \(example); check the publisher's units and signs", isLogged: true)
        }
        let undated =
            memory.recentLoss("fix_without_time", total: timeless, at: now) == 0
            ? nil
            : HealthFinding(
                "fix_without_time",
                "\(Topics.gnssFix.name): fixes without a time are left out: set timestamp, or the header's stamp_ns",
                isLogged: true)
        let misdated =
            memory.recentLoss("fix_time_invalid", total: misdated, at: now) == 0
            ? nil
            : HealthFinding(
                "fix_time_invalid",
                "\(Topics.gnssFix.name): fixes with an invalid timestamp are left out: its seconds must be those of a time from 1678 to "
                    + "2261, and its nanos from 0 to 999999999",
                isLogged: true)
        let stray =
            memory.recentLoss("odometry_stray", total: strays.count, at: now) == 0
            ? nil
            : HealthFinding(
                "odometry_stray",
                "odometry \(Int(abs(strays.lead))) s \(strays.lead < 0 ? "behind" : "ahead of") the fixes is ignored: "
                    + "its stamps must come from the fixes' clock (UTC)",
                isLogged: true)
        return [
            undated, misdated, stray, unused("fix_field_out_of_range", Topics.gnssFix.name, fixDefects),
            unused("odometry_field_out_of_range", Topics.odometry.name, odometryDefects),
        ].compactMap { $0 }
    }

    private static let suspicion = "the receiver suspects spoofed signals"
    private static let explanations: [(reason: PositionHealth.Reasons, code: String, text: String)] = [
        (
            .noFix, "gnss_no_fix",
            "no usable fixes: positions are predicted or unavailable; check the receiver and /nav/fix_rejected"
        ),
        (
            .accuracy, "gnss_accuracy",
            "positions are less accurate than \(Int(PositionHealthMonitor.reducedSigma)) m (1 σ), or fixes err more than stated"
        ),
        (
            .fixType, "gnss_fix_type",
            "fixes are of a lower type than fix.min_type, or the receiver itself predicts its positions (dead reckoning)"
        ),
        (.spoofing, "gnss_spoofing", "the receiver detects spoofed signals"),
        (.jamming, "gnss_jamming", "the receiver detects jamming"),
        (
            .integrity, "gnss_integrity", "the receiver's integrity monitoring warns, or its positions jumped"
        ),
        (
            .latency, "gnss_latency",
            "fixes arrive late or too rarely: check the receiver's rate and the host's load"
        ),
        (
            .contradiction, "gnss_contradiction",
            "the receiver's speed or course, or the odometry, contradicts the positions: check units and signs"
        ),
        (.tunnel, "gnss_tunnel", "the vehicle is in a mapped tunnel: positions are predicted"),
    ]
}

extension FixRejectionReason {
    /// The reason as lower-case words with underscores.
    package var word: String { String(description.dropFirst("FIX_REJECTION_REASON_".count)).lowercased() }
}

extension FasterRouteCounts {
    /// All counters by their names in the health report.
    var counters: [(name: String, value: Int)] {
        [
            ("faster_route_requests", requests), ("faster_route_held_back", heldBack),
            ("faster_route_not_worth_it", notWorthIt), ("faster_route_detected", detected),
        ]
    }
}
