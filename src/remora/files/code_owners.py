"""Owners of files, read from the CODEOWNERS file of a repository.

Its patterns are described at
https://docs.github.com/repositories/managing-your-repositorys-settings-and-features/customizing-your-repository/about-code-owners
and the sections of GitLab at https://docs.gitlab.com/user/project/codeowners/reference/.
"""

import functools
import re
from pathlib import Path
from typing import NamedTuple

from remora.errors import ConfigError, OutsideError
from remora.files.git import git_output
from remora.files.patterns import glob_regex
from remora.regular_file import read_regular

_PLACES = (".github", ".", "docs", ".gitlab")
_MAX_BYTES = 3 << 20
"""Maximum size of the file in bytes, as on GitHub."""
_MAX_LINE = 1 << 14
"""Maximum length of a line, several times that of a path. A longer one is ignored."""
_SECTION = re.compile(r"\^?\[[^\]]+\](?:\[\d+\])?(?P<owners>|\s.*)")
_COMMENT = re.compile(r"(?:^|\s)#.*")
_BETWEEN_WORDS = re.compile(r"(?<!\\)\s+")


class _Rule(NamedTuple):
    pattern: str
    owners: tuple[str, ...]

    def matches(self, path: str) -> bool:
        # compiled when it is tried, because a large file has 300,000 patterns
        return _regex(self.pattern).fullmatch(path) is not None


class CodeOwners(NamedTuple):
    """The owners of files in a repository.

    `prefix` is the path of the project's root in the repository, with a slash at its end, or empty.
    The last rule of each section that matches a file names its owners.
    """

    prefix: str = ""
    sections: tuple[tuple[_Rule, ...], ...] = ()

    def of(self, path: str) -> tuple[str, ...]:
        """Return the owners of a file, such as `@team/web`, given by its path in the project."""
        path = self.prefix + path
        found: dict[str, None] = {}
        for rules in self.sections:
            matching = (rule.owners for rule in reversed(rules) if rule.matches(path))
            found |= dict.fromkeys(next(matching, ()))
        return tuple(found)


def read_code_owners(root: Path) -> CodeOwners:
    """Return the owners of the files of a project. They are empty without a CODEOWNERS file.

    Raises ConfigError if the file is too large, outside the repository, or not a regular file.
    """
    try:
        top = Path(git_output(root, "rev-parse", "--show-toplevel").decode().rstrip("\n"))
        prefix = git_output(root, "rev-parse", "--show-prefix").decode().rstrip("\n")
    except (OutsideError, UnicodeDecodeError):  # not a git repository
        top, prefix = root, ""
    if not root.resolve().is_relative_to(top):  # core.worktree names another folder
        top, prefix = root, ""
    for place in _PLACES:
        path = top / place / "CODEOWNERS"
        try:
            content = read_regular(path, _MAX_BYTES, within=top)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise ConfigError(
                f"{path}: {error.strerror}", hint="replace it with a text file, or remove it"
            ) from error
        return parse_code_owners(content.decode(errors="replace"), prefix)
    return CodeOwners()


def parse_code_owners(text: str, prefix: str = "") -> CodeOwners:
    """Parse the text of a CODEOWNERS file."""
    sections: list[list[_Rule]] = [[]]
    default: tuple[str, ...] = ()
    lines = (each for each in text.splitlines() if len(each) <= _MAX_LINE)
    for line in (_COMMENT.sub("", each).strip() for each in lines):
        section = _SECTION.fullmatch(line)
        if section:
            default = tuple(section["owners"].split())
            sections.append([])
        elif line:
            pattern, *owners = _BETWEEN_WORDS.split(line)
            sections[-1].append(_Rule(pattern, tuple(owners) or default))
    return CodeOwners(prefix, tuple(map(tuple, sections)))


@functools.cache
def _regex(pattern: str) -> re.Pattern[str]:
    """Return an expression for the files that a pattern matches, by their path in the repository.

    A pattern without a slash before its end matches in every folder. A folder's name matches all
    files in it, but `folder/*` only those directly in it.
    """
    body = pattern.strip("/")
    glob = body if "/" in pattern.rstrip("/") else f"**/{body}"
    itself, below = glob_regex(glob).pattern, glob_regex(f"{glob}/**").pattern
    if pattern.endswith("/"):
        return re.compile(below, re.DOTALL)
    if pattern.endswith("/*"):
        return re.compile(itself, re.DOTALL)
    return re.compile(f"(?:{itself}|{below})", re.DOTALL)
