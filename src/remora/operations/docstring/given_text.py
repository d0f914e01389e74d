"""Docstring texts as a writer gives them, laid out in Google, NumPy or reST style."""

import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping

from remora.code.docstrings.docstring_sections import Kind, Style, parse_docstring
from remora.operations.docstring.style import STYLES, DocstringFormat, Mood, in_mood

_QUOTED = re.compile(r"[rR]?(\"\"\"|''')(.*)\1", re.DOTALL)
_LONGEST = 4000
_STEP = "    "
"""The indentation of an entry's description."""
_CODE = (">>>", "...")

_TITLES: Mapping[Kind, tuple[str, str, str]] = {
    "parameters": ("Args", "Parameters", ":param:"),
    "returns": ("Returns", "Returns", ":returns:"),
    "raises": ("Raises", "Raises", ":raises:"),
}
"""How sections begin, by the styles of `STYLES`."""


def plain_text(given: str) -> str:
    """Return a text without quotes around it, common indentation and blank lines at its ends."""
    quoted = _QUOTED.fullmatch(given.strip())
    return inspect.cleandoc(quoted[2] if quoted else given)


_ABOUT = re.compile(
    r"(?:The|This) (?:`?[\w.]+`? )?(?:function|method|class|property) (?=[a-z])"
    r"|(?:`?\w+`? is )?(?:[Aa]n? )?(?:class|Class) (?:that (?:represents )?|representing )(?=\w)"
)
_CLAUSE = re.compile(
    r",? (?:which|that|when|while|using|by|including|such as|based on|allowing|providing|ensuring|if)"
    r"\b"
)
_TAIL = re.compile(r",? (?:then|for|in|from|with|on|after|before|as)\b")
_DANGLING = re.compile(
    r"(?:\b(?:not|is|are|be|no|of|to|the|a|an|and|or|for|in|from|with|on|only|used|raised|called|\w+ing"
    r"|None|True|False)|,)$"
)
_SENTENCE = re.compile(r".*?\w{3}\.(?= [A-Z`])")
"""A first sentence, which "e.g." does not end."""
_OF_ITSELF = re.compile(
    r"(?i)\b(?:the docstring (?:is|leaves)|(?:make the|one-line) docstring of|the code does not show"
    r"|this (?:function|method|class))\b"
)
_LEAST = 20
"""Characters of a summary that stays when its last clauses are cut. Decision: three or four words."""


def fitted_summary(text: str, room: int, mood: Mood | None = None) -> str:
    """Return a text whose first line has at most `room` characters if clauses at its end can go.

    Small models write "The `load` function converts a text to an integer. If it cannot, …": the
    result begins with the verb, in the form of `mood` if one is given, and ends with the first
    sentence. If that is too long, it is cut before its last clauses, or else phrases.
    """
    first, line_break, others = text.partition("\n")
    if about := _ABOUT.match(first):
        first = first[about.end()].upper() + first[about.end() + 1 :]
    if mood:
        first = in_mood(first, mood)
    sentence = _SENTENCE.match(first)
    if not others and sentence and (len(first) > room or not first.endswith((".", "!", "?"))):
        first = sentence[0]
    for ends in (_CLAUSE, _TAIL):
        if len(first) > room:
            first = _cut(first, ends, room)
    return first + line_break + others


def _cut(text: str, ends: re.Pattern[str], room: int) -> str:
    starts = [match.start() for match in ends.finditer(text, _LEAST, room)]
    kept = (text[:start] for start in reversed(starts))
    return next((f"{part}." for part in kept if not _DANGLING.search(part)), text)


def text_problem(text: str, room: int) -> str:
    """Return why a text cannot be a docstring whose first line has `room`, or an empty string."""
    first = text.split("\n", maxsplit=1)[0]
    if not re.search(r"[^\W\d_]{2}", first) or _OF_ITSELF.search(first):
        return "a docstring needs a text about what the code does"
    if len(first) > room:
        return f"the first line has {len(first)} characters (maximum {room})"
    if len(text) > _LONGEST:
        return f"the text has {len(text):,} characters (maximum {_LONGEST:,})"
    if not text.replace("\n", "").isprintable():
        return "the text contains control characters"
    if '"""' in text or "'''" in text:
        return "the text contains triple quotes"
    return ""


def text_lines(text: str, formatting: DocstringFormat, indent: str) -> list[str]:
    """Return the lines between the quotes. The first one is not indented.

    The others are wrapped beyond the line length, except for lines of code in examples. A
    description in a section continues below its first line, further indented.
    """
    lines = text.split("\n")
    return [lines[0], *_indented(lines, formatting, indent)]


def _indented(lines: list[str], formatting: DocstringFormat, indent: str) -> Iterator[str]:
    sections = parse_docstring("\n".join(lines)).sections
    entries = {item.first for section in sections for item in section.items}
    for number, line in enumerate(lines[1:], 1):
        words = line.strip()
        margin = indent + line[: len(line) - len(line.lstrip())]
        if len(margin + words) <= formatting.width or words.startswith(_CODE):
            yield (margin + words).rstrip()
        else:
            room = max(formatting.width, len(margin.expandtabs()) + 32)
            yield from textwrap.wrap(
                words,
                room,
                initial_indent=margin,
                subsequent_indent=margin + (_STEP if number in entries else ""),
                break_long_words=False,
                break_on_hyphens=False,
                expand_tabs=False,
                replace_whitespace=False,
            )


def section_title(kind: Kind, style: Style) -> str:
    """Return how a section begins: its title, or its field in reST."""
    return _TITLES[kind][STYLES.index(style)]
