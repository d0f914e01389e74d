"""Candidate types, as `pyrefly infer` writes them into a private copy of a project."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from remora.errors import HostError, UsageError, install_extra
from remora.judges.types.accepted_annotations import Terms
from remora.judges.types.project_index import ProjectIndex
from remora.judges.types.slots import SourceText, written_annotations
from remora.judges.types.terms import type_in
from remora.judges.types.type_checker import MOST_LEFT_OUT, TypeChecker, program_of, site_packages
from remora.sandbox.confinement import Confinement
from remora.sandbox.process import run_command
from remora.sandbox.supervisor_client import Command
from remora.tools.host.module_names import import_roots
from remora.workspaces.rooted_files import RootedFiles

SECONDS = 120.0
_SETTINGS = "remora-pyrefly.toml"
_FLAGS = (
    *("--threads=1", "--imports=false", "--skip-interpreter-query", "--use-ignore-files=false"),
    *(f"--config={_SETTINGS}", f"--project-excludes={_SETTINGS}"),
)
"""With several threads, the types of modules that import each other would vary."""
_MOST_TOGETHER = 2000
"""Files of one run. With 10,000 files, pyrefly needs 0.86 GB, and 0.2 GB with 2,000."""


class PyreflyError(HostError):
    """Raised if pyrefly fails or does not finish."""


class PyreflyCrashError(PyreflyError):
    """Raised if pyrefly fails, perhaps only on one of the files."""


def check_installed(package: str) -> None:
    """Raise UsageError with an installation hint if a type checker is missing."""
    if find_spec(package) is None:
        raise UsageError(
            f"operation types requires the {package} package, which is not installed",
            hint=install_extra("types"),
        )


class Pyrefly:
    """Asks pyrefly for candidates, in the copy of a project that a type checker has."""

    def __init__(self, checker: TypeChecker) -> None:
        self._checker = checker
        self.unread: set[str] = set()
        """Files on which pyrefly fails."""

    def infer(self, paths: Sequence[str], changed: Mapping[str, str]) -> dict[str, str]:
        """Return those of some files that pyrefly annotates, with other texts of some files.

        If it fails, files on which it fails alone are looked for, left out, and in `unread`.
        Raises PyreflyError if these are too many, or if it does not finish.
        """
        paths = [path for path in paths if path not in self.unread]
        half = len(paths) // 2
        if len(paths) > _MOST_TOGETHER:
            return self.infer(paths[:half], changed) | self.infer(paths[half:], changed)
        if not paths:
            return {}
        question = "\0".join((f"pyrefly {version('pyrefly')}", f"3.{self._checker.minor}", *paths))

        def annotate(folder: Path, seconds: float) -> dict[str, str]:
            python = self._checker.python
            packages = [Path(path) for path, _ in site_packages(python)] if python else []
            files = RootedFiles(folder)
            return _annotated(files, paths, self._checker.minor, packages, seconds)

        try:
            return self._checker.ask(annotate, changed, question, dict[str, str])
        except PyreflyCrashError:
            if len(self.unread) == MOST_LEFT_OUT:
                raise
            if not half:
                self.unread.update(paths)
                return {}
            return self.infer(paths[:half], changed) | self.infer(paths[half:], changed)


def _annotated(
    files: RootedFiles, paths: Sequence[str], minor: int, packages: Iterable[Path], seconds: float
) -> dict[str, str]:
    """Let pyrefly annotate some files, return the texts that it changes, and undo its changes.

    It reads installed packages in `packages`, and runs nothing. The project's own settings of
    pyrefly do not count, because they may leave files out. Raises PyreflyError.
    """
    files.put(_SETTINGS, b"")
    before, changed = {path: files.read_bytes(path) for path in paths}, dict[str, str]()
    read, program = tuple(packages), program_of("pyrefly")
    words = [f"--search-path={root or '.'}" for root in import_roots(files)]
    words += [f"--site-package-path={path}" for path in read]
    command = Command(
        argv=(program, "infer", *_FLAGS, f"--python-version=3.{minor}", *words, "--", *paths),
        folder=files.root,
        seconds=min(SECONDS, seconds),
        confinement=Confinement(read=(Path(program), *read), write=(files.root,)),
    )

    def restore(path: str, content: bytes) -> None:
        after = files.read_bytes(path) if files.exists(path) else b""
        if after != content:
            changed[path] = after.decode("utf-8", "replace")
            files.put(path, content)

    with ExitStack() as restoring:  # each file, also if another one cannot be read
        for path, content in before.items():
            restoring.callback(restore, path, content)
        finished = run_command(command)
    if finished.timed_out:
        raise PyreflyError(f"pyrefly did not finish within {command.seconds:.3g} seconds")
    if finished.returncode:
        message = finished.stderr.decode("utf-8", "replace").strip()[-300:]
        raise PyreflyCrashError(f"pyrefly failed: {message or finished.returncode}")
    return changed


def terms_in(annotated: Mapping[str, str], index: ProjectIndex) -> Terms:
    """Return the types of missing annotations that other texts of some files have.

    Texts that do not parse are left out.
    """
    found: Terms = {}
    for path, text in sorted(annotated.items()):
        file = index.files.get(path)
        if file is None:
            continue
        with suppress(SyntaxError, ValueError, RecursionError):
            new = written_annotations(SourceText(text))
            for slot in file.source.slots:
                annotation = new.get((slot.number, slot.name))
                if annotation is not None and (term := type_in(annotation, file.owners)):
                    found[path, slot] = term
    return found
