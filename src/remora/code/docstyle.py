"""What a docstring documents, be it written in Google's, NumPy's or reST's style."""

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

_Kind = Literal["parameters", "returns", "yields", "raises"]
_LISTS = ("args", "arguments", "params", "parameters", "other parameters")
_KEYWORDS = ("keyword args", "keyword arguments")
_SECTIONS: dict[str, _Kind] = {
    **dict.fromkeys((*_LISTS, *_KEYWORDS), "parameters"),
    **dict.fromkeys(("return", "returns"), "returns"),
    **dict.fromkeys(("yield", "yields"), "yields"),
    "raises": "raises",
}
_FIELDS: dict[str, _Kind] = {
    **dict.fromkeys(("param", "parameter", "arg", "argument"), "parameters"),
    **dict.fromkeys(("return", "returns"), "returns"),
    **dict.fromkeys(("yield", "yields"), "yields"),
    **dict.fromkeys(("raise", "raises", "except", "exception"), "raises"),
}
# a look that costs little beside reading line by line
_MARKS = re.compile(
    r"Args:|Arguments:|Params:|Parameters|Keyword A|Returns|Return:|Raises|Yields|Yield:"
    r"|:param|:arg|:return|:yield|:raise|:exc"
)
_GOOGLE = re.compile(r"( *)([A-Z][a-z]+(?: [A-Z][a-z]+)?):(?: +(.*))?")
_UNDERLINE = re.compile(r" *-{3,} *")
_REST = re.compile(r" *:([a-z]+)\b([^:]*):(?: +(.*)|$)")

_NAME = r"[`'\"]*(?:\\?\*){0,2}\w+[`'\"]*"
_NAMES = rf"({_NAME}(?: *, *{_NAME})*)"
_GOOGLE_ITEM = re.compile(rf" *{_NAMES} *(?:\(.*\)?)? *:(?: .*)?")
_NUMPY_ITEM = re.compile(rf" *{_NAMES} *(?::.*)?")
_RAISED = re.compile(r"[ `~:]*(?:exc:|class:|py:exc:)?[`~]*([\w.]+)`? *(?::.*)?")
_WORD = re.compile(r"\w+")
_NOTHING = re.compile(r"[ `*:]*(?:None|Nothing|nothing)\b")


class Documented(NamedTuple):
    """`parameters` and `raises` are names; null where there is no such list, or none that is sure.

    `returns` and `yields`: it says what comes out, and that is not nothing.
    """

    parameters: frozenset[str] | None
    raises: frozenset[str] | None
    returns: bool
    yields: bool


class _Entry(NamedTuple):
    """One thing that is documented. A list that cannot be read has an entry without text."""

    kind: _Kind
    text: str | None


def documented(docstring: str) -> Documented | None:
    """Null where it documents none of these."""
    if _MARKS.search(docstring) is None:
        return None
    entries = tuple(_entries(docstring.expandtabs().splitlines()))
    return Documented(
        parameters=_names(entries, "parameters"),
        raises=_names(entries, "raises"),
        returns=_says(entries, "returns"),
        yields=_says(entries, "yields"),
    )


def _names(entries: Sequence[_Entry], kind: _Kind) -> frozenset[str] | None:
    texts = [entry.text for entry in entries if entry.kind == kind]
    names = frozenset(text for text in texts if text)
    return names if len(names) == len(set(texts)) and names else None


def _says(entries: Sequence[_Entry], kind: _Kind) -> bool:
    texts = [entry.text for entry in entries if entry.kind == kind]
    return any(text and not _NOTHING.match(text) for text in texts)


def _entries(lines: Sequence[str]) -> Iterator[_Entry]:
    for number, line in enumerate(lines):
        text = line.strip()
        if text[:1] == ":":
            yield from _rest(line)
        elif ":" in text:
            if text.partition(":")[0].lower() in _SECTIONS:
                yield from _google(lines, number)
        elif text.lower() in _SECTIONS and _UNDERLINE.fullmatch(
            "".join(lines[number + 1 : number + 2])
        ):
            yield from _numpy(lines, number)


def _rest(line: str) -> Iterator[_Entry]:
    field = _REST.fullmatch(line)
    kind = _FIELDS.get(field[1]) if field else None
    if field is None or kind is None:
        return
    if kind in ("returns", "yields"):
        yield _Entry(kind, field[3])
    elif kind == "parameters":
        # a type may stand before the name
        yield _Entry(kind, _bare(field[2].split()[-1]) if field[2].strip() else None)
    else:
        for name in field[2].split(","):
            yield _Entry(kind, _exception(name))


def _google(lines: Sequence[str], number: int) -> Iterator[_Entry]:
    header = _GOOGLE.fullmatch(lines[number])
    kind = _SECTIONS.get(header[2].lower()) if header else None
    if header is None or kind is None:
        return
    block = list(_deeper(lines[number + 1 :], len(header[1])))
    if kind in ("returns", "yields"):
        yield _Entry(kind, header[3] or next(iter(block), None))
    elif block and not header[3]:
        yield from _listed(kind, block, _GOOGLE_ITEM)


def _numpy(lines: Sequence[str], number: int) -> Iterator[_Entry]:
    kind = _SECTIONS.get(lines[number].strip().lower())
    if kind is None:
        return
    block = list(_until_underlined(lines[number + 2 :]))
    if kind in ("returns", "yields"):
        yield _Entry(kind, next(iter(block), None))
    elif block:
        yield from _listed(kind, block, _NUMPY_ITEM)


def _deeper(lines: Sequence[str], margin: int) -> Iterator[str]:
    """The lines with something on them, up to the first that is not indented beyond `margin`."""
    for line in lines:
        if line.strip():
            if _indent(line) <= margin:
                return
            yield line


def _until_underlined(lines: Sequence[str]) -> Iterator[str]:
    """The lines with something on them, up to the next title."""
    for line, below in zip(lines, (*lines[1:], ""), strict=True):
        if _UNDERLINE.fullmatch(below):
            return
        if line.strip():
            yield line


def _listed(kind: _Kind, block: Sequence[str], item: re.Pattern[str]) -> Iterator[_Entry]:
    """The names at the block's own margin; what stands deeper describes them."""
    margin = _indent(block[0])
    for line in block:
        indent = _indent(line)
        if indent > margin:
            continue
        if kind == "raises":
            yield _Entry(kind, _exception(line) if indent == margin else None)
            continue
        names = item.fullmatch(line) if indent == margin else None
        if names is None:
            yield _Entry(kind, None)
        else:
            yield from (_Entry(kind, _bare(name)) for name in names[1].split(","))


def _bare(name: str) -> str | None:
    """`name` of `**name` or `` `name` ``."""
    found = _WORD.search(name)
    return found[0] if found else None


def _exception(text: str) -> str | None:
    """`Error` of `package.Error: if …`, without its module."""
    found = _RAISED.fullmatch(text)
    return found[1].rpartition(".")[2] if found else None


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
