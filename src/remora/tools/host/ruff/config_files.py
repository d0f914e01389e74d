"""Ruff configuration of files in the tree. Files above the root are never used."""

import os
import re
import tomllib
from collections.abc import Iterator, Sequence
from typing import Any

from remora.errors import HostError
from remora.tools.file_tree import FileTree

SETTINGS = (".ruff.toml", "ruff.toml", "pyproject.toml")
"""Configuration files; the first one in a folder counts."""
_LIMIT = 1024 * 1024
_PYTHON = 3
_FIRST_KNOWN, _LAST_KNOWN = 7, 14
_UNCLEAR = re.compile(r"[~$\\]|(?:^|/)(?!\.\.?/)[^/]+/(?:.*/)?\.\.(?:/|$)")
_LOWEST = re.compile(r"(?:>=|==|~=|>|\^)\s*3\.(\d+)")
_PYTHON_2 = re.compile(r"(?:>=|==|~=|~|>|\^)\s*2\b")
_TESTED_2 = re.compile(r"\bpy2[67]\b|(?m:^[^\n#]*\bpython[^\n]*(?<![\w.=])2\.[67](?![\w.]))")
_TRAVIS_2 = re.compile(r"(?m)^python:(?:\s*\n?\s*-[^\n]*)*?[ \t'\"-]+2\.[67]\b")
_CODE_2 = re.compile(
    rb"\b(?:xrange|raw_input)\(|\burllib\.(?:urlopen|quote|urlencode)\("
    rb"|^from __future__ import .*(?:print_function|unicode_literals)",
    re.MULTILINE,
)
_TOX_VERSION = re.compile(r"(?<![\w.])(?:py)?3\.?\{?(\d{1,2})(?!\d)")
_OTHER_FACTOR = re.compile(r"\b(?!py3?\{)[a-z][\w.]*\{[^}]*\}")
_MATRIX = re.compile(
    r"\bpython(?:[-_]?versions?)?['\"]?:[ \t]*(\[[^\]]*\]|(?:\s*(?:#[^\n]*)?\n[ \t]*-[^\n]*)+)"
)
_MATRIX_VERSION = re.compile(r"(?<![\d.])3\.(\d{1,2})")
_IN_SETUP_PY = re.compile(
    r"""(?m)^[^#\n]*\bpython_requires\b['"\]\s]*[=:]\s*\(?\s*['"]([^'"\n]+)"""
)
"""The literal `python_requires` of setup.py: an argument, or an item of a dictionary."""
_STATING = (
    "pyproject.toml", "setup.cfg", "*mypy.ini", "pyrightconfig.json", ".pre-commit-config.yaml", "Pipfile",
    "noxfile.py", "*environment*.y*ml", "*Dockerfile*", "*/*Dockerfile*", ".python-version", "runtime.txt",
)  # fmt: skip
_STATED = re.compile(
    r"(?im)(?<![\w-])(?:target-version|py(?:thon)?s?(?:[-_]?(?:full_)?version)?)['\"]?[ \t]*[=:][ \t]*"
    r"([\[(][^\])]*|['\"]?(?:py)?3[^\n#;,]*)"
    r"|--(py3\d+)-plus|--(?:target|python)-version\W+((?:py)?3\.?\d+)"
    r"|^[ \t]*- *(?:[\w-]+::)?python *[~>]=? *(3[\d.]+)|^FROM\b.*python(3\.\d+)|^(?:python-)?(3\.\d+)"
)
"""Settings of tools and images that state a version of Python, and what does so in them.

In 4 of 200 packages, it is older than the one that they require.
"""
_CLASSIFIER = re.compile(r"Programming Language :: Python :: (\d)(?:\.(\d+))?")


def is_configured(place: FileTree, path: str) -> bool:
    """Return True if the tree contains a ruff configuration that applies to `path`.

    `path` is a file or a folder. Raises HostError if a configuration file is outside the root or
    cannot be read.
    """
    return bool([*_configurations(place, path)])


def has_target(place: FileTree, path: str) -> bool:
    """Return True if ruff itself finds the oldest Python version in the configuration of a file.

    It looks for `target-version`, and for `requires-python` of the project, but not for what Poetry,
    setup.cfg or setup.py require, or for a lower version elsewhere.
    """
    named = any("target-version" in settings for settings in settings_for(place, path))
    required = _value(place.toml("pyproject.toml"), "project", "requires-python")
    return named or (bool(required) and declared_minor(place) == _required_minor(place))


def has_config_below(place: FileTree, folder: str) -> bool:
    """Return True if a subfolder of `folder` has a ruff configuration.

    Raises whatever `is_configured` raises.
    """
    pattern = f"{folder}/**/*.toml" if folder else "**/*.toml"
    inside = {path.rpartition("/")[0] for path in place.files.glob(pattern, look=place.left)}
    return bool([file for inner in sorted(inside) for file in _in_folder(place, inner)])


def settings_for(place: FileTree, path: str) -> Sequence[dict[str, Any]]:
    """Return the nearest ruff configuration of a file or folder, and those that it extends.

    Returns an empty list if there is none. Raises whatever `is_configured` raises.
    """
    return next(_configurations(place, path), [])


def _configurations(place: FileTree, path: str) -> Iterator[list[dict[str, Any]]]:
    """Yield the configurations of a file or folder, the nearest first, with those they extend."""
    folder = path if path == "" or (place.tree / path).is_dir() else path.rpartition("/")[0]
    parts = [part for part in folder.split("/") if part not in ("", ".")]
    for count in range(len(parts), -1, -1):
        yield from _in_folder(place, "/".join(parts[:count]))


def _in_folder(place: FileTree, folder: str) -> Iterator[list[dict[str, Any]]]:
    """Yield the configuration of a folder, if it has one, with those that it extends."""
    for name in SETTINGS:
        path = f"{folder}/{name}" if folder else name
        settings = (
            _section(path, _read(place, path)) if os.path.lexists(place.tree / path) else None
        )
        if settings is not None:
            yield [settings, *_extended(place, path, settings, [path])]
            return


def nearest_config_folder(place: FileTree, folder: str) -> str:
    """Return the nearest folder with a file that may configure ruff, or an empty string."""
    while folder and not any(os.path.lexists(place.tree / folder / name) for name in SETTINGS):
        folder = folder.rpartition("/")[0]
    return folder


DEFAULT_MINOR = 10
"""The minor version of the oldest Python 3 that is assumed if the project does not say it.

Most projects that are maintained run on it.
"""


def target_version(minor: int) -> list[str]:
    """Return the ruff option for the oldest Python version that a project supports.

    Ruff's own search is not used, because it continues above the root if there is no configuration
    in the project.
    """
    return ["--target-version", f"py3{min(max(minor, _FIRST_KNOWN), _LAST_KNOWN)}"]


def oldest_minor(place: FileTree) -> int | None:
    """Return the minor version of the oldest Python 3 that the project supports, or None."""
    declared = declared_minor(place)
    return declared and declared[0]


def declared_minor(place: FileTree) -> tuple[int, str] | None:
    """Return the minor version of the oldest Python 3 that the project supports, and its source.

    The version is read from pyproject.toml, setup.cfg or setup.py, without running any of them. If
    none requires a version, the lowest one that a classifier names is returned, or else the lowest
    one that tox or a matrix in the workflows of GitHub tests. Settings of other tools and images
    can only lower it: they may be for one of several versions.
    """
    declared = _required_minor(place)
    stated = min(_stated(place, is_required=declared is not None), default=None)
    lowest = DEFAULT_MINOR if declared is None else declared[0]
    return stated if stated and stated[0] < lowest else declared


def _required_minor(place: FileTree) -> tuple[int, str] | None:
    files = ("pyproject.toml", "setup.cfg", "setup.py")
    for file, required in zip(files, _requirements(place), strict=True):
        if lowest := _LOWEST.search(required):
            return int(lowest[1]), file
    named = (minor for major, minor in _classified(place) if major == _PYTHON and minor)
    for source, minors in (("classifiers", named), ("tox or workflows", _tested(place))):
        if minor := min(minors, default=None):
            return minor, source
    return None


def _stated(place: FileTree, *, is_required: bool) -> Iterator[tuple[int, str]]:
    """Yield the minor versions of Python 3 in settings of tools and in images, with their files.

    An upgrader's `--py36-plus` says what it may write, which may be old beside what is required.
    """
    for path in (path for pattern in _STATING for path in place.files.glob(pattern)):
        for used, plus, *others in _STATED.findall(place.text_or_empty(path)):
            groups = [used, "" if is_required else plus, *others]
            yield from ((int(minor), path) for minor in _TOX_VERSION.findall(" ".join(groups)))


def _tested(place: FileTree) -> Iterator[int]:
    """Yield the minor versions of Python 3 that the project's tests run on.

    A workflow that names a single version says nothing about older ones.
    """
    for key in ("envlist", "env_list"):
        names = _OTHER_FACTOR.sub("", place.ini("tox.ini").get("tox", key, fallback=""))
        yield from map(int, _TOX_VERSION.findall(names))
    for path in place.files.glob(".github/workflows/*.y*ml", look=place.left):
        for versions in _MATRIX.findall(place.text_or_empty(path)):
            minors = [int(minor) for minor in _MATRIX_VERSION.findall(versions)]
            yield from minors if len(minors) > 1 else ()


def supports_python_2(place: FileTree) -> bool:
    """Return True if the project declares that it also runs on Python 2.

    If neither a requirement nor a classifier names a version, the versions count that tox or CI test,
    or for which setup.py or setup.cfg require other packages. If they name none either, the code
    counts.
    """
    required = list(filter(None, _requirements(place)))
    if required:
        return any(map(_PYTHON_2.search, required))
    majors = {major for major, _ in _classified(place)}
    if majors:
        return min(majors) < _PYTHON
    workflows = place.files.glob(".github/workflows/*.y*ml", look=place.left)
    names = ("tox.ini", ".travis.yml", "setup.py", "setup.cfg", *workflows)
    texts = map(place.text_or_empty, names)
    if any(_TESTED_2.search(text) or _TRAVIS_2.search(text) for text in texts):
        return True
    code = place.contents("**/*.py") if declared_minor(place) is None else ()
    return any(_CODE_2.search(content) for _, content in code)


def _classified(place: FileTree) -> Iterator[tuple[int, int]]:
    """Yield the Python versions that the project's classifiers name. The minor version may be 0."""
    for name in ("pyproject.toml", "setup.cfg", "setup.py"):
        for major, minor in _CLASSIFIER.findall(place.text_or_empty(name)):
            yield int(major), int(minor or 0)


def _requirements(place: FileTree) -> Iterator[str]:
    """Yield the Python version that each file of the project requires, or an empty string."""
    document = place.toml("pyproject.toml")
    required = _value(document, "project", "requires-python")
    yield required or _value(document, "tool", "poetry", "dependencies", "python")
    yield place.ini("setup.cfg").get("options", "python_requires", fallback="")
    in_code = _IN_SETUP_PY.search(place.text_or_empty("setup.py"))
    yield in_code[1] if in_code else ""


def _value(document: object, *keys: str) -> str:
    """Return the string under a path of keys, or an empty string if there is none."""
    for key in keys:
        document = document.get(key) if isinstance(document, dict) else None
    return document if isinstance(document, str) else ""


def _section(path: str, document: dict[str, Any]) -> dict[str, Any] | None:
    if path.rpartition("/")[2] != "pyproject.toml":  # ruff compares the full file name, too
        return document
    tool = document.get("tool")
    ruff = tool.get("ruff") if isinstance(tool, dict) else None
    return ruff if isinstance(ruff, dict) else None


def _extended(
    place: FileTree, path: str, settings: dict[str, Any], seen: list[str]
) -> list[dict[str, Any]]:
    """Return the configurations that one extends. Raises HostError if one is outside the root."""
    extend = settings.get("extend")
    if not isinstance(extend, str):
        return []
    beyond = f"{path}: `extend = {extend!r}` is outside the root"
    # ruff expands `~` and `$`, and `..` after a link leads elsewhere
    if extend.startswith("/") or _UNCLEAR.search(extend):
        raise HostError(beyond)
    target = os.path.normpath("/".join([*path.split("/")[:-1], extend]))
    if target == ".." or target.startswith("../"):
        raise HostError(beyond)
    if target in seen:
        raise HostError(f"{path}: `extend` is circular")
    inner = _section(target, _read(place, target)) or {}
    return [inner, *_extended(place, target, inner, [*seen, target])]


def _read(place: FileTree, path: str) -> dict[str, Any]:
    content = place.files.read_bytes(path, limit=_LIMIT)
    try:
        return tomllib.loads(content.decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise HostError(f"{path}: invalid TOML: {error}") from None
