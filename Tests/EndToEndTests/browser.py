"""Headless Chromium, controlled over its DevTools protocol: browser.py CHROMIUM FOLDER URL CONDITION…

Opens the page, waits until each condition in turn, an expression of JavaScript, is true, and prints the page's content and
its console output as JSON. FOLDER is for the profile. Needs the Python package websockets.
"""
import asyncio
import json
import sys
import urllib.request

import websockets

PATIENCE = 240


async def main(chromium, folder, url, conditions):
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
            number, console = 0, []

            async def call(method, **parameters):
                nonlocal number
                number += 1
                await socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
                while True:
                    message = json.loads(await asyncio.wait_for(socket.recv(), PATIENCE))
                    if message.get("id") == number:
                        return message.get("result", {})
                    if message.get("method") in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
                        console.append(json.dumps(message["params"]))

            async def value(expression):
                answer = await call("Runtime.evaluate", expression=expression, returnByValue=True)
                return answer.get("result", {}).get("value")

            for domain in ["Page", "Runtime", "Log"]:
                await call(domain + ".enable")
            await call("Page.navigate", url=url)
            for condition in conditions:
                for _ in range(PATIENCE * 5):
                    if await value(condition) is True:
                        break
                    await asyncio.sleep(0.2)
                else:
                    raise AssertionError(f"never: {condition}; {console}\n{await value('document.body.innerText')}")
            print(json.dumps({"document": await value("document.documentElement.outerHTML"), "console": console}))
        rest.cancel()
    finally:
        browser.terminate()
        await browser.wait()


asyncio.run(main(*sys.argv[1:4], sys.argv[4:]))
