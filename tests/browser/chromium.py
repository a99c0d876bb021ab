"""A headless Chromium, driven through its DevTools protocol over a pipe: JSON messages that end with a zero byte, to its file
descriptor 3 and from its 4. Needs nothing but Python."""
import base64
import fcntl
import json
import os
import shutil
import subprocess
import tempfile


def find():
    """The browser's path, or None."""
    names = "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


class Chromium:
    def __init__(self, path):
        self.profile = tempfile.mkdtemp(prefix="attend-chromium-")
        (read, self.to), (self.answers, write) = os.pipe(), os.pipe()
        # Away from 3 and 4, which become the browser's ends.
        read, write = (fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (read, write))

        def ends():
            os.dup2(read, 3)
            os.dup2(write, 4)

        self.process = subprocess.Popen(
            [path, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", f"--user-data-dir={self.profile}", "about:blank"],
            preexec_fn=ends, pass_fds=(3, 4), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(read)
        os.close(write)
        self.buffer, self.count, self.session, self.events = b"", 0, None, []

    def close(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)

    def receive(self):
        while b"\0" not in self.buffer:
            block = os.read(self.answers, 1 << 20)
            if not block:
                raise ConnectionError("the browser ended")
            self.buffer += block
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def __call__(self, method, **parameters):
        """Calls a method and gives its result; events that come meanwhile are kept in self.events."""
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.count:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def wait_for(self, method):
        while not any(event["method"] == method for event in self.events):
            self.events.append(self.receive())

    def open(self, path, width=1280, height=900, dark=False, script=True):
        """Opens a file in a page of its own and waits until it is loaded."""
        self.session = None
        target = self("Target.createTarget", url="about:blank")["targetId"]
        self.session = self("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.events = []
        for domain in "Page", "Runtime", "Log", "Network":
            self(domain + ".enable")
        self.resize(width, height)
        self("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self("Emulation.setScriptExecutionDisabled", value=not script)
        self.events = []
        self("Page.navigate", url=f"file://{os.path.abspath(path)}")
        self.wait_for("Page.loadEventFired")

    def resize(self, width, height):
        self("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def evaluate(self, expression):
        """The value of an expression of JavaScript; a promise is waited for."""
        answer = self("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise RuntimeError(f"{expression}: {details.get('exception', {}).get('description', details['text'])}")
        return answer["result"].get("value")

    def press(self, key):
        for kind in "keyDown", "keyUp":
            self("Input.dispatchKeyEvent", type=kind, key=key, code=key,
                 windowsVirtualKeyCode={"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}.get(key, 0))

    def move(self, x, y):
        self("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def screenshot(self, path, whole=True):
        picture = self("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(picture))

    def pdf(self):
        return base64.b64decode(self("Page.printToPDF", printBackground=False)["data"])

    def complaints(self):
        """Errors and warnings of the page's script and of the browser about it."""
        found = []
        for event in self.events:
            parameters = event["params"]
            if event["method"] == "Runtime.exceptionThrown":
                found.append(str(parameters["exceptionDetails"]))
            elif event["method"] == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
                found.append(str(parameters["args"]))
            elif event["method"] == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
                found.append(parameters["entry"]["text"])
        return found

    def requests(self):
        return [event["params"]["request"]["url"] for event in self.events if event["method"] == "Network.requestWillBeSent"]
