#!/usr/bin/env python3
"""Compares the figures of navbus-bench of two commits in alternating rounds: the medians, and the ratio of the second to the first.

    Tests/Peers/alternate.py ../older/.build/release .build/release [--rounds 7] [--json] -- SUITE [OPTION...]

Each round runs a suite with its options: `nav --tiles TILES` measures the time from fixes to their progress,
`route --tiles TILES --only queries` routes, `match --tiles TILES` points, `tiles --only plan` planning. In every other round the second
folder is first.
"""
import argparse
import json
import os
import statistics

from workbench import run, say, show


def figures(folder, suite):
    """Runs one round; returns values and units by name."""
    text = run([os.path.join(folder, "navbus-bench"), suite[0], "--json", "--rounds", "1", *suite[1:]])
    return {row["name"]: (row["value"], row["unit"]) for row in map(json.loads, text.splitlines())}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first", help="folder of the reference programs")
    parser.add_argument("second", help="folder of the programs to compare")
    parser.add_argument("suite", nargs="+", help="a suite of navbus-bench and its options, after --")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", action="store_true", help="one line of JSON per figure")
    arguments = parser.parse_args()
    sides = [(arguments.first, {}), (arguments.second, {})]
    units = {}
    for number in range(arguments.rounds):
        say(f"round {number + 1} of {arguments.rounds}")
        for folder, values in sides if number % 2 == 0 else reversed(sides):
            for name, (value, units[name]) in figures(folder, arguments.suite).items():
                values.setdefault(name, []).append(value)
    first, second = ({name: statistics.median(all) for name, all in values.items()} for _, values in sides)
    show(
        [
            {
                "figure": name, "first": round(first[name], 5), "second": round(second[name], 5),
                "ratio": round(second[name] / first[name], 3) if first[name] else "", "unit": unit,
            }
            for name, unit in units.items() if name in first and name in second
        ], arguments.json, rounds=arguments.rounds)


if __name__ == "__main__":
    main()
