"""Shared by all recipes: the command line, calls of attend, files of results, and the name of the machine."""

import argparse
import json
import os
import pathlib
import platform
import random
import subprocess
import sys
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ATTEND = str(HERE / "run_attend")


def results_folder():
    """docs/results of this checkout; of an installed recipe, that of the working directory."""
    checkout = HERE.parent / "docs" / "results"
    return checkout if checkout.is_dir() else pathlib.Path("docs", "results")


def parser(about, name=None, results="", **more):
    """A command line with the help text `about`. A recipe with a name has --runs, by default runs/NAME, and --results, by default the folder
    `results` of docs/results."""
    found = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter, **more)
    if name:
        found.add_argument("--runs", type=pathlib.Path, default=pathlib.Path("runs", name), help="folder of runs and intermediate files")
        found.add_argument("--results", type=pathlib.Path, default=results_folder() / results)
    return found


def make_folders(args):
    for folder in args.runs, args.results:
        folder.mkdir(parents=True, exist_ok=True)


def data_folder(options, *folders):
    """$ATTEND_DATA, which contains the folders; refuses the call if it is not set."""
    if "ATTEND_DATA" not in os.environ:
        options.error(f"set ATTEND_DATA to the folder that contains {', '.join(folders)}")
    return pathlib.Path(os.environ["ATTEND_DATA"])


def words(options):
    """Options as words of a command line."""
    return [word for name, value in options.items() for word in (f"--{name}", str(value))]


def text_words(folder, *names):
    """The words --train and --valid of a command, for files whose names are these with train or valid in the place of {}."""
    return [word for part in ("train", "valid") for word in (f"--{part}", *(folder / name.format(part) for name in names))]


def call(*command, source=None, output=None):
    """Runs a program and returns its standard output, or writes it to the file `output`, which appears when it is complete."""
    part = output and output.with_suffix(".part")
    with open(source or os.devnull, "rb") as lines, open(part or os.devnull, "wb") as out:
        done = subprocess.run(list(map(str, command)), stdin=lines, stdout=out if output else subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stderr.decode()[-2000:]}")
    if output:
        part.replace(output)
    return "" if output else done.stdout.decode()


def attend(*command, source=None, output=None):
    return call(ATTEND, *command, source=source, output=output)


def python_with(package, folder):
    """The Python of a virtual environment in `folder` that has the package, which is installed there first."""
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        call(sys.executable, "-m", "venv", "--clear", folder)
        call(python, "-m", "pip", "install", "--quiet", package)
        (folder / "ready").touch()
    return python


def at_best_rate(train, rates, seeds):
    """The score of each rate with the first seed, the best rate, and its runs with all seeds. train(rate, seed) gives a run and its score."""
    scores = {rate: train(rate, seeds[0])[1] for rate in rates}
    best = max(scores, key=scores.get)
    return scores, best, [train(best, seed)[0] for seed in seeds]


def shuffled_table(file):
    """The heading of a table, and its other lines in random order, the same each time."""
    heading, *lines = lines_of(file)
    random.Random(1).shuffle(lines)
    return heading, lines


def write_documents_of_sentences(corpus):
    """The English side of the built-in pairs for pretraining, one document per sentence: sentences.train.txt and sentences.valid.txt."""
    for part in "train", "valid":
        lines = (corpus / f"{part}.en").read_text(encoding="utf-8").replace("\n", "\n\n")
        (corpus / f"sentences.{part}.txt").write_text(lines, encoding="utf-8")


def bleu_and_chrf(hypothesis, reference):
    found = json.loads(attend("evaluate", "--json", "--hypothesis", hypothesis, "--reference", reference, "--metrics", "bleu", "chrf"))
    return {metric: found[metric]["score"] for metric in ("bleu", "chrf")}


def evaluation(run, *words):
    """The metrics of the first file that attend evaluate reads."""
    metrics = next(iter(json.loads(attend("evaluate", run, "--json", *words)).values()))
    return {name: metric["value"] for name, metric in metrics.items()}


def contrasted(run, pairs, *words, workers=1):
    """What attend score finds in minimal pairs: a record of each, and the summary."""
    said = attend("score", run, "--contrast", pairs, "--json", "--precision", "fp32", "--workers", workers, *words)
    *records, last = map(json.loads, said.splitlines())
    return records, last["summary"]


def lines_of(file):
    return file.read_text(encoding="utf-8").splitlines()


def read(file):
    return json.loads(file.read_text(encoding="utf-8"))


def read_all(folder):
    return [read(file) for file in sorted(folder.glob("*.json"))]


def save(file, result):
    """Writes JSON; the file appears when it is complete."""
    part = file.with_suffix(".part")
    part.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    part.replace(file)


def write_page(folder, text):
    """FOLDER.md, beside the folder of results."""
    folder = folder.resolve()
    folder.with_name(f"{folder.name}.md").write_text(text, encoding="utf-8")


def settings(run):
    return tomllib.loads((run / "config.toml").read_text(encoding="utf-8"))


def name_of(run):
    """The name of a run, also of its RUN/average."""
    return run.parent.name if run.name == "average" else run.name


def refuse_other_length(run, updates):
    """A run keeps its length: its schedule depends on it, and so do translations and scores that recipes keep."""
    made = settings(run)["max-steps"] if (run / "config.toml").exists() else updates
    if made != updates:
        raise RuntimeError(f"{run}: a run of {made:,} updates, not {updates:,}; delete it, or choose another folder with --runs")


def processor(device="cpu"):
    """The model of the CPU, or of the GPU if that is the device, which computes products of fp32 matrices in TF32."""
    if device != "cpu":
        names = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], capture_output=True, check=True, text=True)
        name = names.stdout.splitlines()[int(device.partition(":")[2] or 0)].strip()
        return f"{name} (TF32)"
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def made_by():
    """This version of attend, and this machine."""
    return {"attend": attend("--version").split(" ", 1)[1].strip(), "processor": processor()}


def made_in(run, device="cpu"):
    """The version of attend and the day of a run, and this machine."""
    record = read(run / "run.json")
    return {"attend": record["attend"], "started": record["started"][:10], "processor": processor(device)}
