#!/usr/bin/env python3
"""Tests the pages of `navbus report` and `navbus view` in headless Chromium: console output, first paint, and screenshots.

Each drive has a report and a live page; each page is opened in every width, light and dark. The demo's drive is simulated and
recorded as in launch/demo. Further drives are recordings with their tiles, for example of two hours:

    navbus simulate --tiles porto --from 41.328,-8.372 --via 41.15,-8.61 --via 41.33,-8.37 --via 41.14,-8.62 \\
        --via 41.2,-8.4 --to 41.298,-8.603 --odometry 10 --seed 3 --out fixes.mcap
    navbus replay fixes.mcap --tiles porto --to 41.298,-8.603 --out long.mcap
    Tests/Peers/pages.py --drive long long.mcap porto

A live page shows the playback of the recording, paused before its end. The output has the times of the first contentful paint
and of the complete drawing by the page's script, in ms from the start of the navigation. The exit status is 1 if a page writes
to its console or its first paint takes more than a second.

    Tests/Peers/pages.py [--navbus PROGRAM] [--drive NAME BAG TILES]… [--widths 390,820,1440] [--folder DIR] [--json]
    Tests/Peers/pages.py [--navbus PROGRAM] --picture     only renews the README's picture

Needs Chromium and the Python package websockets.
"""
import argparse
import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys

from workbench import ROOT, run, say, show, workplace

sys.path.insert(0, os.path.join(ROOT, "Tests", "EndToEndTests"))

import browser  # noqa: E402

START, END = "60.1655,24.9375", "60.1765,24.9505"
MOST_PAINT = 1_000
README_PICTURE, README_SIZE = f"{ROOT}/Sources/navbus/navbus.docc/Resources/report.png", (1600, 900)
# The duration of the playback for a live page, seconds.
PLAYBACK = 20
READY = "document.documentElement.dataset.ready === 'true' && performance.getEntriesByName('first-contentful-paint').length > 0"
LIVE = "document.documentElement.dataset.live === 'live' && page.map !== null && page.nodes !== undefined"


def demo(navbus, folder):
    """Creates the recording of launch/demo; returns its name, its path and its tiles."""
    work = os.path.join(folder, "demo")
    tiles, bag = os.path.join(work, "tiles"), os.path.join(work, "recording.mcap")
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    say("driving the demo")
    run([navbus, "map", "build", f"{ROOT}/Tests/Fixtures/helsinki.osm.pbf", "--out", tiles])
    run([navbus, "simulate", "--tiles", tiles, "--from", START, "--to", END, "--deviate-at", 500, "--noise", "urban",
         "--seed", 7, "--out", os.path.join(work, "drive.mcap")])
    run([navbus, "launch", f"{ROOT}/launch/demo.yaml", f"work:={work}", f"destination:={END}"])
    return "demo", bag, tiles


@contextlib.contextmanager
def started(words, **options):
    """Runs a program that is terminated at the end of the block."""
    program = subprocess.Popen([str(word) for word in words], **options)
    try:
        yield program
    finally:
        with contextlib.suppress(ProcessLookupError):
            program.send_signal(signal.SIGCONT)
            program.terminate()
        program.wait()


async def measure(page, name, address, condition, options):
    """Measures a page; returns a row for each width and theme."""
    rows = []
    for width in options.widths:
        for theme in ["light", "dark"]:
            await page.open(address, width, 844 if width < 600 else 900, theme)
            await page.wait(READY)
            await page.wait(condition)
            times = await page.times()
            picture = os.path.join(options.folder, f"{name.replace(' ', '-')}-{width}-{theme}.png")
            await page.screenshot(picture)
            for message in page.console:
                say(f"{name}, {width} {theme}: {message}")
            rows.append({
                "page": name, "width": width, "theme": theme, "console": len(page.console),
                "first paint ms": round(times["paint"]), "drawn ms": round(times["drawn"]), "picture": picture})
    return rows


async def view(page, name, bag, tiles, seconds, options):
    """Measures the live page during a playback."""
    words = [options.navbus, "view", "--listen", "127.0.0.1:0", "--tiles", tiles]
    with started(words, stdout=subprocess.PIPE, text=True) as server:
        address = server.stdout.readline().strip()
        await page.open(address)
        await page.wait("document.documentElement.dataset.live === 'live'")
        play = [options.navbus, "bag", "play", bag, "--clock", "--rate", max(seconds / PLAYBACK, 1)]
        with started(play, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as player:
            while player.poll() is None and not await page.value(f"page.duration > {seconds * 900}"):
                await asyncio.sleep(0.1)
            if player.poll() is None:
                player.send_signal(signal.SIGSTOP)
            return await measure(page, f"view {name}", address, f"{LIVE} && (page.openList('nodes'), true)", options)


async def main():
    parser = argparse.ArgumentParser(description="Opens the pages of drives in headless Chromium.")
    parser.add_argument("--navbus", default=f"{ROOT}/.build/release/navbus")
    parser.add_argument("--chromium", default=shutil.which("chromium") or shutil.which("chromium-browser"))
    parser.add_argument("--drive", nargs=3, action="append", default=[], metavar=("NAME", "BAG", "TILES"))
    parser.add_argument("--widths", default="390,820,1440", type=lambda text: [int(width) for width in text.split(",")])
    parser.add_argument("--folder", help="folder for the pages and pictures (default: .build/pages)")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--picture", action="store_true", help="only renew the README's picture of the demo's report")
    options = parser.parse_args()
    if not options.chromium:
        parser.error("Chromium is not installed; on Debian: apt-get install chromium")
    options.folder = os.path.abspath(options.folder or f"{ROOT}/.build/pages")
    rows = []
    with workplace(options.folder, "pages") as folder, workplace(None, "pages-bus") as private:
        # A separate bus and browser profile.
        os.environ["NAVBUS_DIR"] = os.path.join(private, "bus")
        drives = [demo(options.navbus, folder)] + [tuple(drive) for drive in options.drive]
        async with browser.launch(options.chromium, os.path.join(private, "profile")) as page:
            for name, bag, tiles in drives:
                report = os.path.join(folder, f"{name}.html")
                run([options.navbus, "report", bag, "--tiles", tiles, "--out", report])
                if options.picture:
                    await page.open(f"file://{report}", *README_SIZE, "light")
                    await page.wait(READY)
                    return await page.screenshot(README_PICTURE)
                rows += await measure(page, f"report {name}", f"file://{report}", "true", options)
                seconds = await page.value("page.duration / 1000")
                rows += await view(page, name, bag, tiles, seconds, options)
    show(rows, options.json)
    return any(row["console"] or row["first paint ms"] > MOST_PAINT for row in rows)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
