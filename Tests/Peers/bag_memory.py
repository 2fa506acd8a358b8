#!/usr/bin/env python3
"""Measures the peak memory of every command that reads bags, on a bag of 50 GB.

The bag consists of a recorded drive and a camera topic, whose frames of 1 MiB are holes of a sparse file. Each chunk has a frame and the
messages of the drive since the previous chunk. Each command runs on the drive alone and on the large bag; the output has the peak
resident memory of both, in MB, and the seconds on the large bag. Some commands also run on the truncated bag, which has no index. The
exit status is 1 if a command fails, or takes over --limit-mb more than on the drive alone.

The memory of a command may depend on the length of the drive, but not on the size of the bag; the user guide lists the limits.

Needs the Python package mcap, and about 1 % of the size on a disk with sparse files. The default drive is the recording of
launch/demo.

    swift build -c release
    launch/demo
    python Tests/Peers/bag_memory.py --gb 50
"""
import argparse
import os
import shutil
import subprocess
import sys
import time

from workbench import ROOT, run, say, show, workplace

FRAME = 1 << 20
BLOCK = bytes(4096)
CAMERA = "/camera/image"
# A child counts its parent's memory until it executes its program, so a small parent starts each command.
METER = """
import os, sys
child = os.fork()
if child == 0:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.execvp(sys.argv[1], sys.argv[1:])
_, status, usage = os.wait4(child, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss / 1024)
"""


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gb", type=float, default=50, help="size of the bag")
    parser.add_argument("--drive", default=f"{ROOT}/.build/demo/recording.mcap", help="the bag of a drive")
    parser.add_argument("--tiles", default=f"{ROOT}/.build/demo/tiles", help="the road tiles of the drive")
    parser.add_argument("--bin", default=f"{ROOT}/.build/release", help="folder of the programs")
    parser.add_argument("--folder", help="folder for the bag and the output of the commands (default: a temporary one)")
    parser.add_argument("--only", default="", help="only commands whose name contains this")
    parser.add_argument("--limit-mb", type=float, default=100, help="the most growth of a command's memory")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


class SparseFile:
    """A file in which blocks of zeros are holes."""

    def __init__(self, path):
        self.file = open(path, "wb")

    def write(self, data):
        for begin in range(0, len(data), len(BLOCK)):
            block = data[begin : begin + len(BLOCK)]
            if block == BLOCK:
                self.file.seek(len(BLOCK), os.SEEK_CUR)
            else:
                self.file.write(block)
        return len(data)

    def tell(self):
        return self.file.tell()

    def flush(self):
        self.file.flush()


def make(path, drive, size):
    """Writes the drive with as many frames as the size requires, evenly distributed over time."""
    from mcap.reader import make_reader
    from mcap.writer import CompressionType, Writer

    with open(drive, "rb") as source:
        reader = make_reader(source)
        summary = reader.get_summary().statistics
        start = summary.message_start_time
        count = max(int(size / FRAME), 1)
        step = (summary.message_end_time - start) / count
        sparse = SparseFile(path)
        writer = Writer(sparse, chunk_size=FRAME, compression=CompressionType.NONE)
        writer.start()
        for entry in reader.iter_metadata():
            writer.add_metadata(entry.name, entry.metadata)
        for entry in reader.iter_attachments():
            writer.add_attachment(entry.create_time, entry.log_time, entry.name, entry.media_type, entry.data)
        camera = writer.register_channel(CAMERA, "raw", 0)
        channels, frames, picture = {}, 0, bytes(FRAME)

        def frame():
            nonlocal frames
            moment = start + int(frames * step)
            frames += 1
            writer.add_message(camera, moment, picture, moment, frames)

        for schema, channel, message in reader.iter_messages():
            while frames < count and start + int(frames * step) <= message.log_time:
                frame()
            if channel.id not in channels:
                schema_id = writer.register_schema(schema.name, schema.encoding, schema.data) if schema else 0
                channels[channel.id] = writer.register_channel(
                    channel.topic, channel.message_encoding, schema_id, channel.metadata)
            writer.add_message(
                channels[channel.id], message.log_time, message.data, message.publish_time, message.sequence)
        while frames < count:
            frame()
        writer.finish()
        sparse.flush()
        return start, summary.message_end_time


def commands(options, folder, seconds):
    """Returns the commands by name, with {BAG} for the bag, {OUT} for an output file and {FLEET} for a fleet of the bag."""
    navbus = f"{options.bin}/navbus"
    tiles = ["--tiles", os.path.abspath(options.tiles)]
    drive, half = os.path.abspath(options.drive), str(seconds // 2)
    bag = {
        "bag info": ["{BAG}"],
        "bag check": ["{BAG}"],
        "bag recover": ["{BAG}", "-o", "{OUT}.mcap"],
        "bag cut": ["{BAG}", "--start", half, "-o", "{OUT}.mcap"],
        "bag filter": ["{BAG}", "--exclude", "/nav/journal", "-o", "{OUT}.mcap"],
        "bag merge": ["{BAG}", drive, "-o", "{OUT}.mcap"],
        "bag cat": ["{BAG}"],
        "bag convert, CSV": ["{BAG}", "-o", "{OUT}.csv"],
        "bag convert, GPX": ["{BAG}", "-o", "{OUT}.gpx"],
        "bag convert, GeoJSON": ["{BAG}", "-o", "{OUT}.geojson"],
        "bag convert, Foxglove": ["{BAG}", "--foxglove", "-o", "{OUT}.mcap"],
        "bag convert, ROS 2": ["{BAG}", "-o", "{OUT}"],
        "bag diff": ["{BAG}", drive],
        "bag play": ["{BAG}", "--rate", "1000000", "--wait", "0"],
        "match": [*tiles, "{BAG}"],
        "match, smooth": [*tiles, "--format", "edges", "--smooth", "{BAG}"],
        "integrity": ["{BAG}", "--truth", f"{folder}/truth.csv"],
        "replay": ["{BAG}", *tiles, "--out", "{OUT}.mcap"],
        "check": ["{FLEET}", "--jobs", "1", "--cache", "{OUT}", "--timeout", "86400"],
        "report": ["{BAG}", *tiles, "--out", "{OUT}.html"],
        "report, against": ["{BAG}", "--against", drive, "--out", "{OUT}.html"],
    }
    found = {name: [navbus, *name.split(",")[0].split(), *words] for name, words in bag.items()}
    found["gnss-node"] = [f"{options.bin}/gnss-node", "--set", "source={BAG}", "--set", "file.rate=10000"]
    return {name: words for name, words in found.items() if options.only in name}


def measure(words, bag, options, folder):
    """Runs a command; returns its peak memory in MB, its seconds, and its error or None."""
    out = f"{folder}/out"
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(f"{out}/bus", mode=0o700)
    with open(f"{out}/fleet.yaml", "w") as file:
        file.write(f"tiles: {os.path.abspath(options.tiles)}\nexpect: [never reroute FAILED]\nbags: ['{bag}']\n")
    places = {"{BAG}": bag, "{OUT}": f"{out}/made", "{FLEET}": f"{out}/fleet.yaml"}
    for name, place in places.items():
        words = [word.replace(name, place) for word in words]
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-ISc", METER, *words], capture_output=True, text=True,
        env=dict(os.environ, NAVBUS_DIR=f"{out}/bus", NAVBUS_DOMAIN="0"))
    seconds = time.monotonic() - start
    shutil.rmtree(out)
    status, memory = done.stdout.split()
    complaint = (done.stderr.strip().splitlines() or ["no output"])[-1]
    return float(memory), seconds, None if status == "0" else f"status {status}: {complaint}"


def main():
    options = arguments()
    failures = []
    with workplace(options.folder, "bags") as folder:
        folder = os.path.abspath(folder)
        drive, large = os.path.abspath(options.drive), f"{folder}/large.mcap"
        say(f"making a bag of {options.gb:g} GB")
        start, end = make(large, drive, options.gb * 1e9)
        run([f"{options.bin}/navbus", "bag", "convert", drive, "-o", f"{folder}/truth.csv", "--overwrite"])
        rows = []

        def compare(name, words, base):
            memory, seconds, error = measure(words, large, options, folder)
            rows.append({
                "command": name, "drive, MB": f"{base:.0f}", "bag, MB": f"{memory:.0f}", "s": f"{seconds:.0f}"})
            say(f"{name}: {memory:.0f} MB")
            if error:
                failures.append(f"{name}: {error}")
            elif memory > base + options.limit_mb:
                failures.append(f"{name}: {memory - base:.0f} MB more than for the drive alone")

        chosen = commands(options, folder, int((end - start) / 1e9))
        bases = {name: measure(words, drive, options, folder)[0] for name, words in chosen.items()}
        for name, words in chosen.items():
            compare(name, words, bases[name])
        os.truncate(large, os.path.getsize(large) - FRAME)
        for name in ("bag info", "bag recover", "bag cat", "replay"):
            if name in chosen:
                compare(name + ", cut off", chosen[name], bases[name])
        os.remove(large)
        show(rows, options.json, gb=options.gb)
    for failure in failures:
        say(failure)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
