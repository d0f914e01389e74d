"""The file that lists the repositories of a sweep, such as `repos.yaml`."""

import re
from pathlib import Path
from typing import Annotated

import msgspec
from pydantic import BeforeValidator, Field, ValidationError

from remora.config.messages import describe_errors
from remora.config.schema import Section
from remora.config.yaml_positions import read_yaml_file
from remora.errors import ConfigError

_URL = re.compile(r"(https?|ssh|file)://|[\w.-]+@[\w.-]+:")
_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
_HINT = "see the example in docs/how-to/sweep.md"


class ListedRepository(msgspec.Struct, frozen=True, kw_only=True):
    """A repository of a sweep.

    It is cloned from `url` into `clone`, or is a folder of the user if `url` is empty. `ref` is the
    branch, tag or commit to check out, or an empty string for the default branch. The project's
    root is `folder` in it.
    """

    name: str
    url: str
    clone: str
    ref: str = ""
    folder: str = ""

    @property
    def root(self) -> Path:
        """The root of the project."""
        return Path(self.clone) / self.folder


def _entry(value: object) -> object:
    """Return an entry that is only an address or a path as a mapping."""
    if isinstance(value, str):
        return {"url": value} if _URL.match(value) else {"path": value}
    return value


def _address(value: object) -> object:
    if isinstance(value, str) and value.startswith("http://"):
        raise ValueError("expected an address with https://, because http:// is not encrypted")
    if isinstance(value, str) and not _URL.match(value):
        raise ValueError(
            "expected an address such as https://git.example.com/team/shop.git; "
            "a folder has `path` instead of `url`"
        )
    if isinstance(value, str) and re.match(r"https?://[^/]*@", value):
        raise ValueError(
            "expected an address without a user name or token; use a git credential helper"
        )
    return value


def _inside(value: object) -> object:
    if isinstance(value, str) and (value.startswith("/") or ".." in Path(value).parts):
        raise ValueError("expected a folder in the repository")
    return value


class _Entry(Section):
    name: Annotated[str, Field(pattern=_NAME)] | None = None
    url: Annotated[str, BeforeValidator(_address)] | None = None
    path: Annotated[str, Field(min_length=1)] | None = None
    ref: Annotated[str, Field(pattern=r"^[^-\s][^\s]*$")] | None = None
    folder: Annotated[str, BeforeValidator(_inside)] = ""


class _File(Section):
    clones: Annotated[str, Field(min_length=1)] = "repositories"
    repositories: Annotated[
        tuple[Annotated[_Entry, BeforeValidator(_entry)], ...], Field(strict=False, min_length=1)
    ]


def read_repository_list(path: Path) -> tuple[ListedRepository, ...]:
    """Return the repositories that a file lists. Paths are relative to the file's folder.

    Raises ConfigError with a position if the file is invalid, and DiskError if it cannot be read.
    """
    parsed = read_yaml_file(path)
    try:
        found = _File.model_validate(parsed.value)
    except ValidationError as error:
        raise ConfigError("\n".join(describe_errors(error, _File, parsed)), hint=_HINT) from error
    here = path.resolve().parent
    clones = here / _expanded(found.clones, str(path))
    listed: dict[str, ListedRepository] = {}
    roots: dict[Path, str] = {}
    for number, entry in enumerate(found.repositories):
        place = parsed.places.get(("repositories", number), str(path))
        one = _listed(entry, here, clones, place)
        if one.name in listed:
            raise ConfigError(
                f"{place}: a second repository named {one.name}", hint="give it another `name`"
            )
        if one.root in roots:
            raise ConfigError(
                f"{place}: {one.name} is the same folder as {roots[one.root]}",
                hint="list a folder only once",
            )
        roots[one.root] = one.name
        listed[one.name] = one
    return tuple(listed.values())


def _listed(entry: _Entry, here: Path, clones: Path, place: str) -> ListedRepository:
    if (entry.url is None) == (entry.path is None):
        raise ConfigError(f"{place}: expected either a url or a path", hint=_HINT)
    if entry.path is not None and entry.ref is not None:
        raise ConfigError(
            f"{place}: ref needs a url; a folder is used as it is", hint="remove `ref`, or use url"
        )
    source = (entry.url or entry.path or "").rstrip("/")
    name = entry.name or re.split(r"[/:\\]", source)[-1].removesuffix(".git")
    if not re.fullmatch(_NAME, name):
        raise ConfigError(f"{place}: {name!r} cannot be the repository's name", hint="add `name`")
    clone = clones / name if entry.url else (here / _expanded(source, place)).resolve()
    return ListedRepository(
        name=name, url=entry.url or "", clone=str(clone), ref=entry.ref or "", folder=entry.folder
    )


def _expanded(text: str, place: str) -> Path:
    try:
        return Path(text).expanduser()
    except RuntimeError as error:  # there is no such user
        raise ConfigError(f"{place}: {text}: {error}", hint="write the path in full") from error
