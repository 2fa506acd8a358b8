"""Publishes odometry as fast as possible: flood.py BUS SECONDS."""

import pathlib
import sys
import time

sys.dont_write_bytecode = True
from bus import Messages, Publisher  # noqa: E402


def main(bus: str, seconds: str) -> None:
    """Floods a bus for a while."""
    types = Messages()
    publisher = Publisher(pathlib.Path(bus), types, "flood", {"/vehicle/odometry": ("navbus.v1.VehicleOdometry", 4096)})
    publisher.subscribers("/vehicle/odometry", 1, 10)
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        now = time.time_ns()
        odometry = types.VehicleOdometry(stamp_ns=now, speed_mps=5.0, yaw_rate_radps=0.0)
        publisher.publish("/vehicle/odometry", odometry.SerializeToString(), now)
    publisher.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
