"""The errors of a Python traceback, with their causes and the members of exception groups."""

import re
from collections.abc import Iterator

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
