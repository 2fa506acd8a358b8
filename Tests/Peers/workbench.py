"""Functions shared by measurements: paths, running programs, and showing figures."""
import contextlib
import json
import math
import os
import shutil
import socket
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHARED = os.path.join(os.path.dirname(ROOT), "shared")
DATA = os.environ.get("NAVBUS_TEST_DATA", os.path.join(SHARED, "data"))
METRES_PER_DEGREE = 111_195


def distance(first, second):
    """Returns the distance between two nearby places (latitude, longitude), metres."""
    east = (second[1] - first[1]) * math.cos(math.radians(first[0]))
    return math.hypot(second[0] - first[0], east) * METRES_PER_DEGREE


def say(text):
    print(text, file=sys.stderr, flush=True)


def run(words, **options):
    """Runs a program and returns its output; raises an error with its last line if it fails."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **options)
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise RuntimeError(f"{os.path.basename(str(words[0]))}: {lines[-1] if lines else done.returncode}")
    return done.stdout


def free_port():
    """Returns a free port of the loopback interface."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def workplace(folder, name):
    """Provides the given folder, or a temporary one that is removed at the end."""
    made = folder or tempfile.mkdtemp(prefix=f"navbus-{name}-")
    os.makedirs(made, exist_ok=True)
    try:
        yield made
    finally:
        if not folder:
            shutil.rmtree(made, ignore_errors=True)


def show(rows, as_json, **labels):
    """Prints figures as a table, or each as a line of JSON with labels."""
    if as_json:
        for row in rows:
            print(json.dumps({**labels, **row}))
        return
    columns = list(dict.fromkeys(key for row in rows for key in row))
    texts = [columns] + [[str(row.get(column, "")) for column in columns] for row in rows]
    widths = [max(len(line[i]) for line in texts) for i in range(len(columns))]
    for line in texts:
        print("  ".join(text.ljust(width) for text, width in zip(line, widths)).rstrip())
    print()
