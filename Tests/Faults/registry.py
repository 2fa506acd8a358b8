"""The list of all faults."""

from dataclasses import dataclass
from typing import Callable

from run import Run, Scene

Action = Callable[[Run], None]


@dataclass(frozen=True)
class Fault:
    """An action on the stack, with the checks that follow it."""

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

    `quick` faults are part of the short run. `live` faults can be injected repeatedly into a stack that continues
    afterwards.
    """

    def register(action: Action) -> Action:
        ALL.append(Fault(name, name.split("-")[0], about, scene, action, quick, live))
        return action

    return register
