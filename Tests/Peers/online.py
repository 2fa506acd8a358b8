#!/usr/bin/env python3
"""Tests a navigation-node with a real route provider on loopback: valhalla_service, then osrm-routed.

Starts the provider and the node, requests routes, suspends and resumes the provider, drives with a wrong turn, and prints the
provider of each route and the time taken. The exit status is 1 if an expectation fails.

    Tests/Peers/online.py MAP.osm.pbf --bin .build/release --work FOLDER [--from LAT,LON --to LAT,LON] [--calls N]

Needs osrm-bindings and pyvalhalla, whose wheels contain the servers.
"""
import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))


class Table:
    """A separate bus with a node on it."""

    def __init__(self, options, tiles, url, dialect):
        self.folder = tempfile.TemporaryDirectory(prefix="nvo-")
        self.environment = dict(os.environ, NAVBUS_DIR=self.folder.name, NAVBUS_DOMAIN="0")
        self.options = options
        self.processes = []
        words = [f"tiles={tiles}", f"directions.url={url}", f"directions.dialect={dialect}", f"destination={options.to}",
                 "directions.rest_first_s=2", "directions.deadline_ms=1000", "directions.attempt_ms=800",
                 "alternatives.enabled=false", "faster.enabled=false"]
        self.log = open(os.path.join(self.folder.name, "node.log"), "w+")
        self.start("navigation-node", [word for setting in words for word in ("--set", setting)], stderr=self.log)

    def tool(self, name):
        return os.path.join(self.options.bin, name)

    def start(self, name, words, **more):
        process = subprocess.Popen([self.tool(name), *words], env=self.environment, stdin=subprocess.DEVNULL, **more)
        self.processes.append(process)
        return process

    def call(self, method, request):
        begin = time.monotonic()
        done = subprocess.run(
            [self.tool("navbus"), "service", "call", "--wait", "--timeout", "30", f"navbus.v1.Navigation/{method}",
             json.dumps(request)], env=self.environment, capture_output=True, text=True)
        seconds = time.monotonic() - begin
        if done.returncode != 0:
            raise SystemExit(f"{method}: {done.stderr.strip()}")
        return [json.loads(line) for line in done.stdout.splitlines()], seconds

    def route(self, places):
        """Requests a route between places; returns its provider and the time taken."""
        spots = [{"latitude": latitude, "longitude": longitude} for latitude, longitude in places]
        parts, seconds = self.call("CalculateRoute", {"origin": spots[0], "waypoints": spots[1:], "preview": False})
        last = parts[-1]
        if not last.get("routes"):
            return last.get("error", {}).get("code", "NOTHING"), seconds
        return last["routes"][0].get("provider", "NOBODY"), seconds

    def close(self):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.log.seek(0)
        text = self.log.read()
        self.log.close()
        self.folder.cleanup()
        return text


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(word) for word in file.read().split()]


def knows(url, dialect, places):
    """Whether the provider, queried directly, has a route between places."""
    if dialect == "osrm":
        query = "/route/v1/driving/" + ";".join(f"{longitude},{latitude}" for latitude, longitude in places)
    else:
        question = {"locations": [{"lat": latitude, "lon": longitude} for latitude, longitude in places],
                    "costing": "auto", "format": "osrm"}
        query = "/route?json=" + urllib.parse.quote(json.dumps(question))
    try:
        return json.load(urllib.request.urlopen(url + query, timeout=10))["code"] == "Ok"
    except urllib.error.HTTPError:
        return False


def drive(table, bag):
    """Drives with a wrong turn; returns the providers of the driven routes, and the phases of the reroutes."""
    echo = table.start(
        "navbus", ["topic", "echo", "--json", "/nav/route", "/nav/reroute"], stdout=subprocess.PIPE, text=True)
    time.sleep(1)
    subprocess.run(
        [table.tool("navbus"), "bag", "play", bag, "--rate", "4", "--topics", "/gnss/fix"], env=table.environment, check=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(1)
    echo.terminate()
    messages = [json.loads(line) for line in echo.communicate()[0].splitlines()]
    routes = [m["message"].get("provider") for m in messages if m["topic"] == "/nav/route" and m["message"].get("edge_ids")]
    phases = [m["message"].get("phase") for m in messages if m["topic"] == "/nav/reroute"]
    return routes, phases


def run(options, dialect, url, pid, tiles, bag):
    faults = []

    def expect(condition, text):
        print(f"  {'yes' if condition else 'NO '} {text}")
        if not condition:
            faults.append(f"{dialect}: {text}")

    table = Table(options, tiles, url, dialect)
    try:
        draw = random.Random(1)
        ends = [tuple(map(float, text.split(","))) for text in (options.start, options.to)]

        def pair():
            return [(draw.uniform(ends[0][0], ends[1][0]), draw.uniform(ends[0][1], ends[1][1])) for _ in range(2)]

        pairs = [pair() for _ in range(options.calls)]
        answers = [table.route(places) for places in pairs]
        known = sum(knows(url, dialect, places) for places in pairs)
        online = [seconds for who, seconds in answers if who == "ROUTE_PROVIDER_ONLINE"]
        print(f"  {len(answers)} calls, {known} of them known to the provider: " + ", ".join(
            f"{who} {sum(other == who for other, _ in answers)}" for who in sorted({who for who, _ in answers})))
        if online:
            print(f"  online, the client's process included: p50 {statistics.median(online) * 1e3:.0f} ms")
        expect(known > 0 and len(online) >= 0.95 * known, "the provider's routes are used where it has one")

        os.kill(pid, signal.SIGSTOP)
        who, seconds = table.route(pair())
        expect(who == "ROUTE_PROVIDER_ON_BOARD" and seconds < 2.5,
               f"with a hanging provider, the route is computed on board after the deadline of 1 s: {who}, {seconds:.2f} s")
        for _ in range(3):
            table.route(pair())
        who, seconds = table.route(pair())
        expect(who == "ROUTE_PROVIDER_ON_BOARD" and seconds < 0.5,
               f"after three failures the provider is not queried: {who}, {seconds:.2f} s")
        os.kill(pid, signal.SIGCONT)
        until = time.monotonic() + 30
        while (who := table.route(pair())[0]) != "ROUTE_PROVIDER_ONLINE" and time.monotonic() < until:
            time.sleep(0.5)
        expect(who == "ROUTE_PROVIDER_ONLINE", "the provider is used again when it answers")

        routes, phases = drive(table, bag)
        print(f"  drive: routes of {routes}, reroute {phases}")
        expect(len(routes) >= 2 and set(routes) == {"ROUTE_PROVIDER_ONLINE"}, "first route and reroute are from the provider")
        wanted = ["WILL_REROUTE", "FETCHING", "FETCHED", "APPLIED"]
        steps = [phase.removeprefix("REROUTE_PHASE_") for phase in phases]
        expect(any(steps[i:i + 4] == wanted for i in range(len(steps))), "the reroute has all phases")
    finally:
        os.kill(pid, signal.SIGCONT)
        text = table.close()
    for line in text.splitlines():
        if "provider" in line:
            print("  log:", line.split(" ", 1)[1])
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("map")
    parser.add_argument("--bin", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--from", dest="start", default="60.1655,24.9375")
    parser.add_argument("--to", default="60.1765,24.9505")
    parser.add_argument("--calls", type=int, default=100)
    options = parser.parse_args()
    os.makedirs(options.work, exist_ok=True)
    tiles, bag = os.path.join(options.work, "navbus"), os.path.join(options.work, "drive.mcap")
    navbus = os.path.join(options.bin, "navbus")
    if not os.path.exists(os.path.join(tiles, "tileset.json")):
        subprocess.run([navbus, "map", "build", options.map, "--out", tiles], check=True, stdout=subprocess.DEVNULL)
    if os.path.exists(bag):
        os.remove(bag)
    # The node uses the system clock, as in a vehicle: the fixes are current.
    subprocess.run(
        [navbus, "simulate", "--tiles", tiles, "--from", options.start, "--to", options.to, "--deviate-at", "500",
         "--out", bag], check=True, stdout=subprocess.DEVNULL)
    servers = subprocess.Popen(
        [sys.executable, os.path.join(HERE, "directions.py"), options.map, options.work], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True)
    faults = []
    try:
        urls = {}
        for line in servers.stdout:
            words = line.split()
            if words == ["ready"]:
                break
            urls[words[0]] = words[1]
        else:
            sys.exit("the providers did not start")
        pids = {}
        for pid in children(servers.pid):
            with open(f"/proc/{pid}/cmdline") as file:
                command = file.read()
            pids["osrm" if "osrm-routed" in command else "valhalla"] = pid
        for dialect in ("valhalla", "osrm"):
            print(f"{dialect} at {urls[dialect]}")
            faults += run(options, dialect, urls[dialect], pids[dialect], tiles, bag)
    finally:
        servers.stdin.close()
        servers.wait(20)
    sys.exit("\n".join(faults) if faults else 0)


if __name__ == "__main__":
    main()
