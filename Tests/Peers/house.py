#!/usr/bin/env python3
"""Measures the project at a commit: lines by target, openings of comments, sizes of the programs, and the cost of a clean build.

 * lines: hand-written lines of Swift by target, without Generated
 * openings: documentation comments that begin with What, Who, How or Where, and their share
 * packages: with --build, the required packages and their versions
 * build: with --build, processor minutes, wall minutes and compile steps of a release build in a clean clone: of the products of
   launch/demo, and of everything except tests
 * stripped: megabytes of the built programs without symbols: with --build those of the clone, otherwise those in the folder --bin, whose
   commit is unknown

    Tests/Peers/house.py [--commit HEAD] [--bin .build/release] [--build] [--json]
"""
import argparse
import collections
import json
import os
import re
import resource
import subprocess
import tempfile
import time

from workbench import ROOT, run, say, show

PROGRAMS = ("gnss-node", "navigation-node", "tile-cache-node", "navbus", "policy-node-example")


def sources(commit):
    """Yields the Swift files of a commit with their lines."""
    names = run(["git", "-C", ROOT, "ls-tree", "-r", "--name-only", commit, "Sources", "Tests"]).splitlines()
    for name in names:
        if name.endswith(".swift") and "/Generated/" not in name:
            yield name, run(["git", "-C", ROOT, "show", f"{commit}:{name}"]).splitlines()


def text_figures(commit):
    """Returns the lines by target, and the openings of documentation comments."""
    lines, comments = collections.Counter(), collections.Counter()
    for name, content in sources(commit):
        lines["/".join(name.split("/")[:2])] += len(content)
        before = ""
        for line in map(str.strip, content):
            if line.startswith("///") and not before.startswith("///"):
                comments["all"] += 1
                comments["opens so"] += bool(re.match(r"///\s*(What|Who|How|Where)\b", line))
            before = line
    rows = [{"target": target, "lines": count} for target, count in sorted(lines.items())]
    rows.append({"target": "all of Sources", "lines": sum(n for name, n in lines.items() if name.startswith("Sources/"))})
    share = comments["opens so"] / max(comments["all"], 1)
    return rows, [{"comments": comments["all"], "opening": comments["opens so"], "share": round(share, 4)}]


def stripped(folder):
    """Returns the sizes of the programs without symbols."""
    rows = []
    for program in PROGRAMS:
        path = os.path.join(folder, program)
        if os.path.exists(path):
            with tempfile.NamedTemporaryFile() as file:
                run(["strip", "-o", file.name, path])
                rows.append({"program": program, "mb": round(os.path.getsize(file.name) / 1e6, 2)})
    return rows


def build(commit):
    """Builds a clean clone in release mode after fetching packages; returns the packages, the cost and the sizes of the programs."""
    with tempfile.TemporaryDirectory() as clone:
        run(["git", "clone", "--quiet", "--no-local", ROOT, clone])
        run(["git", "-C", clone, "checkout", "--quiet", "--detach", commit])
        run(["swift", "package", "resolve"], cwd=clone)
        with open(os.path.join(clone, "Package.resolved")) as file:
            pins = [{"package": pin["identity"], "version": pin["state"].get("version")} for pin in json.load(file)["pins"]]
        say("building")
        costs, steps = [], 0
        begun, used = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
        # The second cost contains the first: the demo's products are a part of everything.
        for what, products in (("demo", ("navbus", "navigation-node")), ("all", (None,))):
            for product in products:
                text = run(["swift", "build", "-c", "release"] + (["--product", product] if product else []), cwd=clone)
                steps += max((int(total) for total in re.findall(r"\[\d+/(\d+)\]", text)), default=0)
            now = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
            wall = time.monotonic() - begun
            costs.append({"what": what, "cpu_min": round(cpu / 60, 1), "wall_min": round(wall / 60, 1), "steps": steps})
        return pins, costs, stripped(os.path.join(clone, ".build", "release"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commit", default="HEAD")
    parser.add_argument("--bin", default=os.path.join(ROOT, ".build", "release"))
    parser.add_argument("--build", action="store_true", help="also build in a clean clone")
    parser.add_argument("--json", action="store_true", help="one line of JSON per figure")
    arguments = parser.parse_args()
    commit = run(["git", "-C", ROOT, "rev-parse", arguments.commit]).strip()
    lines, openings = text_figures(commit)
    parts = [("lines", lines), ("openings", openings)]
    if arguments.build:
        packages, costs, sizes = build(commit)
        parts += [("packages", packages), ("build", costs), ("stripped", sizes)]
    for part, rows in parts:
        if rows:
            show(rows, arguments.json, commit=commit[:12], part=part)
    sizes = [] if arguments.build else stripped(arguments.bin)
    if sizes:
        show(sizes, arguments.json, folder=arguments.bin, part="stripped")


if __name__ == "__main__":
    main()
