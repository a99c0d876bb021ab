"""Tables whose rows are trained one by one: each row is a kind of model with one seed, trained with one thread and scored. A finished row
has a file, RESULTS/ROW.json, and is skipped; an interrupted one is resumed. Beside other work (--shared) speeds are left out; without
it, rows that lack theirs are trained for a minute to measure it.

Rows of translation models are trained on Multi30k English-German with the settings of recipes/rnn_attention.toml. Translations of the
average of the last three checkpoints with beam 5 are scored by sacreBLEU 2.6.0, which is installed in RUNS/venv; intervals are those of
its bootstrap (1,000 samples, seed 12345).
"""

import argparse
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tomllib

from scores import processor, results_folder, validations

HERE = pathlib.Path(__file__).resolve().parent
ATTEND = str(HERE / "run_attend")
SETS = ("val", "test_2016_flickr")
SPEED_UPDATES = 174
# Places of files, and the tokenizer that is not learnt: what a result does not depend on.
LEFT_OUT = {"run", "train", "valid", "tokenizer", "cache-dir", "resume", "init-from", "vocab-size", "vocab-type"}
# The Transformer of both halves of the table: the parameters of `luong_general` (4.48 M) and, as a Transformer needs, a smaller learning
# rate and a longer warm-up.
TRANSFORMER = {"model": "transformer", "encoder-layers": 2, "decoder-layers": 2, "feed-forward": 416, "heads": 4, "norm": "pre",
               "learning-rate": "1e-3", "warmup-steps": 300}


@dataclasses.dataclass
class Row:
    kind: str
    seed: int
    options: list


def words(options):
    """Options as words of a command line."""
    return [word for name, value in options.items() for word in (f"--{name}", str(value))]


def rows_of(kinds, seeds):
    """The rows of kinds of model, {KIND: options}, by name: KIND with seed 1, KIND_seed2 and so on."""
    return {kind if seed == 1 else f"{kind}_seed{seed}": Row(kind, seed, options) for seed in seeds for kind, options in kinds.items()}


def parser(about, name, rows):
    result = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    result.add_argument("--rows", nargs="+", choices=rows, default=list(rows), metavar="ROW", help=", ".join(rows))
    result.add_argument("--jobs", type=int, default=2, help="rows at a time")
    result.add_argument("--shared", action="store_true", help="other work shares the processor: leave out the speed")
    result.add_argument("--runs", type=pathlib.Path, default=pathlib.Path("runs", name))
    result.add_argument("--results", type=pathlib.Path, default=results_folder() / name)
    return result


def translation_parser(about, name, rows):
    result = parser(about, name, rows)
    result.add_argument("--updates", type=int, default=1160, help="of about 3,440 target tokens")
    return result


def data_folder(options, *folders):
    """The folder of all data; refuses a call without it."""
    if "ATTEND_DATA" not in os.environ:
        options.error(f"set ATTEND_DATA to the folder that contains {', '.join(folders)}")
    return pathlib.Path(os.environ["ATTEND_DATA"])


def parse(options, *folders):
    """The arguments; refuses a call without the data."""
    args = options.parse_args()
    args.data = data_folder(options, *folders)
    args.text = args.data / folders[0]
    args.runs.mkdir(parents=True, exist_ok=True)
    args.results.mkdir(parents=True, exist_ok=True)
    return args


def call(*command, source=None, output=None):
    """Runs a program to its end; its standard output, unless that goes to the file `output`, which appears when it is complete."""
    part = output and output.with_suffix(".part")
    with open(source or os.devnull, "rb") as lines, open(part or os.devnull, "wb") as out:
        done = subprocess.run(list(map(str, command)), stdin=lines, stdout=out if output else subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stderr.decode()[-2000:]}")
    if output:
        part.replace(output)
    return "" if output else done.stdout.decode()


def write_documents_of_sentences(corpus):
    """The English of the built-in pairs for pretraining, each sentence a document: sentences.train.txt and sentences.valid.txt."""
    for part in "train", "valid":
        lines = (corpus / f"{part}.en").read_text(encoding="utf-8").replace("\n", "\n\n")
        (corpus / f"sentences.{part}.txt").write_text(lines, encoding="utf-8")


def prepare_translation(args):
    """What all rows of translation models share: the tokenizer and sacreBLEU."""
    if not (args.runs / "multi30k.model").exists():
        call(ATTEND, "vocab", "--input", args.text / "train.en", args.text / "train.de", "--type", "bpe", "--size", 8000, "--output",
             args.runs / "multi30k.model")
    if not (args.runs / "venv" / "ready").exists():
        call(sys.executable, "-m", "venv", "--clear", args.runs / "venv")
        call(args.runs / "venv" / "bin" / "pip", "install", "--quiet", "sacrebleu==2.6.0")
        (args.runs / "venv" / "ready").touch()


def train(run, options, folder, valid, tokenizer, updates, seed):
    """Trains a translation model with one thread."""
    call(ATTEND, "train", "--config", HERE / "rnn_attention.toml", "--train", folder / "train.en", folder / "train.de", "--valid",
         folder / f"{valid}.en", folder / f"{valid}.de", "--tokenizer", tokenizer, "--run", run, "--resume", "auto", "--threads", 1,
         "--seed", seed, "--max-steps", updates, "--valid-every", max(updates // 10, 1), "--log-every", max(updates // 20, 1), *options)


def train_translation(args, row, run, updates):
    train(run, row.options, args.text, "val", args.runs / "multi30k.model", updates, row.seed)


def average(run):
    """The average of the last three checkpoints, in RUN/average."""
    if not (run / "average").exists():
        call(ATTEND, "average", run, "--last", 3, "--output", run / "average")


def events(run, kind):
    """What the training said of one kind of event."""
    found = [json.loads(line) for line in (run / "train.jsonl").read_text().splitlines()]
    return [event for event in found if event["event"] == kind]


def speed(run):
    """Target tokens per second, or tokens per second of an encoder."""
    return statistics.median(report["tokens_per_second"] for report in events(run, "train"))


def trained(run, weights):
    """How the training went, and of what."""
    last = events(run, "train")[-1]
    config = tomllib.loads((run / "config.toml").read_text())
    info = dict(line.split(": ", 1) for line in call(ATTEND, "info", weights).splitlines() if ": " in line)
    return {
        "parameters": int(info["parameters"]),
        "updates": last["step"],
        "tokens": last["tokens"],
        "valid_loss": list(validations(run))[-1][2]["loss"],
        "config": {name: value for name, value in config.items() if name not in LEFT_OUT},
    }


def translations(args, run):
    """BLEU and chrF of both sets, and by the length of the source in both together."""
    for name in SETS:
        output = run / f"{name}.de"
        if not output.exists():
            call(ATTEND, "translate", run / "average", "--beam", 5, "--precision", "fp32", "--workers", 1,
                 source=args.text / f"{name}.en", output=output)
    files = [path for name in SETS for path in (run / f"{name}.de", args.text / f"{name}.de", args.text / f"{name}.en")]
    return json.loads(call(args.runs / "venv" / "bin" / "python", HERE / "intervals.py", *files))


def translation_result(args, name, row):
    """Trains a row and scores it."""
    run = args.runs / name
    train_translation(args, row, run, args.updates)
    average(run)
    return {**trained(run, run / "average"), **translations(args, run)}


def save(args, name, result):
    part = args.results / f"{name}.part"
    part.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    part.replace(args.results / f"{name}.json")


def finish(args, name, row, result_of):
    """One row, from training to its file."""
    run = args.runs / name
    result = {"row": name, "kind": row.kind, "options": row.options, "seed": row.seed, **result_of(args, name, row)}
    made = json.loads((run / "run.json").read_text())
    result |= {"attend": made["attend"], "started": made["started"][:10], "processor": processor(result["config"]["device"]),
               "rows_at_a_time": args.jobs,
               "tokens_per_second": None if args.shared else speed(run)}
    save(args, name, result)


def measure_speed(args, name, row, train_briefly):
    """Of a row that was trained beside other work."""
    run = args.runs / f"{name}_speed"
    train_briefly(args, row, run)
    result = json.loads((args.results / f"{name}.json").read_text(encoding="utf-8"))
    save(args, name, result | {"tokens_per_second": speed(run)})


def train_translation_briefly(args, row, run):
    train_translation(args, row, run, SPEED_UPDATES)


def complete(args, rows, result_of, train_briefly=train_translation_briefly):
    """Does what is left to do for the chosen rows; leaves the program."""
    failures = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        futures = {}
        for name in args.rows:
            file = args.results / f"{name}.json"
            if not file.exists():
                futures[pool.submit(finish, args, name, rows[name], result_of)] = name
            elif not args.shared and json.loads(file.read_text(encoding="utf-8"))["tokens_per_second"] is None:
                futures[pool.submit(measure_speed, args, name, rows[name], train_briefly)] = name
        for future in concurrent.futures.as_completed(futures):
            error = future.exception()
            failures += error is not None
            print(f"{futures[future]}: {error or 'finished'}", flush=True)
    sys.exit(min(failures, 1))
