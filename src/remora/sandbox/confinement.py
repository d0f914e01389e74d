"""What a subprocess may reach of this machine's files: the policy, and the paths that it means."""

import functools
import os
from collections import deque
from collections.abc import Iterable
from pathlib import Path

import msgspec

from remora.errors import HostError
from remora.sandbox.proc_paths import split_view

_PROGRAMS = ("/bin", "/lib", "/lib32", "/lib64", "/libx32", "/sbin", "/usr")
_STORES = ("/nix/store", "/gnu/store")
_ETC = (
    "alternatives",
    "crypto-policies",
    "debian_version",
    "fonts",
    "group",
    "host.conf",
    "hosts",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "magic",
    "mime.types",
    "nsswitch.conf",
    "os-release",
    "passwd",
    "pki/ca-trust",
    "pki/tls/certs",
    "protocols",
    "services",
    "ssl/certs",
    "ssl/openssl.cnf",
    "timezone",
)
_SYSTEM = (*_PROGRAMS, *_STORES, *(f"/etc/{name}" for name in _ETC))
_MOST_LINKS = 40


class Confinement(msgspec.Struct, frozen=True, kw_only=True):
    """What a subprocess may reach besides the system's programs and libraries.

    It may `read` files and folders, and the folder it is started in; `write` those it may change;
    and change what lies in `scratch` folders for itself alone: from level 2 on nobody else ever
    sees those changes, below it they are real. There is never a network from level 2 on. At level
    0 nothing of this holds.
    """

    read: tuple[Path, ...] = ()
    write: tuple[Path, ...] = ()
    scratch: tuple[Path, ...] = ()


class ResolvedPaths(msgspec.Struct, frozen=True, kw_only=True):
    """A confinement as real paths that are there, none beneath another that allows as much, and the
    links that lead to them. `view` is the process whose view they are in, 0 where that is ours."""

    read: tuple[str, ...]
    write: tuple[str, ...]
    scratch: tuple[str, ...]
    links: dict[str, str]
    view_pid: int


def resolve_paths(confinement: Confinement, folder: Path) -> ResolvedPaths:
    """The paths, for a command that is started in `folder`. Raises HostError."""
    links = dict(_system()[0])
    named = (folder, *confinement.read, *confinement.write, *confinement.scratch)
    views = {view for view, _, _ in map(split_view, map(str, named)) if view}
    if len(views) > 1:
        raise HostError("a command works in one workspace, not in several")
    scratch = _real(confinement.scratch, links)
    write = _outermost(_real(confinement.write, links), ())
    read = [*_system()[1], *_real((folder, *confinement.read), links)]
    covered = _outermost(scratch, ())
    outermost = _outermost(read, (*write, *covered))
    shown = (*outermost, *write, *covered)
    return ResolvedPaths(
        read=outermost,
        write=write,
        scratch=covered,
        links={path: target for path, target in links.items() if not _lies_in(path, shown)},
        view_pid=max(views, default=0),
    )


@functools.cache
def _system() -> tuple[dict[str, str], tuple[str, ...]]:
    links: dict[str, str] = {}
    return links, tuple(_real(map(Path, _SYSTEM), links))


def _real(paths: Iterable[Path], links: dict[str, str]) -> list[str]:
    """Where the paths lead, those that exist; links on the way are added to `links`."""
    found: list[str] = []
    for path in paths:
        _, way, inside = split_view(os.path.abspath(path))  # noqa: PTH100 - keeps links
        real = _follow(inside, way, links)
        found += [real] if os.path.lexists(way + real) else []
    return found


def _follow(path: str, way: str, links: dict[str, str]) -> str:
    """The path without links, each of which is noted; `way` leads to the view that it is in."""
    done, left, seen = "/", deque(path.split("/")), 0
    while left and seen <= _MOST_LINKS:
        part = left.popleft()
        if part in ("", "."):
            continue
        if part == "..":
            done = os.path.dirname(done)  # noqa: PTH120 - text
            continue
        here = os.path.join(done, part)  # noqa: PTH118 - text
        try:
            target = os.readlink(way + here)  # noqa: PTH115 - text
        except OSError:
            done = here
            continue
        links[here] = target
        seen += 1
        done = "/" if target.startswith("/") else done
        left.extendleft(reversed(target.split("/")))
    return done


def _outermost(paths: Iterable[str], others: tuple[str, ...]) -> tuple[str, ...]:
    """Without those that lie in another of them, or in one of `others`; parents first."""
    kept: list[str] = []
    for path in sorted(set(paths)):
        if not _lies_in(path, (*kept, *others)):
            kept.append(path)
    return tuple(kept)


def _lies_in(path: str, folders: Iterable[str]) -> bool:
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)
