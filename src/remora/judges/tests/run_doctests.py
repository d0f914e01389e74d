"""Examples in docstrings and documents that a project runs as tests."""

import ast
import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from functools import cached_property

from remora.code.pytest_model.pytest_file import is_of_tests
from remora.code.syntax.definitions import FunctionNode
from remora.code.syntax.source import parse_text
from remora.tools.tree import ToolTree

_HAS_COMMANDS = re.compile(
    r"pyproject\.toml|\.?pytest\.ini|tox\.ini|setup\.(?:cfg|py)|noxfile\.py|tasks\.py|[Mm]akefile|[Jj]ustfile"
    r"|(?:docs?/)?conftest\.py|[^/]+\.sh|scripts/[^/]+|\.github/.+\.ya?ml|\.circleci/.+\.ya?ml"
    r"|\.gitlab-ci\.yml|\.travis\.yml|azure-pipelines\.ya?ml|\.?appveyor\.ya?ml"
)
"""Paths of files with the commands and settings of a project's tests."""
_SCRIPT = re.compile(r"\bpython[\w.]*(?: +-[bBduv]+)* +(?:-m +([\w.]+)|([\w./-]+\.py)\b)")
_BETWEEN_WORDS = re.compile(r"""["'],\s*["']""")
_IS_DOCUMENT = re.compile(r"README[^/]*|(?:docs?/.+|[^/]+)\.(?:rst|md|txt)")
_SPHINX = r"\bsphinx[^\n]* -[bM] ?doctest|\bmake (?:\S+ )*doctest\b|\bSybil\("
_OF_MODULES = re.compile(
    rf"--doctest-modules|--doctest-plus|with-doctest|doctest_plus *=|--xdoctest|{_SPHINX}"
)
_OF_DOCUMENTS = re.compile(
    rf"--doctest-glob|--doctest-rst|--markdown-docs|--codeblocks|{_SPHINX}"
    r"|\b(?:testfile|DocFileSuite|DocFileTest)\(|-m doctest\b[^\n]*\.(?:rst|md|txt)\b"
)
_OF_FILES = re.compile(r"\bpython[\w.]* +-m doctest\b([^\n;&|]*)")
_SUITE = re.compile(r"\b(?:DocTestSuite|testmod|DocTestFinder)\(")
_FIXTURE = re.compile(r"^[ \t]*>>> .*\bgetfixture\(", re.MULTILINE)
_PROMPT = re.compile(r"[ \t]*>>> ?(.*)")
_CONTINUED = re.compile(r"[ \t]*\.\.\.(?: (.*)|$)")


class RunDoctests:
    """The examples that run as tests. Files are read on first use.

    `tests` maps the paths of test files to their sources.
    """

    def __init__(self, place: ToolTree, tests: Mapping[str, str]) -> None:
        self._place = place
        self._tests = tests

    def runs(self, path: str) -> bool:
        """Return True if a command, a setting or a test runs the examples of a module.

        An example with `getfixture` shows it as well, because only pytest provides that name.
        """
        if path in self._files or _OF_MODULES.search(self._commands) or self._needs_pytest:
            return True
        module = path.removesuffix(".py").removesuffix("/__init__").rpartition("/")[2]
        named = re.compile(rf"\b{re.escape(module)}\b")
        return any(named.search(text) for text in self._tests.values() if _SUITE.search(text))

    def are_tests_of(self, function: FunctionNode, path: str) -> bool:
        """Return True if the function's docstring has examples, and they run as tests."""
        return ">>> " in (ast.get_docstring(function) or "") and self.runs(path)

    @cached_property
    def sources(self) -> dict[str, str]:
        """The examples of each module and document, as Python source, by path."""
        runs_documents = any(map(_OF_DOCUMENTS.search, (self._commands, *self._tests.values())))
        found: dict[str, str] = {}
        for path in self._paths:
            is_module = path.endswith(".py") and (path in self._files or not is_of_tests(path))
            if self.runs(path) if is_module else runs_documents and _IS_DOCUMENT.fullmatch(path):
                found[path] = "\n".join(_examples(self._text(path)))
        return {path: text for path, text in found.items() if text}

    @cached_property
    def _needs_pytest(self) -> bool:
        return any(
            _FIXTURE.search(self._text(path)) for path in self._paths if path.endswith(".py")
        )

    @cached_property
    def _files(self) -> set[str]:
        """The Python files whose examples have a command of their own."""
        found: set[str] = set()
        for match in _OF_FILES.finditer(self._commands):
            words = [word for word in match[1].split() if not word.startswith("-")]
            found.update(path for word in words or ["*.py"] for path in self._matching(word))
        for match in _SCRIPT.finditer(self._commands):
            inner = (match[1] or "").replace(".", "/")
            for word in (match[2],) if match[2] else (f"{inner}.py", f"{inner}/__main__.py"):
                paths = self._matching(word)
                found.update(path for path in paths if "testmod(" in self._text(path))
        return found

    def _matching(self, word: str) -> list[str]:
        """Return the Python files whose path, or the end of whose path, is a word of a command."""
        word = word.strip("'\"").removeprefix("./")
        ends = (word, f"*/{word}")
        return [p for p in self._paths if p.endswith(".py") and any(fnmatch(p, e) for e in ends)]

    @cached_property
    def _commands(self) -> str:
        """The texts with the commands and settings of the project's tests."""
        texts = [self._text(path) for path in self._paths if _HAS_COMMANDS.fullmatch(path)]
        return _BETWEEN_WORDS.sub(" ", "\n".join(texts))

    @cached_property
    def _paths(self) -> list[str]:
        return self._place.files.glob("**/*", look=self._place.left)

    def _text(self, path: str) -> str:
        return self._place.text_or_empty(path)


def _examples(text: str) -> Iterator[str]:
    """Yield the source of each example with a prompt, if it parses."""
    lines: list[str] = []
    for line in [*text.splitlines(), ""]:
        prompt, continued = _PROMPT.match(line), _CONTINUED.match(line)
        if lines and continued is not None:
            lines.append(continued[1] or "")
            continue
        source = "\n".join(lines)
        if source and isinstance(parse_text(source), ast.Module):
            yield source
        lines = [prompt[1]] if prompt is not None else []
