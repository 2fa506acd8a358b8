"""Headless Chromium, controlled over its DevTools protocol: browser.py [OPTIONS] CHROMIUM FOLDER URL CONDITION…

Opens the page, waits until each condition in turn, an expression of JavaScript, is true, and prints JSON: the page's content,
its console output, the milliseconds from the start of the navigation to the first paint of content and to the drawn drive, and
whether a frame showed the drive in numbers before the script read the data.
FOLDER is for the profile. Needs the Python package websockets.

    --width PIXELS --height PIXELS   the window
    --theme light|dark               the page's preferred colour scheme
    --screenshot FILE.png            a picture of the whole page after the last condition
"""
import argparse
import asyncio
import base64
import contextlib
import json
import urllib.request

import websockets

PATIENCE = 240
MESSAGES = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
# Notes the time at which a page of navbus has drawn its drive, and whether a frame came between its text and its data.
WATCH = """new MutationObserver(() => {
  if (document.documentElement?.dataset.ready) window.drawnAt ??= performance.now();
}).observe(document, { attributes: true, subtree: true, attributeFilter: ["data-ready"] });
requestAnimationFrame(function watch() {
  window.isTextFirst ||= typeof page === "undefined" && document.querySelector("#facts dd") !== null;
  if (!window.isTextFirst && !window.drawnAt) requestAnimationFrame(watch);
})"""
TIMES = """({
  paint: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? null, drawn: window.drawnAt ?? null,
  isTextFirst: window.isTextFirst ?? false })"""


class Page:
    """A tab of a browser."""

    def __init__(self, socket):
        self.socket, self.number, self.console = socket, 0, []

    async def call(self, method, **parameters):
        self.number += 1
        await self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            message = json.loads(await asyncio.wait_for(self.socket.recv(), PATIENCE))
            if message.get("id") == self.number:
                return message.get("result", {})
            if message.get("method") in MESSAGES:
                self.console.append(json.dumps(message["params"]))

    async def value(self, expression):
        answer = await self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        return answer.get("result", {}).get("value")

    async def wait(self, condition):
        for _ in range(PATIENCE * 5):
            if await self.value(condition) is True:
                return
            await asyncio.sleep(0.2)
        raise AssertionError(f"never: {condition}; {self.console}\n{await self.value('document.body.innerText')}")

    async def open(self, url, width=1400, height=900, theme=None):
        """Opens a page in a window of a size; its console output begins anew."""
        await self.call("Page.navigate", url="about:blank")
        await self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        await self.call(
            "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}] if theme else [])
        # Bars that a picture would lack take no room.
        await self.call("Emulation.setScrollbarsHidden", hidden=True)
        self.console = []
        await self.call("Page.navigate", url=url)

    async def times(self):
        """The milliseconds to the first paint of content and to the drawn drive, None for what has not happened, and isTextFirst."""
        return await self.value(TIMES)

    async def screenshot(self, path):
        """Writes a picture of the whole page, with the bar that stays at the bottom of the window at the page's end."""
        await self.value("scrollTo(0, document.documentElement.scrollHeight)")
        size = (await self.call("Page.getLayoutMetrics"))["cssContentSize"]
        picture = await self.call(
            "Page.captureScreenshot", captureBeyondViewport=True, clip={**size, "x": 0, "y": 0, "scale": 1})
        with open(path, "wb") as file:
            file.write(base64.b64decode(picture["data"]))


@contextlib.asynccontextmanager
async def launch(chromium, folder):
    """A browser with one page, which ends with the block."""
    browser = await asyncio.create_subprocess_exec(
        chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
        "--disable-background-networking", f"--user-data-dir={folder}", "--remote-debugging-port=0",
        "--remote-allow-origins=*", "--window-size=1400,900", "about:blank", stderr=asyncio.subprocess.PIPE)
    try:
        place = b""
        while b"DevTools listening on ws://" not in place:
            place = await asyncio.wait_for(browser.stderr.readline(), PATIENCE)
            assert place, "Chromium does not start"
        # Read everything else, so that it never blocks on a full pipe.
        rest = asyncio.create_task(browser.stderr.read())
        host = place.decode().split("/")[2]
        targets = json.load(urllib.request.urlopen(f"http://{host}/json"))
        target = next(target for target in targets if target["type"] == "page")
        async with websockets.connect(target["webSocketDebuggerUrl"], max_size=None) as socket:
            page = Page(socket)
            for domain in ["Page", "Runtime", "Log"]:
                await page.call(domain + ".enable")
            await page.call("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
            yield page
        rest.cancel()
    finally:
        browser.terminate()
        await browser.wait()


async def main():
    parser = argparse.ArgumentParser(description="Opens a page in headless Chromium and prints its content.")
    parser.add_argument("--width", type=int, default=1400)
    parser.add_argument("--height", type=int, default=900)
    parser.add_argument("--theme", choices=["light", "dark"])
    parser.add_argument("--screenshot")
    for name in ["chromium", "folder", "url"]:
        parser.add_argument(name)
    parser.add_argument("conditions", nargs="*")
    options = parser.parse_args()
    async with launch(options.chromium, options.folder) as page:
        await page.open(options.url, options.width, options.height, options.theme)
        for condition in options.conditions:
            await page.wait(condition)
        if options.screenshot:
            await page.screenshot(options.screenshot)
        print(json.dumps({
            "document": await page.value("document.documentElement.outerHTML"), "console": page.console,
            "times": await page.times()}))


if __name__ == "__main__":
    asyncio.run(main())
