"""Which driver makes the private copies, and whether layers work here: that is tried."""

import functools
import sys
import tempfile
import threading
from pathlib import Path

from remora.config.user_folders import make_private
from remora.errors import ConfigError, HostError, RemoraError
from remora.sandbox.child.command_record import NAMESPACES
from remora.sandbox.confinement import Confinement
from remora.sandbox.interpreters import readable_for
from remora.sandbox.isolation import best_level
from remora.sandbox.process import run
from remora.sandbox.supervisor_client import Command
from remora.workspaces.copy.overlay import OverlayDriver
from remora.workspaces.copy.slot import SlotDriver
from remora.workspaces.copy.snapshot import Base, BaseFile
from remora.workspaces.copy.workspace import Workspace, WorkspaceDriver

OVERLAY = "overlay"
_SECONDS = 30.0
_KEPT, _GONE, _NEW = "pkg/kept", "pkg/gone/file", "new"
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


def make_driver(name: str, base: Base, cache: Path) -> WorkspaceDriver:
    """The driver of that name (`auto`: slots), with all that it keeps in `cache`."""
    if name == OVERLAY:
        return OverlayDriver(base, cache / "layers")
    return SlotDriver(base, cache / "slots")


def require_driver(name: str, cache: Path) -> None:
    """Raises ConfigError where the configured driver does not work on this machine."""
    problem = overlay_problem(cache) if name == OVERLAY else ""
    if problem:
        raise ConfigError(
            f"workspace.driver: overlay does not work here: {problem}",
            hint="workspace.driver: slot works everywhere; `remora doctor` tells what this machine "
            "gives, docs/explanation/security.md what a layer needs",
        )


def overlay_problem(cache: Path) -> str:
    """What keeps layers over folders in `cache` from working; empty where they do."""
    with _ONCE:  # threads wait for the one that tries
        return _overlay_problem(cache)


@functools.cache
def _overlay_problem(cache: Path) -> str:
    """We write in a layer, a command works in it and in one that it alone sees: what comes of it?"""
    if sys.platform != "linux":
        return "it needs Linux"
    try:
        make_private(cache)
        with tempfile.TemporaryDirectory(prefix="trial-", dir=cache) as made:
            driver = OverlayDriver(_a_base(Path(made) / "base"), Path(made) / "layers")
            try:
                with driver.open() as workspace:
                    _try(workspace)
            finally:
                driver.close()
    except (RemoraError, OSError) as error:
        return str(error)
    return ""


def _a_base(folder: Path) -> Base:
    for path in (_KEPT, _GONE):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).touch()
    files = {path: BaseFile(sha256="", mode=0o644) for path in (_KEPT, _GONE)}
    return Base(root=folder, folder=folder, files=files, commit=None, differing=files)


def _try(workspace: Workspace) -> None:
    """Raises HostError where something is not as it would be in a copy."""
    python = readable_for(Path(sys.executable), trusted=True)
    workspace.set_files({_KEPT: (_WRITTEN, 0o600)})
    if best_level() >= NAMESPACES:  # below, no command has changes for itself alone
        _command(workspace, Confinement(read=python, scratch=(workspace.tree,)))
        if list(workspace.snapshot()) != [_KEPT]:
            raise HostError("what a command did for itself alone stayed in the layer")
    _command(workspace, Confinement(read=python, write=(workspace.tree,)))
    states = {path: state.sha256 for path, state in workspace.snapshot().items()}
    written = workspace.read(_KEPT), workspace.read(_NEW)
    if [*states] != [_NEW, _GONE, _KEPT] or states[_GONE] or written != (_WRITTEN * 2, _WRITTEN):
        raise HostError("what a command did in the layer is not what is found there")
    if any(workspace.base_bytes(path) for path in (_KEPT, _GONE)):
        raise HostError("what was written in the layer went through it")


def _command(workspace: Workspace, within: Confinement) -> None:
    command = Command(
        argv=(sys.executable, "-I", "-S", "-B", "-c", _WORK),
        folder=workspace.tree,
        seconds=_SECONDS,
        within=within,
    )
    ended = run(command)
    if ended.returncode != 0:
        said = ended.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise HostError(f"a command in a layer failed: {said or ended.returncode}")
