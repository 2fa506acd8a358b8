"""All faults, and the choice among them."""

import faults_bus  # noqa: F401
import faults_disk  # noqa: F401
import faults_process  # noqa: F401
import faults_tiles  # noqa: F401
import faults_time  # noqa: F401
import faults_tools  # noqa: F401
from registry import ALL, Fault

__all__ = ["ALL", "Fault", "choose"]


def choose(names: str | None, quick: bool) -> list[Fault]:
    """Returns the faults of the given names and groups; by default all faults, or those of the short run."""
    if not names:
        return [fault for fault in ALL if fault.quick or not quick]
    chosen = []
    for name in names.split(","):
        found = [fault for fault in ALL if name in (fault.name, fault.group)]
        if not found:
            raise ValueError(f"there is no fault and no group '{name}': see --list")
        chosen += [fault for fault in found if fault not in chosen]
    return chosen
