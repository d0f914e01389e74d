"""Commands that run a project's tests, in its settings, scripts and CI files."""

import re
from typing import NamedTuple

from remora.code.folders import BESIDE
from remora.code.pytest_model.pytest_file import TEST_FOLDERS
from remora.tools.tree import ToolTree

_HAS_COMMANDS = re.compile(
    r"pyproject\.toml|\.?pytest\.ini|tox\.ini|setup\.(?:cfg|py)|noxfile\.py|tasks\.py|[Mm]akefile|[Jj]ustfile"
    r"|(?:docs?/)?conftest\.py|[^/]+\.sh|scripts/[^/]+|\.github/.+\.ya?ml|\.circleci/.+\.ya?ml"
    r"|\.gitlab-ci\.yml|\.travis\.yml|azure-pipelines\.ya?ml|\.?appveyor\.ya?ml"
)
"""Paths of files with the commands and settings of a project's tests."""
SCRIPT = re.compile(r"\bpython[\w.]*(?: +-[bBduv]+)* +(?:-m +([\w.]+)|([\w./-]+\.py)\b)")
_UNITTEST = re.compile(r"\bunittest\.(?:main|TextTestRunner|TestLoader)\(")
_RUNS_UNITTEST = re.compile(
    r"-m (?:unittest|nose2)\b"
    r"|(?:^[ \t-]*|\brun(?:: *| +)|\brun\([\"']|= *|[;&|] *)nose2(?![\w.-]| *[<=>~!])",
    re.MULTILINE,
)
_DISCOVER = re.compile(r"-m unittest discover\b([^\n;&|]*)")
_OPTION = re.compile(r"( )(-[sp])[ =]?['\"]?([\w*./]+)")
_BETWEEN_WORDS = re.compile(r"""["'],\s*["']""")
_PYTEST = re.compile(r"(?:\bpytest|\bpy\.test)( (?![^\n]*doctest)[^\n;&|#]*)")
_OPTION_WITH_PATH = re.compile(
    r" (?:--cov|--ignore|--rootdir|--confcutdir|--basetemp|-c|-p|-k|-m|-o) +[^ ]+"
)
_FOLDER = re.compile(r"\w[\w./-]*")
_POSARGS = re.compile(r"\{posargs:?([^{}]*)\}")


def commands_of(place: ToolTree) -> str:
    """Return the texts with the commands and settings of a project's tests."""
    paths = place.files.glob("**/*", look=place.left)
    texts = [place.text_or_empty(path) for path in paths if _HAS_COMMANDS.fullmatch(path)]
    return _BETWEEN_WORDS.sub(" ", "\n".join(texts))


def runs_unittest(place: ToolTree) -> bool:
    """Return True if commands run unittest, directly or with a script.

    Pytest runs tests that are written for unittest, too.
    """
    commands = commands_of(place)
    scripts = {match[2].removeprefix("./") for match in SCRIPT.finditer(commands) if match[2]}
    texts = (place.text_or_empty(path) for path in scripts)
    return bool(_RUNS_UNITTEST.search(commands)) or any(map(_UNITTEST.search, texts))


class Discovery(NamedTuple):
    """The folder and the pattern of file names of `unittest discover`, or empty strings."""

    folder: str = ""
    pattern: str = ""


def unittest_discovery(place: ToolTree) -> Discovery:
    """Return where the first command of `unittest discover` looks for tests."""
    command = _DISCOVER.search(commands_of(place))
    if command is None:
        return Discovery()
    options = {key[-1]: value for _, key, value in _OPTION.findall(command[1])}
    return Discovery(options.get("s", "").strip("./"), options.get("p", ""))


def pytest_folders(place: ToolTree) -> tuple[str, ...]:
    """Return the folders with Python files that commands of pytest name.

    If some of them have names of folders of tests, the others are left out.
    """
    found: dict[str, None] = {}
    for match in _PYTEST.finditer(_POSARGS.sub(r"\1", commands_of(place))):
        given = _OPTION_WITH_PATH.sub(" ", match[1]).split()
        words = [word.strip("\"'[],").removeprefix("./").rstrip("/") for word in given]
        plain = [word for word in words if _FOLDER.fullmatch(word) and ".." not in word]
        folders = [each for each in plain if place.files.glob(f"{each}/*.py")]
        if len(folders) * 2 > len(plain):  # otherwise it is a sentence or a list of packages
            found |= dict.fromkeys(each for each in folders if BESIDE.isdisjoint(each.split("/")))
    tests = [each for each in found if not TEST_FOLDERS.isdisjoint(each.split("/"))]
    return (*(tests or found),)
