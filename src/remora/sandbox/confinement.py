"""File access policies for subprocesses, and resolution of their paths to real paths."""

import functools
import os
from collections import deque
from collections.abc import Iterable
from pathlib import Path

import msgspec

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
    """The paths that a subprocess may access, in addition to the system's programs and libraries.

    The subprocess may read its working folder and the paths in `read`. It may read and write the
    paths in `write`. At level 2 and above, changes in `scratch` folders are private and are
    discarded, and there is no network access. At level 0, nothing is enforced.
    """

    read: tuple[Path, ...] = ()
    write: tuple[Path, ...] = ()
    scratch: tuple[Path, ...] = ()


class ResolvedPaths(msgspec.Struct, frozen=True, kw_only=True):
    """The existing paths of a confinement, as real paths. Paths inside other paths are left out."""

    read: tuple[str, ...]
    write: tuple[str, ...]
    scratch: tuple[str, ...]
    links: dict[str, str]
    """The symbolic links that lead to these paths."""


def resolve_paths(confinement: Confinement, folder: Path) -> ResolvedPaths:
    """Resolve a confinement for a command that runs in `folder`."""
    links = dict(_system()[0])
    scratch = _real_paths(confinement.scratch, links)
    write = _outermost(_real_paths(confinement.write, links), ())
    read = [*_system()[1], *_real_paths((folder, *confinement.read), links)]
    covered = _outermost(scratch, ())
    outermost = _outermost(read, (*write, *covered))
    visible = (*outermost, *write, *covered)
    return ResolvedPaths(
        read=outermost,
        write=write,
        scratch=covered,
        links={path: target for path, target in links.items() if not _is_inside(path, visible)},
    )


@functools.cache
def _system() -> tuple[dict[str, str], tuple[str, ...]]:
    links: dict[str, str] = {}
    return links, tuple(_real_paths(map(Path, _SYSTEM), links))


def _real_paths(paths: Iterable[Path], links: dict[str, str]) -> list[str]:
    """Return the real paths of existing paths, and add the links to these paths to `links`."""
    real = [_follow(os.path.abspath(path), links) for path in paths]  # noqa: PTH100 - keeps links
    return [path for path in real if os.path.lexists(path)]


def _follow(path: str, links: dict[str, str]) -> str:
    """Resolve all links in `path`, and add each link to `links`."""
    done, parts, links_followed = "/", deque(path.split("/")), 0
    while parts and links_followed <= _MAX_LINKS:
        if (part := parts.popleft()) in ("", "."):
            continue
        if part == "..":
            done = os.path.dirname(done)  # noqa: PTH120 - text
            continue
        here = os.path.join(done, part)  # noqa: PTH118 - text
        try:
            target = os.readlink(here)  # noqa: PTH115 - text
        except OSError:
            done = here
            continue
        links[here] = target
        links_followed += 1
        done = "/" if target.startswith("/") else done
        parts.extendleft(reversed(target.split("/")))
    return done


def _outermost(paths: Iterable[str], others: tuple[str, ...]) -> tuple[str, ...]:
    """Return the sorted paths, leaving out paths inside other paths or inside `others`."""
    result: list[str] = []
    for path in sorted(set(paths)):
        if not _is_inside(path, (*result, *others)):
            result.append(path)
    return tuple(result)


def _is_inside(path: str, folders: Iterable[str]) -> bool:
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)
