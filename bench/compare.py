"""Common parts of the benchmarks: they time attend and a peer alternately and print ratios.

Absolute figures vary between machines, and by a quarter within an hour on a shared one; the ratio of alternating runs is stable.
A contest alternates runs of both sides and reports the ratio of the medians, with the smallest and largest ratio of two
consecutive runs.
"""

import argparse
import dataclasses
import datetime
import json
import os
import pathlib
import platform
import shlex
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PEERS = ROOT / "bench" / "peers"
TORCHRUN = ROOT / "build" / "venv" / "bin" / "torchrun"
TORCHRUN_REMEDY = "install it with scripts/setup, which makes build/venv unless another LibTorch is found"
PROGRAM_REMEDY = "build it with scripts/build, or name another program with --attend"


class Refused(Exception):
    """A program cannot do the job, for example in a precision that the processor lacks."""


@dataclasses.dataclass
class Measurement:
    value: float  # larger is better
    resident_mb: float = 0.0  # maximum resident set size of the process; 0: not measured


def arguments(description, peers=True, more=lambda parser: None, folder="multi30k_en_de_fr", files=("train.en", "train.de")):
    """Parses the options of every benchmark, and those added by `more`; fails unless the files they name exist."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attend", default=str(ROOT / "build" / "release" / "attend"), help="the attend program")
    parser.add_argument("--data", default=os.path.join(os.environ.get("ATTEND_DATA", "."), folder),
                        help=f"folder with {' and '.join(files)} [$ATTEND_DATA/{folder}]")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each side")
    if peers:
        parser.add_argument("--only", default="", help="only run contests whose name contains this")
        parser.add_argument("--peers", default=os.environ.get("ATTEND_PEERS", ""),
                            help="environment made by bench/peers/setup [$ATTEND_PEERS]")
    more(parser)
    args = parser.parse_args()
    needed = {args.attend: PROGRAM_REMEDY}
    for name in files:
        needed[f"{args.data}/{name}"] = f"set ATTEND_DATA to the folder that contains {folder}, or name that folder with --data"
    if peers:
        needed[f"{args.peers}/bin/python"] = "create it with bench/peers/setup DIR, then set ATTEND_PEERS to DIR, or give --peers DIR"
    require(parser, needed)
    return args


def require(parser, needed):
    """Ends the program unless each of these paths exists; says how to get the missing one."""
    for path, remedy in needed.items():
        if not os.path.exists(path):
            parser.error(f"{path} is missing; {remedy}")


def run(words, stdin=None, env=None, limit=None):
    """Runs a program, for `limit` seconds at most; returns its standard output and maximum resident set size in MB (of it or its largest
    child)."""
    if limit:
        words = ["timeout", str(limit), *words]
    print("  $ " + shlex.join(str(word) for word in words), file=sys.stderr, flush=True)
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen([str(word) for word in words], stdin=stdin or subprocess.DEVNULL, stdout=out, stderr=err,
                                   env={**os.environ, **(env or {})})
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0), err.seek(0)
        if process.returncode != 0:
            raise Refused(f"exit {process.returncode}: {err.read().strip()[-300:]}")
        return out.read(), usage.ru_maxrss / 1024


def toy_corpus(attend, folder, pieces):
    """The built-in corpus in `folder`, with a tokenizer of so many pieces as pieces.model."""
    run([attend, "toy", folder, "--quiet"])
    run([attend, "vocab", "--input", f"{folder}/train.en", f"{folder}/train.de", "--size", pieces, "--output", f"{folder}/pieces.model",
         "--quiet"])


def peer(args, script, *words, **options):
    """What a peer of bench/peers prints last, and its maximum resident set size in MB."""
    out, resident = run([f"{args.peers}/bin/python", PEERS / script, *words], **options)
    return json.loads(out.splitlines()[-1]), resident


def small_training(attend, corpus, run, updates, *more):
    """The words that train a small luong on the built-in corpus with a checkpoint every 20 updates."""
    return [attend, "train", "--train", corpus / "train.en", corpus / "train.de", "--valid", corpus / "valid.en", corpus / "valid.de",
            "--tokenizer", corpus / "pieces.model", "--run", run, "--model", "luong", "--width", 128, "--max-tokens", 512, "--max-steps",
            updates, "--save-every", 20, "--valid-every", updates, "--bleu-sentences", 0, "--threads", 1, "--resume", "auto", *more]


def weights(run, update):
    return (run / "checkpoints" / f"step-{update}" / "model.safetensors").read_bytes()


def logged(run, event="train"):
    """The lines of the log of a training that are of this kind."""
    lines = map(json.loads, (pathlib.Path(run) / "train.jsonl").read_text().splitlines())
    return [line for line in lines if line["event"] == event]


def tokens_per_second(run, first, last):
    """The speed of a training between two updates, from its log."""
    updates = {line["step"]: line for line in logged(run)}
    tokens, seconds = (updates[last][key] - updates[first][key] for key in ("tokens", "seconds"))
    return tokens / seconds


def machine():
    def first(path, key):
        for line in open(path, encoding="utf8"):
            if line.startswith(key):
                return line.split(":", 1)[1].strip()
        return "unknown"

    cpu = first("/proc/cpuinfo", "model name") if platform.machine() == "x86_64" else platform.machine()
    memory = int(first("/proc/meminfo", "MemTotal").split()[0]) // 2**20
    return f"{cpu}, {len(os.sched_getaffinity(0))} cores, {memory} GB"


def median_speed(run):
    """Tokens per second of a training, the median over the lines of its log."""
    return statistics.median(line["tokens_per_second"] for line in logged(run))


def head(args):
    """Prints machine, date, commit and command."""
    commit = subprocess.run(["git", "-C", str(ROOT), "describe", "--always", "--dirty"], capture_output=True, text=True).stdout
    print(f"{machine()}; {datetime.datetime.now():%Y-%m-%d %H:%M}; attend {commit.strip() or 'without git'}; "
          f"{args.repeats} alternating runs of each")
    print(f"$ {shlex.join([os.path.relpath(sys.argv[0], ROOT), *sys.argv[1:]])}\n")


def shown(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def spread(values):
    return f"{shown(statistics.median(values))} ({shown(min(values))}..{shown(max(values))})"


def refused(name, refusal):
    """Prints a row for a contest that one side refuses, with the reason."""
    print(f"| {name} | refused: {' '.join(str(refusal).split())} | | | | |", flush=True)


def contest(name, ours, theirs, repeats, unit):
    """Alternates runs of both sides and prints a row of the table. A side is a function that returns a Measurement."""
    print(f"{name}:", file=sys.stderr)
    try:
        results = [(ours(), theirs()) for _ in range(repeats)]
    except Refused as refusal:
        return refused(name, refusal)
    values = [[measurement.value for measurement in side] for side in zip(*results)]
    ratios = [ours / theirs for ours, theirs in zip(*values)]
    ratio = statistics.median(values[0]) / statistics.median(values[1])
    memory = [statistics.median(measurement.resident_mb for measurement in side) for side in zip(*results)]
    resident = f"{memory[0]:,.0f} | {memory[0] / memory[1]:.2f}" if all(memory) else " | "
    print(f"| {name} | {spread(values[0])} {unit} | {spread(values[1])} | {ratio:.2f} ({min(ratios):.2f}..{max(ratios):.2f}) "
          f"| {resident} |", flush=True)


def table(args):
    """Prints the head of a table of contests."""
    head(args)
    print("| | attend, median (min..max) | peer | ratio | maximum resident set, MB | relative to the peer's |")
    print("|---|---|---|---|---|---|", flush=True)
