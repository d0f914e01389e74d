"""Summarizers, which create the summary and knowledge that a tool does not return itself."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Set
from itertools import islice
from typing import Any

from remora.memory.canonical import parts_of, to_packet_value
from remora.memory.result_texts import identifiers, json_size, leaf_text, read_json, result_texts
from remora.memory.terminal_text import shown_text
from remora.text import clip, count

ENTRY_LIMIT = 490
"""Maximum characters of a grouped knowledge entry in canonical JSON."""
MAX_ENTRIES = 16
MAX_FACTS = 2000
"""Maximum number of leaves read from a result. The rest is only in the Long Track."""
SHORT_LIMIT = 32
"""Maximum characters of a short text (an identifier, a name, a number)."""
FACT_LIMIT = 120
"""Maximum characters of a fact (a path, a short message)."""
TEXT_LIMIT = 450
"""Maximum characters of a longer text that is kept. Of others, only the identifiers are."""
PATH_LIMIT = ENTRY_LIMIT - TEXT_LIMIT - 1
"""Maximum characters of a path. A longer one loses its beginning."""
NAME_LIMIT = 100
"""Maximum characters of a call in the name of an entry."""
_READ = re.compile("[Rr]ead(?![a-z])")
_PLACE = re.compile("path|file|ur[il]")
Groups = dict[str, dict[str, None]]
"""The texts at each path, in order and without duplicates."""


class Summarizer(ABC):
    """Base class for summarizers, which summarize a tool result and extract facts from it.

    Both methods must be pure and must not raise.
    """

    @abstractmethod
    def summarize(self, raw_result: Any) -> str:
        """Summarize the outcome in one or two sentences. The summary is cut at 200 characters."""

    @abstractmethod
    def extract_knowledge(self, raw_result: Any) -> dict[str, Any]:
        """Return facts as a mapping of knowledge keys to values."""


class ToolSidePassthrough(Summarizer):
    """Uses the `summary` (or `_summary`) and `knowledge_delta` that the tool returned."""

    def summarize(self, raw_result: Any) -> str:
        """Return the summary that the tool returned, or `Tool completed` if there is none."""
        summary = _first_value(raw_result, "summary", "_summary")
        return summary if isinstance(summary, str) and summary else "Tool completed"

    def extract_knowledge(self, raw_result: Any) -> dict[str, Any]:
        """Return the facts that the tool returned."""
        facts = _first_value(raw_result, "knowledge_delta")
        return dict(facts) if isinstance(facts, Mapping) else {}


class LinterSummarizer(Summarizer):
    """Uses the `errors` list and the `fixed` count in a linter's result."""

    def summarize(self, raw_result: Any) -> str:
        """Return a summary such as `Fixed 3 lint errors, 2 remaining` or `Found 2 lint errors`."""
        remaining, fixed = self._counts(raw_result)
        if fixed:
            return f"Fixed {fixed} lint errors, {remaining} remaining"
        return f"Found {remaining} lint errors"

    def extract_knowledge(self, raw_result: Any) -> dict[str, Any]:
        """Return the number of remaining errors and the number of fixed errors."""
        remaining, fixed = self._counts(raw_result)
        return {"lint_errors_remaining": remaining, "lint_errors_fixed": fixed}

    @staticmethod
    def _counts(raw_result: Any) -> tuple[int, int]:
        errors, fixed = _first_value(raw_result, "errors"), _first_value(raw_result, "fixed")
        counted = isinstance(fixed, int) and not isinstance(fixed, bool)
        return len(errors) if isinstance(errors, (list, tuple)) else 0, fixed if counted else 0


class DefaultSummarizer(Summarizer):
    """Default for tools without a summarizer.

    The summary is `Executed X`, and the knowledge consists of facts from the result. The facts are
    grouped by path, without list indices or duplicates (`path=v1,v2;path=…`), in entries of at most
    490 characters. Short texts come first, because later calls need identifiers, names and numbers
    more often than sentences.
    """

    def __init__(self, tool: str, args: Mapping[str, Any] | None = None) -> None:
        """Create a summarizer for results of `tool`, called with `args` if they are known."""
        self.tool = tool
        self.call = _call_name(tool, args or {})
        self.what = _what_is_read(tool, args or {})

    def summarize(self, raw_result: Any) -> str:
        """Return `Executed X`, with the number of items of a list or of lines of a text.

        A test run's text has its gist, and a short text is shown whole. A tool that reads says what
        it has read: `Read 500 lines of x.py`.
        """
        result = _shown(raw_result)
        if isinstance(result, (list, tuple)):
            return f"Executed {self.tool}: {len(result)} items"
        if not isinstance(result, str):
            return f"Executed {self.tool}"
        lines = result.splitlines()
        if self.what and len(lines) > 1:
            return f"Read {len(lines)} lines of {self.what}"
        short = result if len(result) <= FACT_LIMIT else count(len(lines), "line")
        gist = next(iter(text_facts(result)), short)
        return f"Executed {self.tool}: {gist}" if gist else f"Executed {self.tool}"

    def extract_knowledge(self, raw_result: Any) -> dict[str, Any]:
        """Return the grouped facts as entries `X`, `X.2`, …, where `X` is the call.

        The first entry comes last, because the front of the knowledge is forgotten first. Of a text
        with several words, only the identifiers are facts, and of a long one what `text_facts`
        says.
        """
        if not isinstance(result := _shown(raw_result), (Mapping, list, tuple, str, int, float)):
            return {}
        entries = _entries(_groups(read_json(to_packet_value(result))))
        names = [self.call, *(f"{self.call}.{n}" for n in range(2, MAX_ENTRIES + 1))]
        return dict(reversed([*zip(names, entries, strict=False)]))


def _first_value(raw_result: Any, *keys: str) -> Any:
    if not isinstance(result := parts_of(raw_result), Mapping):
        return None
    return next((result[key] for key in keys if key in result), None)


def _shown(raw_result: Any) -> Any:
    """Return the parts of a record, what a terminal shows of a text, or any other value."""
    is_set = isinstance(raw_result, Set)  # whose order would differ between processes
    result = to_packet_value(raw_result) if is_set else parts_of(raw_result)
    return shown_text(result) if isinstance(result, str) else result


def _call_name(tool: str, args: Mapping[str, Any]) -> str:
    """Return the tool and its plain arguments, such as `get_order(W123,true)`."""
    plain = [arg for arg in map(parts_of, args.values()) if isinstance(arg, (str, int, float))]
    texts = [clip(leaf_text(to_packet_value(value)), SHORT_LIMIT) for value in plain]
    return clip(f"{tool}({','.join(texts)})", NAME_LIMIT) if texts else tool


def _what_is_read(tool: str, args: Mapping[str, Any]) -> str:
    """Return the path or address that a tool called `read`, `read_…` or `readX` got, or nothing."""
    places = (v for k, v in args.items() if isinstance(v, str) and _PLACE.search(k.lower()))
    return clip(next(places, ""), FACT_LIMIT) if _READ.match(tool) else ""


def _groups(result: Any) -> Iterator[tuple[str, Iterable[str]]]:
    """Yield the paths of a result with their texts, short texts first, without duplicates."""
    by_length: tuple[Groups, Groups, Groups] = ({}, {}, {})
    facts_of = _facts_of_plain_text if isinstance(result, str) else _facts_of
    for path, leaf in islice(result_texts(result), MAX_FACTS):
        text = shown_text(leaf)
        for fact in text_facts(text) or facts_of(" ".join(text.split())):
            place = (len(fact) > SHORT_LIMIT) + (len(fact) > FACT_LIMIT)
            by_length[place].setdefault(path or "value", {})[fact] = None
    for groups in by_length:
        yield from groups.items()


def _facts_of(text: str) -> list[str]:
    """Return a text if it is short enough, and the identifiers in a long text."""
    if len(text) <= FACT_LIMIT:
        return [text]
    whole = [text] if json_size(text) <= TEXT_LIMIT else []
    return [*whole, *_facts_of_plain_text(text)]


def _facts_of_plain_text(text: str) -> list[str]:
    """Return the identifiers in a text, or a text that is a single word."""
    words = identifiers(text) if " " in text else [text]
    return [word for word in words if 0 < len(word) <= FACT_LIMIT]


def _entries(groups: Iterable[tuple[str, Iterable[str]]]) -> list[str]:
    """Join the groups with `;` into as few entries as possible, in order."""
    entries: list[str] = []
    for path, texts in groups:
        for piece in _pieces(path, texts):
            if entries and json_size(entries[-1]) + 1 + json_size(piece) <= ENTRY_LIMIT:
                entries[-1] += ";" + piece
            else:
                entries.append(piece)
    return entries


def _pieces(path: str, texts: Iterable[str]) -> Iterator[str]:
    """Yield `path=text,text`.

    If this is too long for one entry, it is split into several parts that each start with the path.
    """
    path = path[-PATH_LIMIT:]
    piece = ""
    for text in texts:
        longer = f"{piece},{text}" if piece else f"{path}={text}"
        if piece and json_size(longer) > ENTRY_LIMIT:
            yield piece
            longer = f"{path}={text}"
        piece = longer
    if piece:
        yield piece


LONG_TEXT = 20
"""Lines up to which a text without a traceback is short."""
MAX_ERRORS = 5
LINE_LIMIT = 200
"""Maximum characters of an error, and of a line of a log."""
_ERROR = re.compile(
    r"\b(?:ERROR|CRITICAL|FATAL|FAILED|FAILURE)\b|\bERR!|\bfatal: "
    r"|\b(?:error|\w*Error|\w*Exception)(?: ?\[\w+\]| [A-Z]+\d+)?:(?:\s|$)"
    r"|^(?:npm error |error [A-Z]|E: |panic: |\s*(?:--- )?FAIL\b|\s*not ok \d)"
    r"|[:-][\d.,]+Z?\]?\s+error\s|\[(?:[Ee]rror|crit|emerg|fatal)\]"
    r'|\blevel"?[=:]\s*"?(?:error|fatal|critical|panic)\b'
    r"|\bmake(?:\[\d+\])?: \*\*\* |\bpanicked at |\bException in thread "
    r"|\bSegmentation fault\b|\(core dumped\)|: command not found$"
)
"""Errors of compilers, package managers, tests, logs and shells: `ERRORS` in the tests has examples."""


def text_facts(text: str) -> list[str]:
    """Return the facts of a traceback or of a text of many lines, or none for any other text."""
    if TRACEBACK in text:
        errors, frame = traceback_facts(text)
        return [*(clip(error, LINE_LIMIT) for error in errors[:MAX_ERRORS]), *frame]
    lines = text.splitlines()
    if len(lines) <= LONG_TEXT:
        return []
    errors = [" ".join(line.split()) for line in lines if _ERROR.search(line)]
    if not errors:
        return [f"{len(lines)} lines", f"{len(text)} characters"]
    shown = [clip(line, LINE_LIMIT) for line in dict.fromkeys(errors)]
    return [*shown[:MAX_ERRORS], f"{len(errors)} of {len(lines)} lines are errors"]


TRACEBACK = "Traceback (most recent call last):"
_TOP = re.compile(rf"^(?![ \t]*\|).*{re.escape(TRACEBACK)}", re.MULTILINE)
"""A traceback that is not of a member of a group, whose lines have a margin of `|`."""
_NEXT = re.compile(
    "^(?:The above exception was the direct|During handling of the above) .*", re.MULTILINE
)
_MEMBER = re.compile(r"^ *\+[-+]+ (?:\d+|\.\.\.) -+$", re.MULTILINE)
_MARGIN = re.compile(r"^ *\| ?", re.MULTILINE)
_FRAME = re.compile(r'^ *File "([^"]+)", line (\d+), in (.+)$', re.MULTILINE)
_FOREIGN = re.compile(r"site-packages|dist-packages|/lib/python3|^<")


def traceback_facts(text: str) -> tuple[list[str], list[str]]:
    """Return the errors of the last traceback, and its innermost frame that is not in a library.

    The first error is the one that was raised last. The members of a group follow it, and then the
    exceptions that led to it.
    """
    errors: list[str] = []
    last = ""
    for section in reversed(_NEXT.split(text)):
        *before, traceback = _TOP.split(section)
        if not before:  # an exception that was never raised is the line before
            traceback = section.rstrip().rpartition("\n")[2]
        bare = (_MARGIN.sub("", member) for member in _MEMBER.split(traceback))
        members = [_NEXT.split(member)[-1] for member in bare]
        last = last or "\n".join(members)
        errors += [error for member in members for error in _error(member)]
        if len(before) != 1:  # the traceback has no cause, but others precede it
            break
    frames = _FRAME.findall(last)
    own = [frame for frame in frames if not _FOREIGN.search(frame[0])] or frames
    return errors, [f"{path}:{line} in {function}" for path, line, function in own[-1:]]


def _error(text: str) -> Iterator[str]:
    lines = (line for line in text.splitlines() if line.strip() and not line.startswith(" "))
    yield from [line for line in lines if not line.endswith(TRACEBACK)][:1]
