"""The real stack in a separate folder: the launch of launch/vehicle.yaml, its processes, clock, logs and bag."""

import mmap
import os
import pathlib
import re
import secrets
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
from dataclasses import dataclass, field

import bus
from bus import ROOT

NODES = ("gnss-node", "navigation-node", "tile-cache-node", "recorder")
# The messages of a crashing program, and those of the launcher about it.
CRASH = re.compile(
    r"Fatal error|💣|\*\*\* Signal|Program crashed|Illegal instruction|Segmentation fault|Bus error|"
    r"killed by SIG(ILL|SEGV|BUS|ABRT|TRAP|FPE)|AddressSanitizer|double free|corrupted"
)


class SetUpFailed(Exception):
    """A requirement of a fault that the rig cannot meet."""


class NotStarted(Exception):
    """A stack under test, or a node of it, that does not start."""


def folder_for(name: str, parent: str | None) -> pathlib.Path:
    """Creates a folder with a short path, because the paths of sockets are limited."""
    return pathlib.Path(tempfile.mkdtemp(prefix=f"rig-{name[:24]}-", dir=parent or "/tmp"))


@dataclass
class Programs:
    """The programs under test."""

    folder: pathlib.Path
    launch_file: pathlib.Path = ROOT / "launch/vehicle.yaml"

    def __post_init__(self) -> None:
        for name in ("navbus", "navigation-node", "gnss-node", "tile-cache-node"):
            if not os.access(self.folder / name, os.X_OK):
                raise SetUpFailed(f"{self.folder}/{name} is missing: build it, or give the folder with --bin")

    def command(self, *words: object) -> list[str]:
        """Returns a command line of `navbus`."""
        return [str(self.folder / "navbus"), *map(str, words)]

    def run(
        self, *words: object, environment: dict[str, str] | None = None, seconds: float = 300, **options: object
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command of `navbus` to its end."""
        return subprocess.run(
            self.command(*words),
            text=True,
            timeout=seconds,
            env={**os.environ, **(environment or {})},
            **{"capture_output": True, **options},
        )


CRASH_SIGNAL = signal.SIGRTMAX - 3


class Shim:
    """A library preloaded into the stack that steps the host's clock and crashes processes."""

    def __init__(self, folder: pathlib.Path) -> None:
        library = folder / "shim.so"
        source = pathlib.Path(__file__).with_name("shim.c")
        compiler = shutil.which("cc") or shutil.which("clang") or shutil.which("gcc")
        if compiler is None:
            raise SetUpFailed("no C compiler for shim.c")
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
        path = folder / "clock"
        path.write_bytes(struct.pack("q", 0))
        self._file = open(path, "r+b")
        self._page = mmap.mmap(self._file.fileno(), 8)
        self.environment = {"LD_PRELOAD": str(library), "RIG_CLOCK": str(path)}

    def step_to(self, seconds: float) -> None:
        """Sets the offset of the host's clock."""
        self._page[:] = struct.pack("q", int(seconds * 1e9))


@dataclass
class Stack:
    """`navbus launch launch/vehicle.yaml` with its own bus, logs and bag."""

    programs: Programs
    folder: pathlib.Path
    tiles: pathlib.Path
    source: str
    arguments: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    shim: Shim | None = None
    record: bool = True
    wrapper: list[str] = field(default_factory=list)
    output: str | None = None

    def __post_init__(self) -> None:
        self.bus = self.folder / "bus"
        self.bus.mkdir(mode=0o700, exist_ok=True)
        self.bag = self.folder / "drive.mcap"
        self.log = self.folder / "launch.log"
        self.mark = f"rig-{secrets.token_hex(6)}"
        self.launcher: subprocess.Popen[bytes] | None = None
        self.expected_ends: list[str] = []
        self.killed: set[int] = set()
        self.asked_to_end = 0.0
        self._stopped: set[int] = set()

    @property
    def full_environment(self) -> dict[str, str]:
        """The environment of the stack's processes and of other processes on its bus."""
        known = {key: value for key, value in os.environ.items() if not key.startswith("NAVBUS")}
        shim = self.shim.environment if self.shim else {}
        return {**known, "NAVBUS_DIR": str(self.bus), "RIG_MARK": self.mark, **shim, **self.environment}

    def command(self) -> list[str]:
        """Returns the command line of the launch."""
        given = {"tiles": str(self.tiles), "source": self.source}
        if self.record:
            given |= {"record": "true", "bag": str(self.bag)}
        given |= self.arguments
        # No process outlives the rig, regardless of how the rig ends.
        leash = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
        return [
            *leash,
            *self.wrapper,
            *self.programs.command("launch", self.programs.launch_file),
            *(f"{key}:={value}" for key, value in given.items()),
        ]

    def spawn(self) -> None:
        """Starts the launch."""
        with open(self.output or self.log, "ab") as log:
            self.launcher = subprocess.Popen(
                self.command(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env=self.full_environment,
                start_new_session=True,
            )

    def start(self, *awaited: str, seconds: float = 60) -> None:
        """Starts the launch and waits until the nodes are on the bus."""
        self.spawn()
        assert self.launcher
        end = time.monotonic() + seconds
        names = awaited or ("gnss-node", "navigation-node", *(["recorder"] if self.record else []))
        while not all(self.is_up(name) for name in names):
            if self.launcher.poll() is not None:
                raise NotStarted(f"the launch ended immediately with {self.launcher.returncode}; see {self.log}")
            if time.monotonic() > end:
                raise NotStarted(f"{[name for name in names if not self.is_up(name)]} did not start; see {self.log}")
            time.sleep(0.02)

    def is_up(self, node: str) -> bool:
        """Whether a node is alive and has announced itself and its services."""
        told = bus.announcement(self.bus, node)
        if told is None or not bus.is_alive(self.bus, node) or not is_process(told["pid"]):
            return False
        return node not in NODES or node == "recorder" or "services" in told

    def pid(self, node: str) -> int:
        """Returns the process id of a live node."""
        told = bus.announcement(self.bus, node)
        if told is None or not is_process(told["pid"]):
            raise NotStarted(f"{node} is not running; see {self.log}")
        return int(told["pid"])

    def signal(self, node: str, number: signal.Signals) -> int:
        """Sends a signal to a node's process and returns its id; a SIGSEGV is caused inside the process."""
        pid = self.pid(node)
        if number not in (signal.SIGSTOP, signal.SIGCONT):
            self.killed.add(int(bus.announcement(self.bus, node)["boot_id"], 16))
        if number == signal.SIGSEGV:
            if not self.shim:
                raise SetUpFailed("the scene has no shim")
            self.expected_ends.append("SIGSEGV")
            os.kill(pid, CRASH_SIGNAL)
            return pid
        if number == signal.SIGSTOP:
            self._stopped.add(pid)
        elif number == signal.SIGCONT:
            self._stopped.discard(pid)
        elif number not in (signal.SIGINT, signal.SIGTERM):
            self.expected_ends.append(f"killed by {number.name}")
        os.kill(pid, number)
        return pid

    def stop_child(self, program: str) -> int:
        """Stops (SIGSTOP) the process of a program and returns its id; 0 if there is none yet."""
        for pid in self.processes():
            words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            if words[0].decode().endswith("/" + program):
                os.kill(pid, signal.SIGSTOP)
                self._stopped.add(pid)
                return pid
        return 0

    def processes(self) -> list[int]:
        """Returns all processes with the stack's mark in their environment, including the launcher."""
        found = []
        for entry in os.scandir("/proc"):
            if entry.name.isdigit():
                try:
                    with open(f"/proc/{entry.name}/environ", "rb") as file:
                        if f"RIG_MARK={self.mark}".encode() in file.read():
                            found.append(int(entry.name))
                except OSError:
                    pass
        return [pid for pid in found if is_process(pid)]

    def stop(self, seconds: float = 30) -> list[str]:
        """Ends the launch as Ctrl-C does; returns the problems."""
        problems: list[str] = []
        self.asked_to_end = self.asked_to_end or time.monotonic()
        for pid in list(self._stopped):
            try:
                os.kill(pid, signal.SIGCONT)
            except ProcessLookupError:
                pass
        self._stopped.clear()
        if self.launcher and self.launcher.poll() is None:
            self.launcher.send_signal(signal.SIGINT)
            try:
                self.launcher.wait(seconds)
            except subprocess.TimeoutExpired:
                problems.append(f"the launch did not end in {seconds:.0f} s after SIGINT")
                self.launcher.kill()
                self.launcher.wait()
        end = time.monotonic() + 5
        while (left := self.processes()) and time.monotonic() < end:
            time.sleep(0.05)
        for pid in left:
            problems.append(f"process {pid} ({command_of(pid)}) outlived the launch")
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        return problems

    def log_text(self) -> str:
        """Returns the output of the launch and its nodes so far."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def crashes(self) -> list[str]:
        """Returns the lines that report a crash that the rig did not cause."""
        lines = []
        asked = list(self.expected_ends)
        injected = any(name in end for end in asked for name in ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL"))
        for line in self.log_text().splitlines():
            if CRASH.search(line):
                known = next((end for end in asked if end in line), None)
                if known:
                    asked.remove(known)
                elif not injected:
                    lines.append(line.strip())
        return lines


def is_process(pid: int) -> bool:
    """Whether a process exists and is not a zombie."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (OSError, IndexError):
        return False


def command_of(pid: int) -> str:
    """Returns the command line of a process; "?" if unknown."""
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[:120]
    except OSError:
        return "?"


def resident_bytes(pid: int) -> int:
    """Returns the resident private memory of a process, without mapped files."""
    try:
        fields = dict(line.split(":", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines())
        return int(fields["RssAnon"].split()[0]) * 1024
    except (OSError, KeyError):
        return 0


def descriptor_count(pid: int) -> int:
    """Returns the number of open descriptors of a process."""
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return 0


def waited_for_processor(pids: list[int]) -> dict[tuple[int, str], int]:
    """Returns the time for which each thread of some processes was runnable but not running, ns."""
    waits = {}
    for pid in pids:
        try:
            for thread in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{thread}/schedstat") as file:
                    waits[pid, thread] = int(file.read().split()[1])
        except (OSError, IndexError):
            pass
    return waits


def free_port() -> int:
    """Returns a free port of the loopback interface."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
