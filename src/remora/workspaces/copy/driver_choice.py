"""Selection of the workspace driver, and a check of whether overlay layers work."""

import functools
import sys
import tempfile
import threading
from pathlib import Path

from remora.config.user_folders import make_private
from remora.errors import ConfigError, HostError, RemoraError
from remora.sandbox.child.command_record import NAMESPACES
from remora.sandbox.confinement import Confinement
from remora.sandbox.interpreters import interpreter_paths
from remora.sandbox.isolation import best_level
from remora.sandbox.process import run_command
from remora.sandbox.supervisor_client import Command
from remora.workspaces.copy.overlay import OverlayDriver
from remora.workspaces.copy.slot import SlotDriver
from remora.workspaces.copy.snapshot import BaseFile, BaseSnapshot
from remora.workspaces.copy.workspace import Workspace, WorkspaceDriver

OVERLAY = "overlay"
_SECONDS = 30.0
_WRITTEN_FILE, _GONE, _NEW = "pkg/kept", "pkg/gone/file", "new"
_WORK = """
import os, shutil
with open("pkg/kept") as kept:
    text = kept.read()
with open("pkg/kept", "a") as kept, open("new", "w") as new:
    kept.write(text)
    new.write(text)
shutil.rmtree("pkg/gone")
os.mkdir(os.getcwd() + "/pkg/gone")
"""
_WRITTEN = b"ours"
_ONCE = threading.Lock()


def make_driver(name: str, base: BaseSnapshot, cache: Path) -> WorkspaceDriver:
    """Return the named driver. `auto` selects slots. The driver stores its files in `cache`."""
    if name == OVERLAY:
        return OverlayDriver(base, cache / "layers")
    return SlotDriver(base, cache / "slots")


def require_driver(name: str, cache: Path) -> None:
    """Raise ConfigError if the configured driver does not work on this machine."""
    problem = overlay_problem(cache) if name == OVERLAY else ""
    if problem:
        raise ConfigError(
            f"workspace.driver: overlay does not work on this machine: {problem}",
            hint="use workspace.driver: slot, which works everywhere; see `remora doctor`, and "
            "docs/explanation/security.md for the requirements of overlay",
        )


def overlay_problem(cache: Path) -> str:
    """Return the reason why overlay layers do not work in `cache`, or an empty string if
    they work.
    """
    with _ONCE:  # only one thread runs the probe
        return _overlay_problem(cache)


@functools.cache
def _overlay_problem(cache: Path) -> str:
    """Test overlay layers by writing files, running commands and checking the changes."""
    if sys.platform != "linux":
        return "requires Linux"
    try:
        make_private(cache)
        with tempfile.TemporaryDirectory(prefix="trial-", dir=cache) as folder:
            driver = OverlayDriver(_probe_base(Path(folder) / "base"), Path(folder) / "layers")
            try:
                with driver.open() as workspace:
                    _check_layer(workspace)
            finally:
                driver.close()
    except (RemoraError, OSError) as error:
        return str(error)
    return ""


def _probe_base(folder: Path) -> BaseSnapshot:
    for path in (_WRITTEN_FILE, _GONE):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).touch()
    files = {path: BaseFile(sha256="", mode=0o644) for path in (_WRITTEN_FILE, _GONE)}
    return BaseSnapshot(root=folder, folder=folder, files=files, commit=None, differing=files)


def _check_layer(workspace: Workspace) -> None:
    """Raise HostError if a layer does not behave like a copy."""
    python = interpreter_paths(Path(sys.executable), trusted=True)
    workspace.set_files({_WRITTEN_FILE: (_WRITTEN, 0o600)})
    if best_level() >= NAMESPACES:  # at lower levels, a command's changes are not private
        _run(workspace, Confinement(read=python, scratch=(workspace.tree,)))
        if list(workspace.snapshot()) != [_WRITTEN_FILE]:
            raise HostError("a command's private changes remained in the layer")
    _run(workspace, Confinement(read=python, write=(workspace.tree,)))
    states = {path: state.sha256 for path, state in workspace.snapshot().items()}
    written = workspace.read(_WRITTEN_FILE), workspace.read(_NEW)
    if (
        [*states] != [_NEW, _GONE, _WRITTEN_FILE]
        or states[_GONE]
        or written != (_WRITTEN * 2, _WRITTEN)
    ):
        raise HostError("a command's changes were not found in the layer")
    if any(workspace.base_bytes(path) for path in (_WRITTEN_FILE, _GONE)):
        raise HostError("writing in the layer changed the base")


def _run(workspace: Workspace, confinement: Confinement) -> None:
    command = Command(
        argv=(sys.executable, "-I", "-S", "-B", "-c", _WORK),
        folder=workspace.tree,
        seconds=_SECONDS,
        confinement=confinement,
    )
    result = run_command(command)
    if result.returncode != 0:
        last_line = result.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise HostError(f"a command in a layer failed: {last_line or result.returncode}")
