"""The vehicle's messages: a changed value of each field that the node reads changes a position, a decision or a time."""

import math
import time
from typing import TYPE_CHECKING, Any, Callable

from stage import Failed, distance
from town import crossing, place

if TYPE_CHECKING:
    from drives import Drives

CHANGES = "changes the answer"
POSITION, RECEIVER, STATE = "/nav/position", "/nav/receiver", "/nav/state"
# The fields of a fix without a covariance.
PLAIN = {"position_covariance": None, "position_covariance_type": None}
WIDE = [100.0, 0, 0, 0, 100.0, 0, 0, 0, 100.0]


def fixes(drives: "Drives") -> None:
    """The fields of a fix."""
    vehicle, types = drives.vehicle, drives.types
    vehicle.stand(crossing(3, 3))
    north, east = place(750, 757)

    def shows(fields: str, topic: str, wanted: Callable[[Any], Any], **extra: Any) -> Any:
        since = time.monotonic()
        vehicle.extra = extra
        told = drives.bus.expect(topic, wanted, since, f"the effect of {fields} of a fix")
        vehicle.extra = {}
        drives.prove(" ".join(f"GnssFix.{field}" for field in fields.split()), CHANGES)
        return told

    def close(one: float, other: float) -> bool:
        return abs(one - other) < 1e-6

    shows("latitude", POSITION, lambda at: close(at.raw.latitude, north), latitude=north)
    shows("longitude", POSITION, lambda at: close(at.raw.longitude, east + 1e-4), longitude=east + 1e-4)
    shows("altitude", POSITION, lambda at: at.raw.altitude_m == 77, altitude=77.0)
    shows("heading", POSITION, lambda at: at.raw.heading == 1.25, heading=1.25)
    shows("speed", POSITION, lambda at: at.raw.speed_mps == 0.75, speed=0.75)
    shows("course", POSITION, lambda at: at.raw.course == 1.25, course=1.25)
    shows(
        "velocity_east_mps velocity_north_mps", POSITION,
        lambda at: close(at.raw.speed_mps, 0.5) and close(at.raw.course, math.atan2(3, 4)),
        speed=None, course=None, velocity_east_mps=0.3, velocity_north_mps=0.4,
    )  # fmt: skip
    radius = lambda low, high: lambda at: low < at.raw.horizontal_accuracy_m < high  # noqa: E731
    shows("position_covariance", POSITION, radius(9, 11), position_covariance=WIDE)
    ignored = dict(position_covariance=WIDE, position_covariance_type=None, horizontal_accuracy_m=4.0)
    shows("position_covariance_type", POSITION, radius(3.5, 4.5), **ignored)
    shows("horizontal_accuracy_m", POSITION, radius(6, 8), **PLAIN, horizontal_accuracy_m=7.0)
    shows("hdop", "/nav/fix_rejected", lambda told: told.reason == 3, **PLAIN, horizontal_accuracy_m=None, hdop=300.0)
    shows("horizontal_protection_level_m", POSITION, lambda at: at.protection_level_m == 33, horizontal_protection_level_m=33.0)
    shows("frame_id", RECEIVER, lambda told: told.receiver == "bonnet", frame_id="bonnet")
    shows("source", RECEIVER, lambda told: told.receiver == "other", frame_id=None, source="other")
    lags = lambda state: "LATENCY" in [types.enum("GnssQualityReason", one) for one in state.gnss.reasons]  # noqa: E731
    shows("receive_stamp_ns", STATE, lags, receive_stamp_ns=lambda now: now + 2_000_000_000)
    # The time of a position is that of the fix, not of its arrival.
    since, vehicle.late = time.monotonic(), 0.5
    drives.bus.until(lambda: any(is_late(drives, at) for at in drives.bus.observer.since(since, POSITION)), "a position of a late fix")
    vehicle.late = 0.0
    drives.prove("GnssFix.timestamp", CHANGES)


def is_late(drives: "Drives", heard: Any) -> bool:
    """Whether the header of the fix that caused a position has a later stamp than the position."""
    track = next(track for (topic, _), track in drives.bus.observer.tracks.items() if topic == "/gnss/fix")
    stamp = track.stamps.get(heard.message.cause_sequence, (0, 0.0))[0]
    return 0.4e9 < stamp - heard.message.stamp_ns < 0.9e9


def odometry(drives: "Drives") -> None:
    """The fields of odometry, tested by the prediction during an outage of the receiver away from roads."""
    vehicle, bus = drives.vehicle, drives.bus
    vehicle.stand(place(-700, 300))
    vehicle.follow([place(-700, 300), place(-700, 2500)], 10)
    vehicle.has_wheels = True

    def predicted(**wheels: Any) -> tuple[float, float, float, float]:
        """Returns the predicted motion north and east in the first 2.5 s of an outage, and the σ along and across, in m."""
        measured = lambda at: at.source == 1 and distance((at.raw.latitude, at.raw.longitude), vehicle.place) < 20  # noqa: E731
        bus.expect(POSITION, measured, time.monotonic(), "a position in the field")
        time.sleep(2)
        since = time.monotonic()
        vehicle.hide(wheels)
        at = bus.expect(POSITION, lambda at: at.age_s > 2.5, since, f"a position predicted with {wheels}")
        # From the last fix on, regardless of its delay.
        begin = [one.message for one in bus.observer.since(since - 10, POSITION) if one.message.source == 1][-1].matched
        vehicle.appear()
        north, east = at.matched.latitude - begin.latitude, at.matched.longitude - begin.longitude
        scale = 2.5 / at.age_s
        return north * 111_195 * scale, east * 71_475 * scale, at.along_sigma_m, at.cross_sigma_m

    north, _, along, cross = predicted()

    def differs(field: str, is_met: bool) -> None:
        if not is_met:
            raise Failed(f"{field} of odometry changes nothing in the prediction without fixes")
        drives.prove(f"VehicleOdometry.{field}", CHANGES)

    # Odometry that contradicts the fixes is not trusted for a while, so these tests come last.
    differs("speed_sigma_mps", predicted(speed_sigma_mps=20.0)[2] > along + 0.1)
    differs("yaw_rate_sigma_radps", abs(predicted(yaw_rate_sigma_radps=0.001)[3] - cross) > 0.1)
    differs("yaw_rate_radps", predicted(yaw_rate_radps=0.3, yaw_rate_sigma_radps=0.01)[1] < -5)
    differs("stamp_ns", predicted(speed_mps=5.0, stamp_ns=lambda now: now - 5_000_000_000)[0] > north - 5)
    differs("speed_mps", predicted(speed_mps=5.0)[0] < north - 5)
    differs("standstill", predicted(standstill=True)[0] < north - 5)
    differs("reverse", predicted(reverse=True)[0] < north - 5)
    vehicle.has_wheels = False
