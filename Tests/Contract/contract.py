"""The contract according to the descriptors: publications and requests, and the fields that occurred."""

import fnmatch
import math
import pathlib
import sys
import threading
from collections import Counter
from typing import Any, Callable, Iterator

from google.protobuf import descriptor_pb2

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "Faults"))
from bus import Messages  # noqa: E402

PACKAGE = "navbus.v1."
EARLIEST, LATEST = 1_577_836_800_000_000_000, 4_102_444_800_000_000_000
ENUM = descriptor_pb2.FieldDescriptorProto.TYPE_ENUM
# The field numbers of `enum_type` and `value` in descriptors, which form the path of a value's comment.
ENUMS, VALUES = 5, 2
# The field numbers of `message_type` and `field`, which form the path of a field's comment.
MESSAGES, FIELDS = 4, 2
FULL_TURN = 2 * math.pi


def is_repeated(field: Any) -> bool:
    """Whether a field is repeated."""
    return field.is_repeated if hasattr(field, "is_repeated") else field.label == field.LABEL_REPEATED


def root(where: str) -> str:
    """Returns the place of the message of a topic or method; the health topics of all nodes are one place."""
    return "/health" if where.startswith("/health/") else where


def matches(place: str, table: dict[tuple[str, str], str]) -> tuple[str, str] | None:
    """Returns the table entry that matches a place: its key is a pattern of the message's place and the names of fields."""
    parent, _, name = place.rpartition(".")
    listed = (entry for entry in table if name in entry[1].split() or entry[1] == "*")
    return next((entry for entry in listed if fnmatch.fnmatchcase(parent, entry[0])), None)


def implausible(message: Any, field: Any, value: Any) -> str | None:
    """Describes how a value violates the rules of common.proto (units and ranges); None if it does not."""
    name = field.name
    if field.type == field.TYPE_ENUM:
        return "is unspecified" if value == 0 and field.enum_type.name != "BarrierPhase" else None
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        return None if value or name == "string_value" else "is empty"
    if not isinstance(value, (int, float)):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return "is not finite"
    if name.endswith("_ns") and "monotonic" not in name:
        return None if EARLIEST < value < LATEST else "is not a time of this century"
    ranges = {
        "latitude": (-90, 90),
        "longitude": (-180, 180),
        "course": (0, FULL_TURN),
        "courses": (0, FULL_TURN),
        "heading": (0, FULL_TURN),
        "course_before": (0, FULL_TURN),
        "course_after": (0, FULL_TURN),
        "course_difference_rad": (0, math.pi),
        "probability": (0, 1),
        "confidence": (0, 1),
        "deviation_probability": (0, 1),
        "off_road_probability": (0, 1),
        "fraction_traveled": (0, 1),
        "gain_ratio": (0, 1),
        "route_coverage": (0, 1),
        "progress": (0, 1),
        "zoom": (0, 22),
        "speed_mps": (0, 400),
        "speed_limit_mps": (0.5, 60),
        "limit_mps": (0.5, 60),
        "cpu_load": (0, 256),
    }
    low, high = ranges.get(name, (-math.inf, math.inf))
    if name not in ranges and name.endswith(("_m", "_s")) and "delta" not in name and "altitude" not in name:
        low, high = 0, 1e9
    slack = 1e-6
    return None if low - slack <= value <= high + slack else f"is not within {low:g} and {high:g}"


class Contract:
    """Every message, field and method of the schema, with those that occurred.

    A place is a field as a client encounters it: the topic or method, and the path of fields from its message, as in
    `/nav/alternatives.alternatives.route.summary`.
    """

    # Messages that occur in requests and answers: their fields are tested one by one in requests, even if answers have them.
    INPUTS = {
        "Waypoint", "RouteOptions", "VehicleProfile", "Polygon", "Polyline", "MultiPolygon", "RegionDefinition",
        "TilesetDescriptor", "TileKey", "BarrierPoint", "PolicyAnswer", "RerouteOptionsAnswer",
        "ReviseInstructionAnswer", "GnssFix", "VehicleOdometry", "TrafficSpeeds", "TrafficSpeed",
        "Parameter",
    }  # fmt: skip

    def __init__(self, types: Messages) -> None:
        self.types = types
        self._guard = threading.Lock()
        self.seen: Counter[str] = Counter()
        self.places: set[str] = set()
        self.enums: dict[str, set[int]] = {}
        self.wrong: dict[str, str] = {}
        self.proved: dict[str, set[str]] = {}
        self.answered: set[str] = set()
        self.unimplemented: set[str] = set()
        # The header of calls is part of the transport: every call of the walk uses it.
        transport = "navbus/v1/service_frame.proto"
        files = [file for file in types.files.file if file.package == "navbus.v1" and file.name != transport]
        self.messages = {message.name: message for file in files for message in file.message_type}
        self.services = {service.name: service for file in files for service in file.service}
        self.reserved = sum(
            sum(part.end - part.start for part in message.reserved_range) for message in self.messages.values()
        )

    # MARK: Occurrences

    def take(self, message: Any, where: str, place: str | None = None) -> None:
        """Records the fields of a message and of its nested messages, and implausible values.

        `place` is the place of the message; by default the topic or method in `where`.
        """
        with self._guard:
            self._take(message, where, place or root(where))

    def _take(self, message: Any, where: str, place: str) -> None:
        own = message.DESCRIPTOR.name
        self.seen[own] += 1
        for field, value in message.ListFields():
            key, here = f"{own}.{field.name}", f"{place}.{field.name}"
            self.seen[key] += 1
            self.places.add(here)
            values = value if is_repeated(field) else [value]
            if field.message_type is not None:
                if field.message_type.file.package == "navbus.v1":
                    for part in values:
                        self._take(part, where, here)
                continue
            if field.type == field.TYPE_ENUM:
                self.enums.setdefault(field.enum_type.name, set()).update(values)
            for part in values[:64] if is_repeated(field) else values:
                fault = implausible(message, field, part)
                if fault:
                    self.wrong.setdefault(key, f"{part!r} {fault} ({where})")

    def prove(self, fields: str, how: str) -> None:
        """Records that fields of requests change the answer or are rejected by name."""
        for field in fields.split():
            self.proved.setdefault(field, set()).add(how)

    # MARK: The schema

    def fields(self, message: str) -> list[str]:
        """Returns the names of a message's fields."""
        return [field.name for field in self.messages[message].field]

    def reachable(self, roots: set[str]) -> set[str]:
        """Returns messages with all messages nested in them."""
        found: set[str] = set()
        rest = sorted(roots)
        while rest:
            name = rest.pop()
            if name in found or name not in self.messages:
                continue
            found.add(name)
            rest += [kind for kind in map(self.kind, self.messages[name].field) if kind not in self.left_out]
        return found

    @staticmethod
    def kind(field: Any) -> str:
        """Returns the message type of a field; empty if it is not a message."""
        return field.type_name.removeprefix("." + PACKAGE)

    @property
    def left_out(self) -> set[str]:
        """The requests and answers of methods without an implementation."""
        found = set()
        for name in self.unimplemented:
            service, method = name.split(".")
            known = next(known for known in self.methods(service) if known.name == method)
            found |= {side.removeprefix("." + PACKAGE) for side in (known.input_type, known.output_type)}
        return found

    def methods(self, service: str) -> list[Any]:
        """Returns the methods of a service."""
        return list(self.services[service].method)

    def request_messages(self) -> set[str]:
        """Returns the messages whose fields are tested one by one: requests to our nodes, and answers of the owner."""
        found = set()
        for name in self.services:
            for method in self.methods(name):
                side = method.output_type if name == "Policy" else method.input_type
                if f"{name}.{method.name}" not in self.unimplemented:
                    found.add(side.removeprefix("." + PACKAGE))
        return found | self.INPUTS

    def published_messages(self, topics: set[str]) -> set[str]:
        """Returns the messages that our nodes publish, send as answers, or send as requests to the owner."""
        roots = set(topics)
        for name in self.services:
            for method in self.methods(name):
                side = method.input_type if name == "Policy" else method.output_type
                if f"{name}.{method.name}" not in self.unimplemented:
                    roots.add(side.removeprefix("." + PACKAGE))
        return self.reachable(roots) | {"Header"}

    def roots(self, topics: dict[str, str]) -> dict[str, str]:
        """Returns the places of whole messages that our nodes send, with their types; requests to the owner are on /nav/policy/request."""
        found = {root(topic): kind for topic, kind in topics.items()}
        for name in sorted(self.services):
            for method in self.methods(name):
                if name != "Policy" and f"{name}.{method.name}" not in self.unimplemented:
                    found[f"{name}.{method.name}"] = method.output_type.removeprefix("." + PACKAGE)
        return found

    def below(self, place: str, kind: str, is_entered: Callable[[str], bool]) -> Iterator[tuple[str, str]]:
        """Yields the places in a message and in the nested messages that `is_entered` selects, each with its `Message.field`."""
        for field in self.messages[kind].field:
            here, part = f"{place}.{field.name}", self.kind(field)
            yield here, f"{kind}.{field.name}"
            if part in self.messages and is_entered(here):
                yield from self.below(here, part, is_entered)

    def given(self) -> list[str]:
        """Returns the places of messages that clients send but nodes otherwise publish, such as the route of SetRoute."""
        nested = [
            (f"{message}.{field.name}", self.kind(field))
            for message in sorted(self.request_messages() & set(self.messages))
            for field in self.messages[message].field
        ]
        ours = [(place, kind) for place, kind in nested if kind in self.messages and kind not in self.request_messages()]
        return [here for place, kind in ours for here, _ in self.below(place, kind, lambda _: True)]

    def commented(self, words: str) -> set[str]:
        """Returns the fields whose comment in the proto contains some words, as `Message.field`."""
        found = set()
        for file in self.types.files.file:
            for place in file.source_code_info.location:
                path = place.path
                if len(path) == 4 and (path[0], path[2]) == (MESSAGES, FIELDS) and words in place.leading_comments:
                    message = file.message_type[path[1]]
                    found.add(f"{message.name}.{message.field[path[3]].name}")
        return found

    def published_values(self, topics: set[str]) -> dict[str, bool]:
        """Returns the values of the enums in published messages, and whether the comment of each contains `Not published`."""
        messages = self.published_messages(topics)
        kinds = {field.type_name for name in messages for field in self.messages[name].field if field.type == ENUM}
        found = {}
        for file in self.types.files.file:
            comments = {tuple(place.path): place.leading_comments for place in file.source_code_info.location}
            for index, enum in enumerate(file.enum_type):
                if f".{file.package}.{enum.name}" not in kinds:
                    continue
                for number, value in enumerate(enum.value):
                    # 0 represents an absent value.
                    if value.number:
                        found[value.name] = "Not published" in comments.get((ENUMS, index, VALUES, number), "")
        return found

    def seen_values(self) -> set[str]:
        """Returns the values of enums that occurred."""
        described = {enum.name: enum for file in self.types.files.file for enum in file.enum_type}
        return {
            value.name for name, seen in self.enums.items() for value in described[name].value if value.number in seen
        }

    def only_unimplemented(self, topics: set[str]) -> set[str]:
        """Returns the messages that belong only to methods without an implementation."""
        whole = self.left_out | set().union(*(set(map(self.kind, self.messages[name].field)) for name in self.left_out))
        return self.reachable(whole) - self.published_messages(topics) - self.reachable(self.request_messages())
