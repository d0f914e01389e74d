"""YAML parser that keeps the line and column of every value for error messages."""

import errno
import stat
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from remora.errors import ConfigError, DiskError
from remora.regular_file import read_regular

SIZE_LIMIT = 1 << 20
_HINT = "use UTF-8 text and plain YAML without aliases or tags"
KeyPath = tuple[str | int, ...]


class ParsedYaml(NamedTuple):
    """The plain value of a YAML document, with positions such as `FILE:LINE:COLUMN`.

    Lines and columns count from 1. The empty path is the whole document.
    """

    value: Any
    places: Mapping[KeyPath, str]
    """The position of each value, by its path."""
    keys: Mapping[KeyPath, str]
    """The position of each key of a mapping, by its path."""


def read_yaml_file(path: Path) -> ParsedYaml:
    """Parse the single document in `path`.

    Raises ConfigError if the file is missing or invalid, and DiskError if it cannot be read.
    """
    name = printable_path(path)
    try:
        if not path.is_file():  # opening a pipe would block
            raise ConfigError(
                f"{name}: {_instead(path)}", hint="replace it with a YAML file, or remove it"
            )
        return read_yaml(read_regular(path, SIZE_LIMIT), name)
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise ConfigError(
                f"{name}: larger than 1 MiB", hint="check that this is a configuration file"
            ) from error
        raise DiskError(f"{name}: {error.strerror}", hint="check its permissions") from error


def _instead(path: Path) -> str:
    """Describe what `path` is if it is not a regular file."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            raise
        return "a broken link" if path.is_symlink() else "no such file"
    kinds = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe (FIFO)", stat.S_IFSOCK: "a socket"}
    return f"{kinds.get(stat.S_IFMT(mode), 'a device')}, not a file"


def printable_path(path: Path) -> str:
    """Return a path as printable text, even if it is not valid UTF-8."""
    return str(path).encode("utf-8", "backslashreplace").decode()


def read_yaml(source: bytes, name: str) -> ParsedYaml:
    """Parse the single document in `source`. An empty document has the value None.

    `name` is the file name for errors. Raises ConfigError if the document is invalid or contains
    aliases, tags, duplicate keys, or keys that are not strings.
    """
    try:
        text = source.decode()
    except UnicodeDecodeError as error:
        place = _place_after(source[: error.start].decode(), name)
        raise ConfigError(f"{place}: not UTF-8 text", hint=_HINT) from error
    try:
        return _Reader(_Loader(text), name).read()
    except yaml.reader.ReaderError as error:
        place = _place_after(text[: error.position], name)
        message = f"{place}: character not allowed in YAML"
        raise ConfigError(message, hint=_HINT) from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{name}:{mark.line + 1}:{mark.column + 1}" if mark else name
        raise ConfigError(f"{place}: {error.problem or error.context}", hint=_HINT) from error
    except RecursionError as error:
        raise ConfigError(f"{name}: nested too deeply", hint=_HINT) from error


def _place_after(text: str, name: str) -> str:
    return f"{name}:{text.count(chr(10)) + 1}:{len(text) - text.rfind(chr(10))}"


class _Loader(yaml.SafeLoader):
    """A SafeLoader that rejects aliases, because nested aliases could exhaust memory."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.composer.ComposerError(None, None, "aliases are not supported", mark)
        return super().compose_node(parent, index)


class _Reader:
    """Converts a node tree to a plain value and keeps the position of each part."""

    def __init__(self, loader: _Loader, name: str) -> None:
        self.loader = loader
        self.name = name
        self.places: dict[KeyPath, str] = {}
        self.keys: dict[KeyPath, str] = {}

    def read(self) -> ParsedYaml:
        node = self.loader.get_single_node()
        value = None if node is None else self._value(node, ())
        self.places.setdefault((), f"{self.name}:1:1")
        return ParsedYaml(value, self.places, self.keys)

    def _value(self, node: yaml.Node, where: KeyPath) -> Any:
        self.places[where] = self._place(node)
        match node:
            case yaml.MappingNode(tag="tag:yaml.org,2002:map"):
                return self._mapping(node, where)
            case yaml.SequenceNode(tag="tag:yaml.org,2002:seq"):
                return [self._value(item, (*where, at)) for at, item in enumerate(node.value)]
            case yaml.ScalarNode():
                return self._scalar(node)
        message = f"{self._place(node)}: the tag {node.tag} is not supported"
        raise ConfigError(message, hint=_HINT)

    def _mapping(self, node: yaml.MappingNode, where: KeyPath) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key, place = self._key(key_node), self._place(key_node)
            inner = (*where, key)
            if key in found:
                message = f"{place}: duplicate key {key}, first used at {self.keys[inner]}"
                raise ConfigError(message, hint="remove one of them")
            self.keys[inner] = place
            found[key] = self._value(value_node, inner)
        return found

    def _key(self, node: yaml.Node) -> str:
        key = self._scalar(node) if isinstance(node, yaml.ScalarNode) else None
        if not isinstance(key, str):
            raise ConfigError(
                f"{self._place(node)}: a key must be a string", hint="put it in quotes"
            )
        return key

    def _scalar(self, node: yaml.ScalarNode) -> Hashable:
        if node.tag in {"tag:yaml.org,2002:merge", "tag:yaml.org,2002:value"}:
            return str(node.value)
        try:
            value: Hashable = self.loader.construct_object(node)
        except ValueError as error:
            message = f"{self._place(node)}: {node.value[:40]!r} is not a valid value"
            raise ConfigError(message, hint="put it in quotes") from error
        return value

    def _place(self, node: yaml.Node) -> str:
        return f"{self.name}:{node.start_mark.line + 1}:{node.start_mark.column + 1}"


def place_of(parsed: ParsedYaml, where: Sequence[str | int]) -> tuple[KeyPath, str]:
    """Return the longest known prefix of `where`, and its position."""
    path = tuple(where)
    while path not in parsed.places and path:
        path = path[:-1]
    return path, parsed.places.get(path, "")
