"""Reads scores from runs and formats them; names the machine and the folder of results."""
import json
import os
import pathlib
import platform
import statistics
import subprocess


def results_folder():
    """docs/results of this checkout; of an installed recipe, that of the working directory."""
    checkout = pathlib.Path(__file__).resolve().parent.parent / "docs" / "results"
    return checkout if checkout.is_dir() else pathlib.Path("docs", "results")


def validations(run):
    """For each validation of a run: minutes of training, tokens seen, and its metrics."""
    seconds = tokens = 0
    for line in (run / "train.jsonl").read_text().splitlines():
        event = json.loads(line)
        if event["event"] == "train":
            seconds, tokens = event["seconds"], event["tokens"]
        elif event["event"] == "valid":
            yield seconds / 60, tokens, event


def mean_and_deviation(values, factor=100):
    """Mean and standard deviation, times the factor."""
    values = [factor * value for value in values]
    return statistics.mean(values), statistics.stdev(values) if len(values) > 1 else 0


def over_seeds(run, metric, factor=100):
    """Mean and standard deviation over the seeds of a metric in RUN/dev.json, times the factor."""
    return mean_and_deviation([scores[metric] for scores in json.loads((run / "dev.json").read_text())], factor)


def cell(mean, spread):
    return f"{mean:.1f} ± {spread:.1f}"


def processor(device="cpu"):
    """The model of the processor, or of the GPU where that is the device, and its matrix products if PyTorch was told to use TF32."""
    if device != "cpu":
        names = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], capture_output=True, check=True, text=True)
        name = names.stdout.splitlines()[int(device.partition(":")[2] or 0)].strip()
        return f"{name} (TF32)" if os.environ.get("TORCH_ALLOW_TF32_CUBLAS_OVERRIDE") == "1" else name
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
