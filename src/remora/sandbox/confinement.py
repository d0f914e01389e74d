"""File access policy of a subprocess, and its resolution to real paths."""

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
_MAX_LINKS = 40


class Confinement(msgspec.Struct, frozen=True, kw_only=True):
    """Paths that a subprocess may access besides the system's programs and libraries.

    It may read the paths in `read` and its working folder, and read and write those in `write`.
    From level 2 on, changes in `scratch` folders are private and discarded, and there is no
    network. Level 0 enforces nothing of this.
    """

    read: tuple[Path, ...] = ()
    write: tuple[Path, ...] = ()
    scratch: tuple[Path, ...] = ()


class ResolvedPaths(msgspec.Struct, frozen=True, kw_only=True):
    """A confinement as existing real paths, without those that another path covers.

    `links` lead to them; `view_pid`: whose mount namespace they are in, 0 for ours.
    """

    read: tuple[str, ...]
    write: tuple[str, ...]
    scratch: tuple[str, ...]
    links: dict[str, str]
    view_pid: int


def resolve_paths(confinement: Confinement, folder: Path) -> ResolvedPaths:
    """Resolve a confinement for a command that runs in `folder`. Raises HostError."""
    links = dict(_system()[0])
    named = (folder, *confinement.read, *confinement.write, *confinement.scratch)
    views = {view for view, _, _ in map(split_view, map(str, named)) if view}
    if len(views) > 1:
        raise HostError("a command can use only one workspace")
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
        links={path: target for path, target in links.items() if not _is_inside(path, shown)},
        view_pid=max(views, default=0),
    )


@functools.cache
def _system() -> tuple[dict[str, str], tuple[str, ...]]:
    links: dict[str, str] = {}
    return links, tuple(_real(map(Path, _SYSTEM), links))


def _real(paths: Iterable[Path], links: dict[str, str]) -> list[str]:
    """Return the real paths of those that exist; add links on the way to `links`."""
    found: list[str] = []
    for path in paths:
        _, way, inside = split_view(os.path.abspath(path))  # noqa: PTH100 - keeps links
        real = _follow(inside, way, links)
        found += [real] if os.path.lexists(way + real) else []
    return found


def _follow(path: str, way: str, links: dict[str, str]) -> str:
    """Resolve all links of `path`, noting each in `links`; `way` is the prefix of its namespace."""
    done, left, seen = "/", deque(path.split("/")), 0
    while left and seen <= _MAX_LINKS:
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
    """Drop paths inside another of them or inside one of `others`; sorted, parents first."""
    kept: list[str] = []
    for path in sorted(set(paths)):
        if not _is_inside(path, (*kept, *others)):
            kept.append(path)
    return tuple(kept)


def _is_inside(path: str, folders: Iterable[str]) -> bool:
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)
