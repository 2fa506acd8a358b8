"""The list of all faults."""

from dataclasses import dataclass
from typing import Callable

from run import Run, Scene

Action = Callable[[Run], None]


@dataclass(frozen=True)
class Fault:
    """What is done to the stack, and what must be true after it."""

    name: str
    group: str
    about: str
    scene: Scene
    action: Action
    quick: bool
    live: bool


ALL: list[Fault] = []


def fault(
    name: str, about: str, scene: Scene = Scene(), quick: bool = False, live: bool = False
) -> Callable[[Action], Action]:
    """Registers a fault; its group is the first word of its name.

    `quick`: it is part of the short run. `live`: it can be done to a stack that continues afterwards, any number of
    times.
    """

    def register(action: Action) -> Action:
        ALL.append(Fault(name, name.split("-")[0], about, scene, action, quick, live))
        return action

    return register
