"""Machine checks, which use each component instead of only reading its version."""

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import msgspec

from remora.config.user_folders import UserFolders, make_private
from remora.errors import HostError, OutsideError, RemoraError
from remora.facilities import FACILITIES
from remora.files.git import ForeignRepository, git_output
from remora.files.project_files import project_files
from remora.models.embedded.weights import require_engine
from remora.models.provider import ModelStatus
from remora.pym import Limits, load_source
from remora.tools.host.ruff.config_files import SETTINGS
from remora.tools.tree import ToolTree

_OLDEST = (3, 11)
"""The oldest supported Python, as in `pyproject.toml`."""


class DoctorCheck(msgspec.Struct, frozen=True, kw_only=True):
    """Result of one check."""

    name: str
    ok: bool
    detail: str
    needed: bool = True
    """If it fails, True means that `analyze` cannot run on this machine."""
    hint: str = ""


def check_machine(root: Path, folders: UserFolders) -> list[DoctorCheck]:
    """Check the interpreter, programs, scripts and writable folders. Never raises."""
    return [
        _python(),
        check_git(root),
        _try("ruff", _ruff, hint="reinstall Remora with its dependencies, such as ruff"),
        _try(
            "monty", _monty, hint="reinstall Remora with its dependencies, such as pydantic-monty"
        ),
        _writable("cache", folders.cache),
        _writable("state", folders.state),
        _root(root),
        *(_facility(name, has(), lost) for name, (has, lost) in FACILITIES.items()),
    ]


def _facility(name: str, ok: bool, lost: str) -> DoctorCheck:
    detail = "the kernel has it" if ok else f"missing: {lost}"
    return DoctorCheck(name=name, ok=ok, detail=detail, needed=False)


def check_database(measure: Callable[[], str]) -> DoctorCheck:
    """Check the database of `trace_store: postgres`. `measure` returns what to print."""
    return _try("database", measure, hint="check postgres.dsn, or use trace_store: kv")


def check_model(status: ModelStatus) -> list[DoctorCheck]:
    """Check the configured model and the requirements of the embedded model.

    If no model is configured, rules make all decisions and these checks are not needed.
    """
    document, problem = status.document, status.problem
    needed = not status.is_optional
    embedded = needed and document["provider"] == "embedded"
    files = document["weights"]
    state = "complete" if files["ok"] else "missing" if files["sha256"] is None else "damaged"
    optional = "" if embedded else "optional: "
    return [
        _try(
            "xllamacpp", _engine, needed=embedded, hint="install Remora with the `embedded` extra"
        ),
        DoctorCheck(
            name="weights",
            ok=files["ok"],
            detail=f"{state}: {files['path']}",
            needed=embedded,
            hint=f"{optional}run `remora model pull{' ' + document['name'] if embedded else ''}`",
        ),
        DoctorCheck(
            name="model",
            ok=problem is None,
            detail=_model_detail(status),
            needed=needed,
            hint=("" if needed else optional) + problem.hint if problem else "",
        ),
    ]


def _model_detail(status: ModelStatus) -> str:
    if status.problem is None:
        return (
            f"{status.document['name']} is available, and is asked by {status.document['strategy']}"
        )
    return "none: rules only" if status.is_optional else status.problem.message


def check_ruff_settings(root: Path) -> DoctorCheck:
    """Check that ruff accepts the settings in the root and in all folders with Python files."""

    def read() -> str:
        for folder in _with_settings(project_files(root).paths):
            ToolTree(root).ruff.check_text((folder / "remora_doctor.py").as_posix(), b"")
        return "ruff accepts the project's settings"

    return _try("settings", read, hint="correct the project's ruff settings")


def _with_settings(paths: Sequence[str]) -> list[Path]:
    """Return the root and the folders that have ruff settings.

    A folder is included only if there are Python files in it or in its subfolders.
    """
    files = [Path(path) for path in paths]
    above = {folder for file in files if file.suffix == ".py" for folder in file.parents}
    return sorted({file.parent for file in files if file.name in SETTINGS} & above | {Path()})


def check_tests(find: Callable[[], None], configured: str | None) -> DoctorCheck:
    """Check that the project's tests can run. `find` raises RemoraError if they cannot.

    The check is needed only if `configured`, the interpreter from the configuration, is set.
    """
    try:
        find()
    except RemoraError as error:
        return DoctorCheck(
            name="tests",
            ok=False,
            detail=error.message,
            needed=configured is not None,
            hint=error.hint,
        )
    return DoctorCheck(
        name="tests", ok=True, detail="the project's interpreter has pytest; no test was run"
    )


def _python() -> DoctorCheck:
    return DoctorCheck(
        name="python",
        ok=sys.version_info >= _OLDEST,
        detail=f"{platform.python_implementation()} {platform.python_version()}",
        hint="Remora needs Python 3.11 or newer",
    )


def _try(name: str, attempt: Callable[[], str], *, needed: bool = True, hint: str) -> DoctorCheck:
    try:
        return DoctorCheck(name=name, ok=True, detail=attempt(), needed=needed)
    except (RemoraError, PackageNotFoundError, OSError) as error:
        return DoctorCheck(name=name, ok=False, detail=str(error), needed=needed, hint=hint)


def check_git(root: Path) -> DoctorCheck:
    """Check that git works, and that it reads the project's repository, if there is one.

    Git refuses the repository of another user.
    """

    def read() -> str:
        found = git_output(root, "version").decode(errors="replace").strip()
        return f"{found}, {shutil.which('git')}"

    try:
        git_output(root, "rev-parse", "--git-dir")
    except ForeignRepository as error:
        return DoctorCheck(
            name="git", ok=False, detail=error.message, needed=False, hint=error.hint
        )
    except OutsideError:
        pass  # there is no repository; git itself is checked below
    return _try("git", read, needed=False, hint="without git, all files are selected")


def _ruff() -> str:
    with tempfile.TemporaryDirectory() as folder:
        if not ToolTree(Path(folder)).ruff.check_text("a.py", b"import os\n"):
            raise HostError("ruff did not find an unused import")
    return f"ruff {version('ruff')} works"


def _monty() -> str:
    script = load_source('"""Adds."""\n\n1 + 1\n', name="sum")
    done = script.run({}, {}, limits=Limits(), clock=datetime(2026, 1, 1, tzinfo=UTC), seed=0)
    if done.error is not None or done.value != 2:
        raise HostError(f"a script returned {done.value!r}: {done.error}")
    return f"pydantic-monty {version('pydantic-monty')} works"


def _engine() -> str:
    require_engine()
    return f"xllamacpp {version('xllamacpp')}"


def _writable(name: str, folder: Path) -> DoctorCheck:
    hint = f"make it writable, or set XDG_{name.upper()}_HOME to a writable folder"
    try:
        make_private(folder)
        with tempfile.TemporaryFile(dir=folder):
            return DoctorCheck(name=name, ok=True, detail=f"{folder} is writable")
    except OSError as error:
        return DoctorCheck(name=name, ok=False, detail=f"{folder}: {error.strerror}", hint=hint)


def _root(root: Path) -> DoctorCheck:
    ok = os.access(root, os.W_OK | os.X_OK)
    detail = f"{root} is {'' if ok else 'not '}writable"
    hint = "" if ok else "make it writable; runs are recorded in its .agentfs/ folder"
    return DoctorCheck(name="root", ok=ok, detail=detail, hint=hint)
