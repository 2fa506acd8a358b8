#!/usr/bin/env python3
"""Compares loading a whole map into a tile cache's store with curl, sha256sum and sync.

An nginx on loopback serves a directory of road tiles. In alternating rounds, each into a separate folder, `navbus region
load` makes a `tile-cache-node` load all of it (download, SHA-256 check, write, sync, index), and `curl --parallel` downloads
the same files over as many connections; then sha256sum checks them against the server's list, and sync writes them to the
disk. The output has seconds and megabytes per second, medians; `kept` is curl alone, `checked` includes sha256sum, and
`durable` also includes sync.

    Tests/Peers/loading.py TILES [--bin .build/release] [--nginx PROGRAM] [--rounds 5] [--folder DIR] [--json]

Needs nginx, curl and coreutils. TILES is the output of `navbus map build`.
"""
import argparse
import contextlib
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import time

from workbench import ROOT, free_port, run, show, workplace

CONNECTIONS = 6


@contextlib.contextmanager
def running(words, **options):
    process = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, **options)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def until(what, seconds=20):
    """Repeats an action until it succeeds, and returns its result."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return what()
        except (OSError, RuntimeError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def server(nginx, tiles, folder):
    """Returns the command that runs nginx in the foreground, and its port."""
    port = free_port()
    names = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    places = " ".join(f"{name}_temp_path {folder}/{name};" for name in names)
    path = os.path.join(folder, "nginx.conf")
    with open(path, "w") as file:
        file.write(
            f"daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/nginx.log;\n"
            f"events {{ worker_connections 64; }}\nhttp {{ access_log off; sendfile on; tcp_nopush on; {places}\n"
            f"server {{ listen 127.0.0.1:{port}; root {tiles}; }} }}\n")
    return [nginx, "-c", path, "-p", folder, "-e", f"{folder}/nginx.log"], port


def timed(work):
    begin = time.monotonic()
    work()
    return time.monotonic() - begin


def ours(arguments, url, area, folder):
    """Returns the seconds from the request for a region until it is complete."""
    environment = dict(os.environ, NAVBUS_DIR=os.path.join(folder, "bus"), NAVBUS_DOMAIN="0")
    os.makedirs(environment["NAVBUS_DIR"], mode=0o700)
    navbus = os.path.join(arguments.bin, "navbus")
    words = [os.path.join(arguments.bin, "tile-cache-node"), "--set", f"tilesets=name=roads,source={url}", "--set",
             f"store.path={folder}/store"]
    with open(os.path.join(folder, "node.log"), "w") as log, running(words, env=environment, stderr=log):
        until(lambda: run([navbus, "region", "list"], env=environment))
        return timed(lambda: run([navbus, "region", "load", "all", "--geojson", area], env=environment))


def theirs(url, files, folder):
    """Returns the seconds of curl, sha256sum and sync."""
    home = os.path.join(folder, "files")
    lines = [f'url = "{url}/{name}"\noutput = "{home}/{name}"\n' for name in files]
    with open(os.path.join(folder, "urls"), "w") as file:
        file.writelines(lines)
    with open(os.path.join(folder, "sums"), "w") as file:
        file.writelines(f"{digest}  {name}\n" for name, digest in files.items())
    curl = ["curl", "--silent", "--show-error", "--fail", "--create-dirs", "--parallel", "--parallel-max", CONNECTIONS,
            "--config", f"{folder}/urls"]
    return [
        timed(lambda: run(curl)), timed(lambda: run(["sha256sum", "--check", "--quiet", f"{folder}/sums"], cwd=home)),
        timed(lambda: run(["sync", "--file-system", home]))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tiles")
    parser.add_argument("--bin", default=os.path.join(ROOT, ".build", "release"))
    parser.add_argument("--nginx", default="nginx")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", help="folder for the downloads (default: a temporary one)")
    parser.add_argument("--json", action="store_true", help="one line of JSON per figure")
    arguments = parser.parse_args()
    arguments.bin = os.path.abspath(arguments.bin)
    with open(os.path.join(arguments.tiles, "tileset.json")) as file:
        listed = json.load(file)
    parts = [part for tile in listed["tiles"] for part in (tile, tile["ranks"])]
    size = sum(part["bytes"] for part in parts)
    files = {part["file"]: part["sha256"] for part in parts}
    west, south, east, north = (listed["bounds"][side] for side in ("west", "south", "east", "north"))
    times = {"navbus": [], "curl, kept": [], "curl, checked": [], "curl, durable": []}
    with workplace(arguments.folder, "loading") as folder:
        area = os.path.join(folder, "area.geojson")
        corners = [[west, south], [east, south], [east, north], [west, north], [west, south]]
        with open(area, "w") as file:
            json.dump({"type": "Polygon", "coordinates": [corners]}, file)
        words, port = server(arguments.nginx, os.path.abspath(arguments.tiles), os.path.abspath(folder))
        url = f"http://127.0.0.1:{port}"
        with running(words):
            until(lambda: socket.create_connection(("127.0.0.1", port), 1).close())
            for number in range(arguments.rounds):
                homes = [os.path.join(folder, f"{side}-{number}") for side in ("navbus", "curl")]
                for home in homes:
                    os.makedirs(home)
                times["navbus"].append(ours(arguments, url, area, homes[0]))
                kept, checked, synced = theirs(url, files, homes[1])
                times["curl, kept"].append(kept)
                times["curl, checked"].append(kept + checked)
                times["curl, durable"].append(kept + checked + synced)
        # Removed after the measurements, because on some file systems removing files makes the next writes expensive.
        for number in range(arguments.rounds):
            for side in ("navbus", "curl"):
                shutil.rmtree(os.path.join(folder, f"{side}-{number}"))
    first = statistics.median(times["navbus"])
    rows = []
    for who, seconds in times.items():
        middle = statistics.median(seconds)
        rows.append({
            "who": who, "files": len(files), "mb": round(size / 1e6, 1), "seconds": round(middle, 3),
            "mb_per_s": round(size / 1e6 / middle, 1), "navbus_times_as_fast": round(middle / first, 2)})
    show(rows, arguments.json)


if __name__ == "__main__":
    try:
        main()
    except RuntimeError as error:
        sys.exit(f"{error}")
