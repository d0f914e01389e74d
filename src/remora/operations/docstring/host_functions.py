"""Host functions of the docstring agent: what a node's docstring should say, and writing it."""

import functools
import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Any

import msgspec
from msgspec.structs import replace

from remora.code.syntax.source import Unreadable, read_source
from remora.errors import HostError
from remora.operations.docstring.corpus import Evidence, Gathered, gather
from remora.operations.docstring.expected import skeleton
from remora.operations.docstring.facts import described, inherits, summaries
from remora.operations.docstring.parts import STYLES, Manner, Skeleton, Style, Texts
from remora.operations.docstring.style import Habits, manner
from remora.operations.docstring.write import Found, find, unsaid, write
from remora.tools.host.ruff.new_findings import new_findings
from remora.tools.host.ruff.ruff_process import Finding, check_text
from remora.tools.host.style_config import convention_of, width_of
from remora.tools.tree import Place

TEXT_LIMIT = 240
_NEAR = 40
_NEARLY = 0.75
_CALLERS = 5
_QUOTES = len('""""""')
_WORD = re.compile(r"[a-z]+|[0-9]+")
_TICKED = re.compile(r"(?<!`)`([^`]+)`(?!`)")


def docstring_plan(
    place: Place, path: str, node: str, style: str | None = None, callers: list[str] | None = None
) -> dict[str, Any]:
    """What the docstring of a node (by qualname) lacks, and what the code itself suggests for it.

    `state` is `missing`, `inherited`, `outdated` or `current`; `parts` says in lines what there is to describe
    or to put right. `summaries` are first lines, the best first; `texts` what is known of
    `parameters`, `attributes`, `outcome` and `raises`; `open` the parts of which nothing is known;
    `renames` pairs of a documented parameter that is gone and one that may be the same; `room` the
    longest summary that fits. `callers` are paths of files that call it.
    """
    found = find(path, place.read(path), node)
    made_of = skeleton(found.node)
    evidence = _evidence(place, path, found, callers or [])
    texts = described(found.node, found.source, made_of, evidence)
    manner = _manner(place, path, style)
    room = _room(found, manner)
    offered = summaries(found.node, found.source, evidence)
    other = found.differences
    state = "missing" if found.text is None else "current"
    if found.text is not None and list(_wrong(found)):
        state = "outdated"
    elif found.text is None and inherits(found.node, evidence):
        state = "inherited"
    return {
        "state": state,
        "style": manner.style,
        "parts": list(_wrong(found)) or list(_parts(made_of)),
        "summaries": [text for text in offered if len(text) <= room] if state == "missing" else [],
        "texts": msgspec.to_builtins(texts),
        "open": list(_open(made_of, texts) if found.text is None else unsaid(found, texts)),
        "renames": [
            [old, new]
            for old in sorted(other.unknown_parameters)
            for new in other.undocumented_parameters
            if _alike(old, new)
        ],
        "room": room,
    }


def write_docstring(
    place: Place, path: str, node: str, texts: dict[str, Any], style: str | None = None
) -> dict[str, Any]:
    """Write the docstring of a node that has none, or mend its outdated one, as `texts` says.

    `texts`: `summary`, `outcome`, and `parameters`, `attributes`, `raises`, `renames` by name.
    Sections that the project's own lint rules would not like are left out. Raises HostError, and
    writes nothing, where a text is not one line, or the file would not be the same but for the
    docstring, or would have more findings. Says which `lines` changed.
    """
    found = find(path, place.read(path), node)
    manner = _manner(place, path, style)
    said = _checked(texts, found, manner)
    before = check_text(place, path, found.source.raw)
    extra: list[Finding] = []
    for form in [said, Texts(summary=said.summary)] if found.text is None else [said]:
        content = write(found, form, manner)
        extra = new_findings(before, check_text(place, path, content))
        if not extra:
            place.write(path, content)
            return {"path": path, "state": "added" if found.text is None else "mended"}
    raise HostError(f"{path}: it would add {extra[0]['code']}: {extra[0]['message']}")


def _checked(given: dict[str, Any], found: Found, manner: Manner) -> Texts:
    try:
        texts = msgspec.convert(given, Texts, strict=True)
    except msgspec.ValidationError as error:
        raise HostError(f"texts: {error}") from None
    if found.text is None:
        room = _room(found, manner)
        if len(texts.summary) > room:
            raise HostError(f"the summary has {len(texts.summary)} characters, {room} fit")
    for text in _all_of(texts):
        if text != text.strip() or not text.isprintable() or len(text) > TEXT_LIMIT:
            raise HostError(f"a text is one line of at most {TEXT_LIMIT} characters")
        if '"""' in text or "'''" in text:
            raise HostError("a text holds no quotes that would end the docstring")
    made: Texts = msgspec.convert(_ticked(msgspec.to_builtins(texts), manner.tick), Texts)
    return made


def _all_of(texts: Texts) -> Iterator[str]:
    yield from (texts.summary, texts.outcome)
    for each in (texts.parameters, texts.attributes, texts.raises, texts.renames):
        yield from each.values()


def _ticked(value: Any, tick: str) -> Any:
    if isinstance(value, dict):
        return {name: _ticked(each, tick) for name, each in value.items()}
    return _TICKED.sub(rf"{tick}\1{tick}", value)


def _alike(old: str, new: str) -> bool:
    """Whether a new parameter may be the old one: a word of its name is the same, or nearly all."""
    shared = {*_WORD.findall(old.lower())} & {*_WORD.findall(new.lower())}
    return bool(shared) or SequenceMatcher(None, old, new).ratio() >= _NEARLY


def _room(found: Found, manner: Manner) -> int:
    column = getattr(found.node, "col_offset", -4) + 4
    return max(32, manner.width - column - _QUOTES)


def _wrong(found: Found) -> Iterator[str]:
    """How an outdated docstring differs from the code."""
    other = found.differences
    yield from (
        f"parameter {name} is documented, and gone" for name in sorted(other.unknown_parameters)
    )
    yield from (f"parameter {name} is not documented" for name in other.undocumented_parameters)
    if other.no_value:
        yield "a result is documented, and there is none"
    yield from (f"{name} is documented, and never raised" for name in sorted(other.never_raised))
    yield from (
        f"{name} is raised, and not documented" for name in sorted(other.undocumented_exceptions)
    )


def _parts(made_of: Skeleton) -> Iterator[str]:
    for each in (*made_of.parameters, *made_of.attributes):
        typed = f": {each.annotation}" if each.annotation else ""
        default = f" = {each.default}" if each.default else ""
        yield f"{each.kind}{each.name}{typed}{default}"
    if made_of.outcome != "nothing":
        yield f"{made_of.outcome} {made_of.annotation or 'a value'}"
    yield from (f"raises {each.name} {each.reason}".rstrip() for each in made_of.raises)


def _open(made_of: Skeleton, texts: Texts) -> Iterator[str]:
    """Parts without a text: `parameters.NAME`, `outcome`, `raises.NAME`."""
    for each in made_of.parameters:
        if each.name not in texts.parameters:
            yield f"parameters.{each.name}"
    if made_of.outcome != "nothing" and not texts.outcome:
        yield "outcome"
    yield from (f"raises.{each.name}" for each in made_of.raises if each.name not in texts.raises)


def _manner(place: Place, path: str, style: str | None) -> Manner:
    if style is not None and style not in STYLES:
        raise HostError(f"{style!r} is no style: there is {', '.join(STYLES)}")
    chosen: Style | None = style or convention_of(place, path)  # type: ignore[assignment]
    own = _seen(place.read(path))
    habits = [own[1], *(found[1] for found in _around(place, path))] if own else []
    near = Habits()
    for each in habits[1:]:
        near.add(each)
    return replace(
        manner([*habits[:1], near], style=chosen, width=width_of(place, path, prose=True)),
    )


def _evidence(place: Place, path: str, found: Found, callers: list[str]) -> Evidence:
    own = _seen(found.source.raw)
    called = [_read(place, each) for each in callers[:_CALLERS] if each != path]
    return Evidence(
        own=own[0] if own else Gathered(),
        near=tuple(each[0] for each in _around(place, path)),
        callers=tuple(each[0] for each in called if each is not None),
        owner=getattr(found.parent, "name", ""),
    )


_Seen = tuple[Gathered, Habits]


def _around(place: Place, path: str) -> list[_Seen]:
    """Of the files in the same folder."""
    folder = path.rpartition("/")[0]
    pattern = f"{folder}/*.py" if folder else "*.py"
    others = [each for each in place.files.glob(pattern) if each != path][:_NEAR]
    return [seen for each in others if (seen := _read(place, each)) is not None]


def _read(place: Place, path: str) -> _Seen | None:
    try:
        return _seen(place.read(path))
    except HostError:  # gone, or too large: it tells nothing
        return None


@functools.lru_cache(maxsize=256)
def _seen(content: bytes) -> _Seen | None:
    source = read_source("", content)
    if isinstance(source, Unreadable):
        return None
    habits = Habits()
    habits.see(source)
    return gather(source), habits
