"""The type checker that a project names, and its runs, or those of mypy in its place."""

import re
import shutil
import signal
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from remora.code.pytest_model.pytest_file import is_of_tests
from remora.code.pytest_model.pytest_settings import parse_ini, parse_toml
from remora.errors import HostError
from remora.sandbox.confinement import Confinement
from remora.sandbox.interpreters import ProjectPython, interpreter_paths
from remora.sandbox.isolation import may_run_code
from remora.sandbox.process import ProcessResult, run_command
from remora.sandbox.supervisor_client import Command
from remora.tools.file_tree import FileTree
from remora.workspaces.rooted_files import RootedFiles

Name = Literal["mypy", "pyright", "ty"]
SETTINGS_FILES = ("pyproject.toml", "mypy.ini", ".mypy.ini", "setup.cfg", "pyrightconfig.json")
_ALSO_NAMED_IN = (
    "tox.ini",
    ".pre-commit-config.yaml",
    "noxfile.py",
    "Makefile",
    "justfile",
    "requirements*.txt",
    "*requirements.txt",
    "requirements/*.txt",
    ".github/workflows/*.yml",
    ".github/workflows/*.yaml",
    ".gitlab-ci.yml",
)
_NAMES: tuple[Name, ...] = ("mypy", "pyright", "ty")
_COMMENT = re.compile(r"(?m)^\s*[#;].*$|\s#\s.*$")
_COMMANDS = {
    "mypy": r"(?:mirrors-|pytest-)?mypy",
    "pyright": r"(?:based)?pyright(?:-action)?",
    "ty": r"ty(?= +check)",
}
_PIN = r"(?:[<>=~!]=?|@)\s*v?(\d[\w.]*)"
_REVISION = r"/mirrors-mypy['\"]?\s+rev:\s*['\"]?v?(\d[\w.]*)"
_HOOK_WITHOUT_ARGS = re.compile(
    r"/mirrors-mypy\b(?:(?!\brepo:|\bargs:).)*(?:\brepo:|\Z)", re.DOTALL
)
_FLAG = re.compile(
    r"(?<=\s)--(?:strict|check-untyped-defs|ignore-missing-imports|disallow-[\w-]+|warn-[\w-]+)\b"
)


class Diagnostic(NamedTuple):
    """A diagnostic of a checker. Lines and columns start at 1, and columns count characters."""

    path: str
    rule: str
    line: int
    column: int
    message: str


class DeclaredChecker(NamedTuple):
    """A type checker that a project names."""

    name: Name
    pin: str = ""
    """The required version, or an empty string."""
    options: tuple[str, ...] = ()
    """The options on command lines."""


def declared_checker(place: FileTree) -> DeclaredChecker | None:
    """Return the type checker that a project uses, or None if it names none.

    The result is never ty if another one is named, because ty judges in any case.
    """
    texts = dict(settings_texts(place))
    configured = _configured(texts)
    for name in _NAMES:
        word = re.compile(rf"(?<![\w.-]){_COMMANDS[name]}(?![\w.]|-\w)")
        named = [text for text in texts.values() if word.search(text)]
        if name in configured or named:
            joined = "\n".join(named)
            pin = re.search(rf"(?<![\w-])(?:based)?{name}\s*{_PIN}", joined)
            pin = pin or (re.search(_REVISION, joined) if name == "mypy" else None)
            lines = [line for line in joined.splitlines() if name == "mypy" and word.search(line)]
            options = dict.fromkeys(flag for line in lines for flag in _FLAG.findall(f" {line}"))
            if name == "mypy" and _HOOK_WITHOUT_ARGS.search(joined):
                options["--ignore-missing-imports"] = None  # is the default of `args`
            return DeclaredChecker(name, pin.group(1) if pin else "", tuple(options))
    return None


def settings_texts(place: FileTree) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each file in which a project names its tools."""
    for pattern in (*SETTINGS_FILES, *_ALSO_NAMED_IN):
        for path in place.files.glob(pattern):
            try:
                yield path, _COMMENT.sub("", place.read(path).decode("utf-8", "replace"))
            except HostError:
                continue


def _configured(texts: Mapping[str, str]) -> set[str]:
    """Return the checkers that have settings."""
    files = {path: text.encode() for path, text in texts.items()}
    found = set(tool_settings(files)) & set(_NAMES)
    if "pyrightconfig.json" in files or "basedpyright" in tool_settings(files):
        found.add("pyright")
    if mypy_settings(files) is not None:
        found.add("mypy")
    return found


_INI_FILES = ("mypy.ini", ".mypy.ini", "setup.cfg")
_PLUGINS = re.compile(r"(?m)^\s*plugins\s*=\s*(?:\[[^\]]*\]|.*(?:\n[ \t]+\S.*)*)$")
_RUNS_CODE = re.compile(r"(?i)plugins|python_?-?executable")
"""Settings of mypy, in any way of writing them, that run code of the project."""
_MYPY_LINE = re.compile(r"^(.+?):(\d+): error: (.*?)(?:  \[([\w-]+)\])?$")
_MYPY_OPTIONS = (
    "--no-pretty",
    "--hide-error-context",
    "--no-error-summary",
    "--no-color-output",
    "--show-error-codes",
)
_MYPY_FAILED = 2
_CPU_USED = {-signal.SIGXCPU, -signal.SIGKILL}
_NEAR_ALL = 300.0
_NOT_CHECKED = {"setup.py", "docs", "doc", "examples"}


class ProjectChecker(NamedTuple):
    """A type checker with a project's settings."""

    command: tuple[str, ...]
    label: str
    """The name and the version in words."""
    is_mypy: bool
    """False for pyright."""
    python: ProjectPython | None
    config: tuple[str, str] | None = None
    """The name and the text of a file of settings to write into the checked folder."""
    cpu: int | None = None
    """The most seconds of processor time that it may take."""

    @property
    def question(self) -> str:
        """The question about the files, for answers that are kept."""
        return "\0".join((*self.command, self.label, *(self.config or ())))

    def check(self, folder: Path, seconds: float, kept: Path | None = None) -> list[Diagnostic]:
        """Return the errors in the project in `folder`.

        Plug-ins are the project's code, so changes of files are discarded, except for the cache.
        Mypy's is in the folder `kept`, by question, if it is kept for other copies of the project,
        and beside `folder` otherwise. If mypy fails, such as for two scripts of the same name, it
        runs once more with modules named after their paths. Raises HostError if the checker fails
        or does not finish.
        """
        finished = self._finished(self.command, folder, seconds, kept)
        if self.is_mypy and finished.returncode == _MYPY_FAILED:
            again = (*self.command, "--explicit-package-bases")
            finished = self._finished(again, folder, seconds, kept)
        if finished.returncode >= _MYPY_FAILED or finished.returncode < 0:
            said = (finished.stderr.strip() or finished.stdout.strip()).decode("utf-8", "replace")
            raise HostError(f"{self.label} failed: {said.partition(chr(10))[0][:200]}".rstrip(": "))
        output = finished.stdout.decode("utf-8", "replace")
        return _mypy_errors(output) if self.is_mypy else _pyright_errors(output, folder)

    def _finished(
        self, argv: tuple[str, ...], folder: Path, seconds: float, kept: Path | None
    ) -> ProcessResult:
        if self.config is not None:
            RootedFiles(folder).put(self.config[0], self.config[1].encode())
        read = [*interpreter_paths(Path(self.command[0]), trusted=False)]
        if self.python is not None:
            read += interpreter_paths(self.python.python, trusted=self.python.trusted)
        cache = folder.with_name(f"{folder.name}-cache")
        if kept is not None:
            cache = kept / f"{folder.name}-{sha256(self.question.encode()).hexdigest()[:16]}"
        cache.mkdir(mode=0o700, exist_ok=True)
        command = Command(
            argv=argv,
            folder=folder,
            seconds=min(_NEAR_ALL, seconds),
            confinement=Confinement(read=tuple(read), write=(cache,), scratch=(folder,)),
            environment={"MYPY_CACHE_DIR": str(cache)},
            cpu=self.cpu,
        )
        finished = run_command(command, output_limit=64 * 1024 * 1024)
        if finished.timed_out:
            raise HostError(f"{self.label} did not finish within {command.seconds:.1f} s")
        if self.cpu is not None and finished.returncode in _CPU_USED:
            raise HostError(f"{self.label} needs more than {self.cpu} s of processor time")
        finished.require_whole_output(self.label)
        return finished


def find_checker(
    declared: DeclaredChecker | None,
    settings: Mapping[str, bytes],
    python: ProjectPython | None,
    paths: Iterable[str],
) -> ProjectChecker | None:
    """Return the type checker that a project uses, or mypy in its place, or None.

    A project that names none is checked by mypy without options, as its users may do. The project's
    checker must be installed in its interpreter, and is only run if the project's code
    may be run, because its plug-ins are such code. Otherwise, Remora's mypy takes the place of mypy.
    `paths` are those of the project's files, which are checked, without tests and modules with stubs
    beside them, if the configuration names none.
    """
    python = python if python is not None and may_run_code(python) else None
    own = {path for path in paths if path.endswith((".py", ".pyi")) and not is_of_tests(path)}
    own -= {path for path in own if "-stubs/" in path}  # mypy refuses such names of packages
    own -= {path.removesuffix("i") for path in own if path.endswith(".pyi")}
    names = {path.partition("/")[0] for path in own} - _NOT_CHECKED
    names -= {f"{name}.py" for name in names}  # scripts named like their package
    targets = [f"./{name}" for name in sorted(names)]  # mypy reads options from `-x.py` and `@x.py`
    if declared is None:
        return _own_mypy(DeclaredChecker("mypy"), {}, python, (*_MYPY_OPTIONS, *targets))
    if declared.name == "ty":
        return None
    if declared.name == "pyright":
        return _pyright(python) if python is not None else None
    named = any(key in (mypy_settings(settings) or {}) for key in ("files", "packages", "modules"))
    rest = (*_MYPY_OPTIONS, *declared.options, *([] if named else targets))
    if python is not None and installed_version(python.python, "mypy"):
        words = (str(python.python), "-I", "-m", "mypy")  # Python 3.10 does not know -P
        return ProjectChecker((*words, *rest), _label(python, "mypy"), True, python)
    return _own_mypy(declared, settings, python, rest)


def _own_mypy(
    declared: DeclaredChecker,
    settings: Mapping[str, bytes],
    python: ProjectPython | None,
    rest: Sequence[str],
) -> ProjectChecker | None:
    """Return Remora's mypy with the project's settings, without plug-ins, or None.

    The project's code may not be run if `python` is None.
    """
    if find_spec("mypy") is None:
        return None
    config = _config_of_mypy(settings)
    if python is None and _RUNS_CODE.search(config[1]):
        return None
    packages = ("--no-site-packages",)
    if python is not None:
        packages = (f"--python-executable={python.python}",)
    words = (sys.executable, "-P", "-m", "mypy", f"--config-file={config[0]}", *packages)
    label = f"mypy {metadata.version('mypy')}"
    label += " with the project's settings" if settings else ""
    if declared.pin:
        label += f" (the project uses mypy {declared.pin})"
    return ProjectChecker((*words, *rest), label, True, python, config)


def _config_of_mypy(settings: Mapping[str, bytes]) -> tuple[str, str]:
    """Return the name and the text of the file with mypy's settings, without its plug-ins."""
    text = settings.get("pyproject.toml", b"").decode("utf-8", "replace")
    name = "remora-mypy.toml"
    if not isinstance(tool_settings(settings).get("mypy"), dict):
        inis = (settings.get(file, b"").decode("utf-8", "replace") for file in _INI_FILES)
        text = next((ini for ini in inis if "[mypy]" in ini), "[mypy]\n")
        name = "remora-mypy.ini"
    return name, _PLUGINS.sub("", text)


def _pyright(python: ProjectPython) -> ProjectChecker | None:
    beside = str(python.python.parent)
    for name in ("basedpyright", "pyright"):
        found = shutil.which(name, path=beside)
        if found is not None:
            return ProjectChecker((found, "--outputjson"), _label(python, name), False, python)
    return None


def _label(python: ProjectPython, name: str) -> str:
    return f"the project's {name} {installed_version(python.python, name)}".strip()


def installed_version(python: Path, name: str) -> str:
    """Return the version of a package that is installed beside an interpreter, or nothing."""
    folders = python.parent.parent.glob(f"lib*/python3*/site-packages/{name}-*.dist-info")
    return next(
        (folder.name.removesuffix(".dist-info").partition("-")[2] for folder in folders), ""
    )


def _mypy_errors(output: str) -> list[Diagnostic]:
    matches = filter(None, map(_MYPY_LINE.match, output.splitlines()))
    return [Diagnostic(line[1], line[4] or "", int(line[2]), 1, line[3]) for line in matches]


def _pyright_errors(output: str, folder: Path) -> list[Diagnostic]:
    try:
        return [
            Diagnostic(
                item["file"].removeprefix(f"{folder}/"),
                item.get("rule", ""),
                item["range"]["start"]["line"] + 1,
                1,
                item["message"],
            )
            for item in msgspec.json.decode(output)["generalDiagnostics"]
            if item["severity"] == "error"
        ]
    except (msgspec.DecodeError, KeyError, TypeError):
        raise HostError("pyright's output is not valid JSON") from None


def mypy_settings(settings: Mapping[str, bytes]) -> Mapping[str, object] | None:
    """Return the global settings of mypy, or None if there are none."""
    tool = tool_settings(settings).get("mypy")
    if isinstance(tool, dict):
        return tool
    for name in _INI_FILES:
        parser = parse_ini(settings.get(name, b"").decode("utf-8", "replace"))
        if parser.has_section("mypy"):
            return dict(parser["mypy"])
    return None


def tool_settings(settings: Mapping[str, bytes]) -> Mapping[str, object]:
    """Return the table `tool` of `pyproject.toml`."""
    tool = parse_toml(settings.get("pyproject.toml", b"").decode("utf-8", "replace")).get("tool")
    return tool if isinstance(tool, dict) else {}
