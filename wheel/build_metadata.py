"""What scikit-build-core asks about the wheel: its version, and the PyTorch that the program was linked with."""
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]


def found(pattern, file):
    return re.search(pattern, file.read_text(), flags=re.M)[1]


def dynamic_metadata(settings, project):
    cache = pathlib.Path(os.environ.get("ATTEND_BUILD") or ROOT / "build/release", "CMakeCache.txt")
    prefix = ROOT / "build/torch-prefix"
    if cache.exists():
        torch = pathlib.Path(found("^Torch_DIR:PATH=(.*)", cache))
    elif prefix.exists():
        torch = pathlib.Path(prefix.read_text().strip(), "Torch")
    else:
        sys.exit("attend: error: no LibTorch to link with is known\n  run scripts/setup first")
    minor = found(r'PACKAGE_VERSION "(\d+\.\d+)', torch / "TorchConfigVersion.cmake")
    return {"version": found(r"^project\(attend VERSION ([\d.]+)", ROOT / "CMakeLists.txt"), "dependencies": [f"torch=={minor}.*"]}
