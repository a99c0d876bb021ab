"""What the system tests share: a place of their own, small parallel texts, and the program run as a user runs it."""
import atexit
import contextlib
import functools
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

ATTEND = os.path.abspath(sys.argv[1])
SERVER = os.environ.get("ATTEND_TEST_SERVER")  # tests/support/server.cpp
DEVICE = os.environ.get("ATTEND_TEST_DEVICE") or "cpu"
PLACE = pathlib.Path(tempfile.mkdtemp(prefix="attend-system-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))
atexit.register(shutil.rmtree, PLACE, ignore_errors=True)
os.chdir(PLACE)
os.environ["XDG_CACHE_HOME"] = str(PLACE / "cache")


@functools.cache
def server():
    """A socket to a server that has loaded the program's libraries."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    subprocess.Popen([SERVER], stdin=its)
    its.close()
    return ours


def pipe_of(text):
    """A pipe with this text."""
    end, beginning = os.pipe()

    def write():
        with contextlib.suppress(BrokenPipeError), open(beginning, "w") as file:
            file.write(text)

    threading.Thread(target=write).start()
    return open(end)


def run_by_server(words, stdin):
    """Runs the program as subprocess.run does, in the server."""
    with tempfile.TemporaryFile("w+") as stdout, tempfile.TemporaryFile("w+") as stderr:
        ended, end = os.pipe()
        text = "\0".join([os.getcwd(), *words]).encode()
        socket.send_fds(server(), [text], [stdin.fileno(), stdout.fileno(), stderr.fileno(), end])
        os.close(end)
        with open(ended, "rb") as file:
            code = file.read()
        check(len(code) == 4, f"{SERVER} gave no exit code for attend {' '.join(words)}")
        stdout.seek(0), stderr.seek(0)
        return subprocess.CompletedProcess([ATTEND, *words], int.from_bytes(code, sys.byteorder, signed=True), stdout.read(), stderr.read())


def attend(*words, code=0, **options):
    """Runs the program and gives what it said; fails unless it ends with `code`."""
    words = list(map(str, words))
    stdin = options.get("stdin", sys.stdin)
    if SERVER and options.keys() <= {"stdin"} and not isinstance(stdin, int):
        done = run_by_server(words, stdin)
    elif SERVER and options.keys() == {"input"}:
        with pipe_of(options["input"]) as lines:
            done = run_by_server(words, lines)
    else:
        done = subprocess.run([ATTEND, *words], capture_output=True, text=True, timeout=500, **options)
    check(done.returncode == code, f"attend {' '.join(words)}: exit code {done.returncode}, not {code}\n{done.stderr}")
    return done


def check(condition, message):
    if not condition:
        sys.exit(f"{os.path.basename(sys.argv[0])}: {message}")


def write(name, content):
    """A file of this text or these bytes, and its name."""
    pathlib.Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return name


def refuses(expected, *words, **options):
    """The program refuses these words and says what is expected: a text, or several."""
    said = attend(*words, code=2, **options).stderr
    for text in [expected] if isinstance(expected, str) else expected:
        check(text in said, f"attend {' '.join(map(str, words))}: expected {text!r} in: {said}")
    return said


def events(run, kind):
    """The lines of the log of a run that are of this kind."""
    lines = map(json.loads, pathlib.Path(run, "train.jsonl").read_text().splitlines())
    return [line for line in lines if line["event"] == kind]


def same(left, right, step):
    """Two runs have learnt the same until this step."""
    for name in "model.safetensors", "optimizer.safetensors":
        files = [pathlib.Path(run, f"checkpoints/step-{step}", name).read_bytes() for run in (left, right)]
        check(files[0] == files[1], f"{left} and {right} differ in {name} of step {step}")


def report(directory):
    """What a report holds, which is there as a page and as Markdown, too."""
    check(sorted(os.listdir(directory)) == ["index.html", "report.json", "report.md"], os.listdir(directory))
    return json.loads(pathlib.Path(directory, "report.json").read_text())


def write_pairs(name, count, change, seed=1, letters="abcdefghijkl", longest=8):
    """NAME.src: sentences of letters; NAME.tgt: each after `change`."""
    draw = random.Random(seed)
    sentences = [[draw.choice(letters) for _ in range(draw.randint(2, longest))] for _ in range(count)]
    for side, lines in ("src", sentences), ("tgt", map(change, sentences)):
        pathlib.Path(f"{name}.{side}").write_text("".join(" ".join(line) + "\n" for line in lines))


def train_words(run, *words, train="train", valid="valid"):
    return ["train", "--train", f"{train}.src", f"{train}.tgt", "--valid", f"{valid}.src", f"{valid}.tgt", "--run", run,
            "--vocab-type", "word", "--threads", "1", "--device", DEVICE, *words]


def wait_for_handler(process, seconds=2.0):
    """Until the program handles SIGTERM, and a little longer: it works or waits then."""
    while True:
        status = dict(line.split(":", 1) for line in pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines())
        if int(status["SigCgt"], 16) >> (signal.SIGTERM - 1) & 1:
            break
        time.sleep(0.05)
    time.sleep(seconds)
