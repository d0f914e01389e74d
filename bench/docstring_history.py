"""Pairs of docstrings from git history: commits that change a function and its docstring.

A pair is the code of a function after a commit, once with the docstring before the commit (old) and
once with the docstring after it (new). Left out are:

- merges, and files that a commit adds, deletes or renames
- tests: files below a folder `test` or `tests`, or named `test_*.py` or `*_test.py`
- docstrings without a list of parameters before the commit
- functions whose code does not change: the syntax trees without docstrings are equal
- reformatted docstrings: the words are equal, without those that name a section or a field
- corrected typos: each changed word has a new spelling (similarity of at least 0.75), and neither
  spelling is a name or a value in the code
"""

import ast
import random
import re
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from remora.code.docstrings.docstring_sections import Style, parse_docstring
from remora.code.syntax.definitions import Definition, find_definitions
from remora.code.syntax.signature import docstring_text
from remora.code.syntax.source import Source, Unreadable, read_source

MOST_OF_COMMIT = 3
"""Pairs of a commit (decision), so that no sweeping change counts many times."""
MOST_FILES = 60
"""Changed files of a commit (decision). Larger commits are imports and mass edits."""
_TYPO = 0.75
_BATCH = 200
"""Commits that one process compares."""
_QUOTES = b'"""'
_LIST = re.compile(rb":param|:arg|:type|Arg|arg|Param")
_SIBLINGS = 41
_TEST = re.compile(r"(^|/)tests?/|(^|/)(test_[^/]*|[^/]*_test|conftest|setup)\.py$")
_WORD = re.compile(r"\w+")
_MARKUP = frozenset(
    (
        *("param", "params", "parameters", "parameter", "args", "arguments", "arg", "type"),
        *("return", "returns", "rtype", "raise", "raises", "yield", "yields", "optional"),
        *("class", "func", "meth", "mod", "obj", "attr", "py", "exc", "data"),
    )
)
"""Words that name a section, a field or a role."""


class Pair(NamedTuple):
    """A function of a commit. `old` and `new` are the file with the old and the new docstring."""

    project: str
    commit: str
    path: str
    qualname: str
    old: bytes
    new: bytes
    style: Style | None
    siblings: dict[str, bytes]

    @property
    def place(self) -> str:
        return f"{self.project}@{self.commit[:10]}:{self.path}:{self.qualname}"


class Change(NamedTuple):
    """A modified file: its path and its blobs before and after the commit."""

    path: str
    old: str
    new: str


class Repository:
    """A git repository, read at a commit. Its blobs come from one process."""

    def __init__(self, folder: Path, commit: str) -> None:
        self.folder = folder
        own = folder.resolve()
        self.name = own.parent.name if own.name == "repo" else own.name
        self.head = self.git("rev-parse", commit).strip()
        self._blobs = subprocess.Popen(
            ["git", "-C", folder, "cat-file", "--batch"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def git(self, *arguments: str, given: str = "") -> str:
        command = ["git", "-C", str(self.folder), *arguments]
        done = subprocess.run(command, check=True, capture_output=True, input=given.encode())
        return done.stdout.decode("utf-8", "replace")

    def close(self) -> None:
        self._blobs.communicate()

    def commits(self) -> list[str]:
        """Return the commits without merges that have one parent, in a stable order."""
        lines = self.git("log", "--no-merges", "--format=%H %P", self.head).splitlines()
        return sorted(line.split()[0] for line in lines if len(line.split()) == 2)

    def changes(self, commits: Sequence[str]) -> Iterator[tuple[str, list[Change]]]:
        """Yield the Python files that each of these commits modifies, without tests."""
        command = ["diff-tree", "--stdin", "-r", "--no-renames", "--no-abbrev", "--diff-filter=M"]
        for start in range(0, len(commits), _BATCH):
            batch = commits[start : start + _BATCH]
            files: dict[str, list[Change]] = {commit: [] for commit in batch}
            commit = ""
            for line in self.git(*command, given="\n".join(batch) + "\n").splitlines():
                if not line.startswith(":"):
                    commit = line
                    continue
                header, _, path = line.partition("\t")
                if path.endswith(".py") and not _TEST.search(path):
                    files[commit].append(Change(path, *header.split()[2:4]))
            yield from files.items()

    def blob(self, name: str) -> bytes | None:
        """Return the content of a blob, or None if the repository does not have it."""
        stdin, stdout = self._blobs.stdin, self._blobs.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(name.encode() + b"\n")
        stdin.flush()
        header = stdout.readline().split()
        if header[-1] == b"missing":
            return None
        content = stdout.read(int(header[2]))
        stdout.read(1)
        return content

    def siblings(self, commit: str, path: str) -> dict[str, bytes]:
        """Return the Python files in the folder of a file, at a commit."""
        folder = PurePosixPath(path).parent.as_posix()
        raw = self.git("ls-tree", "-z", commit, f"{folder}/" if folder != "." else "./")
        found: dict[str, bytes] = {}
        for line in raw.split("\0")[:-1]:
            header, _, name = line.partition("\t")
            if header.split()[1] == "blob" and name.endswith(".py") and len(found) < _SIBLINGS:
                content = self.blob(header.split()[2])
                if content is not None and name != path:
                    found[name] = content
        return found


def pairs_of(repository: Repository, most: int, draw: random.Random) -> Iterator[Pair]:
    """Yield at most so many pairs of a repository, each of another function."""
    commits = repository.commits()
    draw.shuffle(commits)
    taken: set[tuple[str, str]] = set()
    for commit, changes in repository.changes(commits):
        candidates = [
            pair
            for change in (changes if len(changes) <= MOST_FILES else ())
            for pair in _pairs(repository, commit, change)
            if (change.path, pair.qualname) not in taken
        ]
        draw.shuffle(candidates)
        for pair in candidates[:MOST_OF_COMMIT]:
            taken.add((pair.path, pair.qualname))
            yield pair._replace(siblings=repository.siblings(commit, pair.path))
            if len(taken) == most:
                return


def _pairs(repository: Repository, commit: str, change: Change) -> Iterator[Pair]:
    old, new = repository.blob(change.old), repository.blob(change.new)
    if old is None or new is None or not _changes_list(old, new):
        return
    path = change.path
    before, after = read_source(path, old), read_source(path, new)
    if isinstance(before, Unreadable) or isinstance(after, Unreadable):
        return
    known = _functions(before)
    for qualname, definition in _functions(after).items():
        former = known.get(qualname)
        if former is None or not _is_pair(former.node, definition.node):
            continue
        text = _with_docstring(after, definition.node, before, former.node)
        if isinstance(read_source(path, text), Unreadable):
            continue  # such as another encoding
        style = parse_docstring(docstring_text(former.node.body) or "").style
        yield Pair(repository.name, commit, path, qualname, text, after.utf8, style, {})


def _changes_list(old: bytes, new: bytes) -> bool:
    """Return True if a docstring that may have a list of parameters changes, before any parsing."""
    texts = {*old.split(_QUOTES)[1::2]} - {*new.split(_QUOTES)[1::2]}
    return any(_LIST.search(text) for text in texts)


def _functions(source: Source) -> dict[str, Definition]:
    """Return the functions with a docstring and a unique name."""
    found = find_definitions(source.tree, "")
    names = Counter(each.qualname.replace("#2", "") for each in found)
    return {
        each.qualname: each
        for each in found
        if isinstance(each.node, ast.FunctionDef | ast.AsyncFunctionDef)
        and names[each.qualname] == 1
        and len(each.node.body) > 1
        and docstring_text(each.node.body)
    }


def _is_pair(old: ast.AST, new: ast.AST) -> bool:
    assert isinstance(old, ast.FunctionDef | ast.AsyncFunctionDef)
    assert isinstance(new, ast.FunctionDef | ast.AsyncFunctionDef)
    texts = docstring_text(old.body) or "", docstring_text(new.body) or ""
    if not any(section.kind == "parameters" for section in parse_docstring(texts[0]).sections):
        return False
    words = [_words(text) for text in texts]
    if words[0] == words[1] or _code(old) == _code(new):
        return False
    return not _is_typo(words[0], words[1], _names_and_values(old) | _names_and_values(new))


def _words(text: str) -> list[str]:
    return [word for word in _WORD.findall(text) if word.lower() not in _MARKUP]


def _is_typo(old: Sequence[str], new: Sequence[str], in_code: set[str]) -> bool:
    for kind, first, last, begin, end in SequenceMatcher(None, old, new, False).get_opcodes():
        if kind == "equal":
            continue
        if last - first != end - begin:
            return False
        for left, right in zip(old[first:last], new[begin:end], strict=True):
            if {left, right} & in_code:
                return False
            if SequenceMatcher(None, left.lower(), right.lower(), False).ratio() < _TYPO:
                return False
    return True


def _names_and_values(node: ast.AST) -> set[str]:
    """Return the names and the literals in code without its docstrings."""
    return set(_WORD.findall(ast.unparse(_stripped(node))))


def _code(node: ast.AST) -> str:
    return ast.dump(_stripped(node))


def _stripped(node: ast.AST) -> ast.AST:
    """Return a copy of a definition without docstrings."""
    copied = ast.parse(ast.unparse(node))
    for inner in ast.walk(copied):
        body = getattr(inner, "body", None)
        if isinstance(body, list) and docstring_text(body) is not None:
            body[0] = ast.Pass()
    return copied


def _with_docstring(source: Source, node: ast.AST, other: Source, former: ast.AST) -> bytes:
    """Return a file in which a function has the docstring of its former version."""
    (start, end), (first, last) = _span(source, node), _span(other, former)
    return source.utf8[:start] + other.utf8[first:last] + source.utf8[end:]


def _span(source: Source, node: ast.AST) -> tuple[int, int]:
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    literal = node.body[0]
    first, last = literal.lineno, literal.end_lineno or literal.lineno
    return (
        source.offset(first, literal.col_offset),
        source.offset(last, literal.end_col_offset or 0),
    )
