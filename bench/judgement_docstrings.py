"""Questions about docstrings: which summary fits the code, and which of two words is true?"""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import TypeVar

from judgement_packages import Function, documented_functions
from judgement_planting import Site, opposite_sites
from judgement_question import Question, neutral_names, renamed_code, renamed_prose, stems_of

T = TypeVar("T")
FRAMINGS = ("place", "behind", "attribute", "comment", "chat")
TEXT_FRAMING = "behind"
WORDS_FRAMING = "behind"
_WINDOW = 3
"""Words after the planted one that are part of the text."""
_LONGEST = 500
_LINES = range(2, 26)
_SUMMARY_WORDS = range(3, 9)
_DISTRACTORS = 3
_NEAR = 10
_BEFORE = 160
_SECTION = re.compile(
    r"^(?:\s*[A-Z][\w ]*:\s*$|\s*:\w|\s*>>>|\s*\.\. |\s*[-=~]{3,}|\s*[-*] )", re.MULTILINE
)


@cache
def usable_functions(package: str) -> list[Function]:
    """Return the documented functions of a package that are short enough for a small model."""
    return [
        each
        for each in documented_functions(package)
        if len(each.code) <= _LONGEST
        and len(each.body.splitlines()) in _LINES
        and each.code.isascii()
        and each.docstring.isascii()
    ]


def some(found: Sequence[T], limit: int) -> list[T]:
    """Return some of a package's examples, the same in each call."""
    return random.Random(0).sample(found, min(limit, len(found)))


def prompts(function: Function, framing: str) -> tuple[str, str]:
    """Return the text before a docstring: with the code, and without it."""
    code, head = function.code, function.head
    match framing:
        case "place":
            return f'{head}\n    """', 'def function():\n    """'
        case "behind":
            return f'{code}\n\n\n{head}\n    """', 'def function():\n    """'
        case "attribute":
            return f'{code}\n\n\n{function.name}.__doc__ = """', 'function.__doc__ = """'
        case "comment":
            return f"{code}\n\n\n# What {function.name}() does: ", "# What function() does: "
        case "chat":
            return _chat(code), _chat("def function():\n    ...")
    raise ValueError(framing)


def _chat(code: str) -> str:
    return (
        "<|im_start|>user\nWrite the docstring of this Python function.\n\n"
        f"```python\n{code}\n```<|im_end|>\n<|im_start|>assistant\n"
    )


def summary_of(function: Function) -> str | None:
    """Return the first line of a docstring if it is a short paragraph of its own."""
    first, _, rest = function.docstring.partition("\n")
    text = first.rstrip(".") + "."
    is_paragraph = not rest.strip() or rest.startswith("\n")
    is_plain = re.fullmatch(r"[A-Z][\w '`,.()/:-]+\.", text) is not None
    return text if is_paragraph and is_plain and len(text.split()) in _SUMMARY_WORDS else None


def summary_questions(
    package: str, framing: str = TEXT_FRAMING, *, limit: int
) -> Iterator[Question]:
    """Yield questions about summaries of a package: the true one among similar ones."""
    found = [(each, text) for each in usable_functions(package) if (text := summary_of(each))]
    for function, summary in some(found, limit):
        others = _distractors(function, summary, found)
        if len(others) == _DISTRACTORS:
            order = random.Random(function.qualname)
            options = [summary, *others]
            order.shuffle(options)
            context, empty = prompts(function, framing)
            yield Question(
                package=package,
                name=function.qualname,
                code=function.code,
                context=context,
                empty=empty,
                options=tuple(options),
                right=options.index(summary),
            )


def _distractors(
    function: Function, summary: str, found: Sequence[tuple[Function, str]]
) -> list[str]:
    """Return summaries of other functions with similar words and a similar length."""
    own = {*stems_of(function.name), *stems_of(summary)}
    near: dict[str, float] = {}
    for other, text in found:
        stems = {*stems_of(other.name), *stems_of(text)}
        is_other = other.name != function.name and set(stems_of(text)) != set(stems_of(summary))
        if is_other and abs(len(text) - len(summary)) <= 0.5 * len(summary):
            near[text] = len(own & stems) / len(own | stems)
    hardest = sorted(near, key=lambda text: (-near[text], text))[:_NEAR]
    chosen = random.Random(f"distractors {function.qualname}")
    return chosen.sample(hardest, _DISTRACTORS) if len(hardest) >= _DISTRACTORS else []


def prose_of(docstring: str) -> str:
    """Return the sentences of a docstring before its first section, list or example."""
    section = _SECTION.search(docstring)
    return " ".join(docstring[: section.start() if section else None].split())


def all_prose(package: str) -> dict[str, str]:
    """Return the prose of each docstring of a package's usable functions."""
    return {each.qualname: prose_of(each.docstring) for each in usable_functions(package)}


def all_sites(package: str) -> Iterator[tuple[Function, str, Site]]:
    """Yield each word of a package's docstrings that has an opposite, with its text."""
    for function in usable_functions(package):
        text = prose_of(function.docstring)
        for site in opposite_sites(text):
            yield function, text, site


def word_questions(
    package: str, framing: str = WORDS_FRAMING, *, single: bool = False, limit: int
) -> Iterator[Question]:
    """Yield one question for each function of a package with a word that has an opposite."""
    by_function: dict[str, list[tuple[Function, str, Site]]] = {}
    for each in all_sites(package):
        by_function.setdefault(each[0].qualname, []).append(each)
    for name, found in some(list(by_function.items()), limit):
        words = [each for each in found if not each[2].is_negation] or found
        function, text, site = random.Random(name).choice(words)
        yield word_question(function, text, site, framing=framing, single=single)


def word_question(
    function: Function, text: str, site: Site, *, framing: str, single: bool
) -> Question:
    """Return the question whether a word of a docstring or its opposite is true."""
    context, empty = prompts(function, framing)
    before, after = text[: site.start], text[site.end :]
    rest = _first_words(after)
    one, other = f"{site.word}{rest}", f"{site.opposite}{rest}"
    while (word := one.partition(" ")[0]) == other.partition(" ")[0]:
        # only the next words differ, as in `is` and `is not`
        before += f"{word} "
        one, other = one.removeprefix(f"{word} "), other.removeprefix(f"{word} ")
    # a token begins with the space before its word
    space = " " if before.endswith(" ") else ""
    before = _tail(before.removesuffix(" "))
    name = f"{function.qualname}:{site.start}"
    options = [space + one, space + other]
    random.Random(f"order {name}").shuffle(options)
    return Question(
        package=function.package,
        name=name,
        code=function.code,
        context=context + before,
        empty=empty + before,
        options=tuple(options),
        right=options.index(space + one),
        single=single,
    )


def _tail(text: str) -> str:
    """Return the last sentences of a text."""
    if len(text) <= _BEFORE:
        return text
    rest = text[-_BEFORE:]
    return rest[rest.find(" ") + 1 :]


def _first_words(text: str) -> str:
    """Return the next words of the same sentence."""
    sentence = re.split(r"(?<=[.!?])(?:\s|$)", text, maxsplit=1)[0]
    words = re.findall(r"\S*\s*", sentence)[: _WINDOW + (not text[:1].strip())]
    return "".join(words).rstrip()


def renamed(question: Question) -> Question:
    """Return the question with neutral identifiers, also where the texts name them.

    Words that differ between two otherwise equal texts remain.
    """
    names = neutral_names(question.code)
    one, other = (set(text.split()) for text in question.options[:2])
    compared = one ^ other if len(question.options) == 2 else set()
    prose = {name: value for name, value in names.items() if name not in compared}
    before, after = question.context.split(question.code, 1)
    return replace(
        question,
        code=renamed_code(question.code, names),
        context=before + renamed_code(question.code, names) + renamed_prose(after, prose),
        empty=renamed_prose(question.empty, prose),
        options=tuple(renamed_prose(text, prose) for text in question.options),
    )
