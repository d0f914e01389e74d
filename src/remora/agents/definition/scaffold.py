"""Creates a new agent: a working example, written atomically."""

import re
import shutil
import tempfile
from dataclasses import dataclass
from os.path import lexists, realpath
from pathlib import Path
from string import Template

from remora.agents.definition.agent import read_definitions
from remora.agents.definition.agent_yaml import NAME_PATTERN, OWN_FOLDER
from remora.errors import ConfigError, DiskError, UsageError
from remora.operations.base import Operations

_RULES, _MODEL = (Path(__file__).parent / name for name in ("template", "model_template"))
_PLAIN = ".txt"  # suffix of a template that must not be treated as a test of Remora


@dataclass(frozen=True, kw_only=True)
class NewAgent:
    """A new agent: its folder and the names of its files."""

    name: str
    operation: str
    folder: Path
    files: tuple[str, ...]


def create_agent(
    root: Path,
    operations: Operations,
    name: str,
    operation: str | None,
    *,
    by_model: bool = False,
) -> NewAgent:
    """Write an example agent to `.remora/agents/NAME/`. The agent removes commented-out code.

    With `by_model`, it does what TODO comments say, and a model decides in each turn.

    Raises UsageError if a name is invalid or taken, or if the folder already exists. Raises
    ConfigError if the folder is outside the project, and DiskError if it cannot be written.
    """
    operation = operation or name
    _check_names(root, operations, name, operation)
    folder = root / OWN_FOLDER / name
    words = {
        "name": name,
        "operation": operation,
        "path": (OWN_FOLDER / name).as_posix(),
    }
    try:
        files = _write(_MODEL if by_model else _RULES, folder, words, root)
    except OSError as error:
        raise DiskError(
            f"cannot write {folder}: {error.strerror}", hint="make the folder writable"
        ) from error
    return NewAgent(name=name, operation=operation, folder=folder, files=files)


def _check_names(root: Path, operations: Operations, name: str, operation: str) -> None:
    for what, word in (("name", name), ("operation", operation)):
        if not re.fullmatch(NAME_PATTERN, word):
            raise UsageError(
                f"{word!r} is not a valid agent {what}",
                hint="use up to 51 characters: a-z, 0-9, - and _, starting with a letter or digit",
            )
    if lexists(root / OWN_FOLDER / name):
        raise UsageError(
            f"{root / OWN_FOLDER / name} already exists",
            hint="choose another name, or remove it first",
        )
    for folder, builtin, definition in read_definitions(root, operations)[0]:
        taken = {definition.name, definition.operation} & {name, operation}
        if taken:
            whose = "a built-in agent" if builtin else f"the agent in {folder}"
            raise UsageError(
                f"{min(taken)!r} is already used by {whose}", hint="choose another name"
            )


def _write(template: Path, folder: Path, words: dict[str, str], root: Path) -> tuple[str, ...]:
    """Write the files to a temporary folder and rename it, so readers never see a partial agent."""
    if not Path(realpath(folder)).is_relative_to(realpath(root)):
        raise ConfigError(
            f"{folder.parent} is a link to a folder outside the project",
            hint="replace the link with a folder",
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=".new-", dir=root / OWN_FOLDER.parent))
    try:
        aside.chmod(0o755)
        sources = sorted(path for path in template.iterdir() if path.is_file())
        for source in sources:
            text = Template(source.read_text(encoding="utf-8")).substitute(words)
            (aside / source.name.removesuffix(_PLAIN)).write_text(text, encoding="utf-8")
        aside.rename(folder)
    finally:
        shutil.rmtree(aside, ignore_errors=True)  # on success it was renamed
    return tuple(source.name.removesuffix(_PLAIN) for source in sources)
