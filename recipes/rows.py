"""Tables whose rows are trained one by one: each row is one kind of model with one seed, trained on one thread and scored.

Rows of translation models are trained on Multi30k English-German with the settings of recipes/multi30k_rows.toml. Translations with beam size
5 are scored by sacreBLEU 2.6.0, which is installed in RUNS/venv.
"""

import concurrent.futures
import dataclasses
import json
import pathlib
import shutil
import statistics
import sys

import recipe
from recipe import HERE, attend, call
from scores import events, validations

SETS = ("val", "test_2016_flickr")
SPEED_UPDATES = 174
# Options that do not affect a result: paths, and settings of a tokenizer that is given.
LEFT_OUT = {"run", "train", "valid", "tokenizer", "cache-dir", "resume", "init-from", "vocab-size", "vocab-type"}
EPILOG = """
Each row is trained on one thread, --jobs rows in parallel, and written to RESULTS/ROW.json when it is finished. Finished rows are skipped,
interrupted ones resumed. --shared leaves speeds out; a later call without it on the same machine measures the missing ones in short extra
trainings.
recipes/attention_pages writes the page from these files."""


@dataclasses.dataclass
class Row:
    kind: str
    seed: int
    options: list


def rows_of(kinds, seeds):
    """The rows of kinds of model, {KIND: options}, by name: KIND with seed 1, KIND_seed2 and so on."""
    return {kind if seed == 1 else f"{kind}_seed{seed}": Row(kind, seed, options) for seed in seeds for kind, options in kinds.items()}


def parser(about, name, rows):
    result = recipe.parser(about, name, name, epilog=EPILOG)
    result.add_argument("--rows", nargs="+", choices=rows, default=list(rows), metavar="ROW", help=", ".join(rows))
    result.add_argument("--jobs", type=int, default=2, help="rows trained in parallel")
    result.add_argument("--shared", action="store_true", help="leave out speeds, because other work shares the processor")
    result.add_argument("--list", action="store_true", help="prepare what the rows share, and list those that are not finished")
    return result


def parse(options, *folders):
    """The arguments; refuses a call without the data."""
    args = options.parse_args()
    args.data = recipe.data_folder(options, *folders)
    args.text = args.data / folders[0]
    recipe.make_folders(args)
    return args


def learn_tokenizer(model, folder, size, kind="bpe"):
    if not model.exists():
        attend("vocab", "--input", folder / "train.en", folder / "train.de", "--type", kind, "--size", size, "--output", model)


def write_first_pairs(args, folder, pairs):
    """Once: other rows may be reading them."""
    for side in ("en", "de"):
        file, part = folder / f"train.{side}", folder / f"train.{side}.part"
        if not file.exists():
            lines = (args.text / f"train.{side}").read_text(encoding="utf-8").split("\n")[:pairs]
            part.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
            part.replace(file)


def scoring_python(args):
    """A Python with the sacreBLEU that all rows of translation models share."""
    return recipe.python_with("sacrebleu==2.6.0", args.runs / "venv")


def train(run, options, folder, valid, tokenizer, updates, seed, languages=("en", "de")):
    """Trains a translation model on one thread; VALID.en and VALID.de are its validation set."""
    texts, valids = ([f"{start}.{language}" for language in languages] for start in (folder / "train", valid))
    recipe.refuse_other_length(run, updates)
    attend("train", "--config", HERE / "multi30k_rows.toml", "--train", *texts, "--valid", *valids, "--tokenizer", tokenizer, "--run", run,
           "--resume", "auto", "--threads", 1, "--seed", seed, "--max-steps", updates, "--valid-every", max(updates // 10, 1),
           "--log-every", max(updates // 20, 1), *options)


def speed(run):
    """Target tokens per second, or tokens per second of an encoder."""
    return statistics.median(report["tokens_per_second"] for report in events(run, "train"))


def trained(run):
    """The size, training and configuration of a run."""
    last = events(run, "train")[-1]
    config = recipe.settings(run)
    if config.get("guided-alignment"):  # without its folder
        config["guided-alignment"] = pathlib.Path(config["guided-alignment"]).name
    info = dict(line.split(": ", 1) for line in attend("info", run).splitlines() if ": " in line)
    return {
        "parameters": int(info["parameters"]),
        "updates": last["step"],
        "tokens": last["tokens"],
        "valid_loss": list(validations(run))[-1][2]["loss"],
        "config": {name: value for name, value in config.items() if name not in LEFT_OUT},
    }


def translations(args, run):
    """BLEU and chrF of both sets, and BLEU by source length over both."""
    for name in SETS:
        output = run / f"{name}.de"
        if not output.exists():
            attend("translate", run, "--beam", 5, "--precision", "fp32", "--workers", 1, source=args.text / f"{name}.en", output=output)
    files = [path for name in SETS for path in (run / f"{name}.de", args.text / f"{name}.de", args.text / f"{name}.en")]
    return json.loads(call(scoring_python(args), HERE / "intervals.py", *files))


def finish(args, name, row, result_of):
    """One row, from training to its file."""
    run = args.runs / name
    result = {"row": name, "kind": row.kind, "options": row.options, "seed": row.seed, **result_of(args, name, row)}
    result |= recipe.made_in(run, result["config"]["device"])
    result |= {"rows_at_a_time": args.jobs, "tokens_per_second": None if args.shared else speed(run)}
    recipe.save(args.results / f"{name}.json", result)


def lacks_speed(result):
    """A row that this processor trained while other work shared it."""
    device = result["config"]["device"]
    here = device == "cpu" or shutil.which("nvidia-smi")
    return result["tokens_per_second"] is None and here and recipe.processor(device) == result["processor"]


def measure_speed(args, name, row, train_briefly):
    run, file = args.runs / f"{name}_speed", args.results / f"{name}.json"
    result = recipe.read(file)
    train_briefly(args, dataclasses.replace(row, options=[*row.options, "--device", result["config"]["device"]]), run)
    recipe.save(file, result | {"rows_at_a_time": args.jobs, "tokens_per_second": speed(run)})


def complete(args, rows, result_of, train_briefly):
    """Completes the chosen rows and exits."""
    if args.list:
        print(*(name for name in args.rows if not (args.results / f"{name}.json").exists()), sep="\n")
        return
    failures = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        futures = {}
        for name in args.rows:
            file = args.results / f"{name}.json"
            if not file.exists():
                futures[pool.submit(finish, args, name, rows[name], result_of)] = name
            elif not args.shared and lacks_speed(recipe.read(file)):
                futures[pool.submit(measure_speed, args, name, rows[name], train_briefly)] = name
        for future in concurrent.futures.as_completed(futures):
            error = future.exception()
            failures += error is not None
            print(f"{futures[future]}: {error or 'finished'}", flush=True)
    sys.exit(min(failures, 1))
