"""What rules know for free about the texts of a question about a docstring."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from judgement_arms import TfIdf
from judgement_question import Features, Question, stems_of, with_facts

Phrase = tuple[str, ...]
_NAME = re.compile(r"(?:def|class) (\w+)")
_WORD = re.compile(r"[\w-]+|[^\w\s]")


def with_summary_facts(question: Question, idf: TfIdf) -> Question:
    """Add facts about summaries: shared words with the name, the signature and the code."""
    name = _name_of(question.code)
    head, _, body = question.code.partition("\n")
    checks = _checks(question.code)
    found = []
    for text in question.options:
        stems = stems_of(text)
        facts = {
            "words": _share(stems, question.code),
            "tfidf": idf.similarity(text, question.code),
            "name in text": _share(stems_of(name), text),
            "text in name": _share(stems, name),
            "head": _share(stems, head),
            "body": _share(stems, body),
            "name similarity": idf.similarity(text, name),
            "body similarity": idf.similarity(text, body),
            "length": math.log(len(stems) + 1) * math.log(len(body.split()) + 1),
            f"verb={stems[0]}": 1.0,
            "first word in name": float(stems[0] in stems_of(name)),
        }
        facts |= {f"verb={part}|{stems[0]}": 1.0 for part in stems_of(name)[:2]}
        facts |= {f"check={check}|{stems[0]}": 1.0 for check in checks}
        found.append(facts)
    return with_facts(question, found)


def phrase_counts(texts: Iterable[str]) -> Counter[Phrase]:
    """Return how often up to three words follow each other in texts."""
    counts: Counter[Phrase] = Counter()
    for text in texts:
        words = _WORD.findall(text.lower())
        for size in (1, 2, 3):
            counts.update(zip(*(words[n:] for n in range(size)), strict=False))
    return counts


class Phrases(NamedTuple):
    """Counts of phrases in some docstrings, without those of others."""

    counts: Counter[Phrase]
    without: Counter[Phrase]

    def log_count(self, *words: str) -> float:
        """Return the logarithm of how often a phrase occurs."""
        return math.log(max(0, self.counts[words] - self.without[words]) + 0.2)


def with_word_facts(question: Question, idf: TfIdf, phrases: Sequence[Phrases]) -> Question:
    """Add facts about two opposite words: their words in code, and how common the phrases are.

    `phrases` are those of the development packages, and of the package's other docstrings.
    """
    before = _WORD.findall(question.empty.rpartition('"""')[2].lower())[-2:]
    before = ["", "", *before][-2:]
    code = set(stems_of(question.code))
    checks = _checks(question.code)
    found = []
    for text in question.options:
        phrase, following = _split(text, question.options)
        words = [*phrase, *following][:3]
        own = phrase[-1]
        facts: Features = {
            "words": _share(stems_of(" ".join(phrase)), question.code),
            "tfidf": idf.similarity(" ".join(phrase), question.code),
            f"phrase={' '.join(phrase)}": 1.0,
            f"before={before[-1]}|{' '.join(phrase)}": 1.0,
        }
        for number, known in enumerate(phrases):
            facts |= {
                f"count{number}=one": known.log_count(own),
                f"count{number}=before": known.log_count(before[-1], words[0]),
                f"count{number}=two before": known.log_count(*before, words[0]),
                f"count{number}=after": known.log_count(*words[:2]),
                f"count{number}=two after": known.log_count(*words),
                f"count{number}=around": known.log_count(before[-1], *words[:2]),
            }
        facts |= {f"code={stem}|{' '.join(phrase)}": 0.3 for stem in code}
        facts |= {f"check={check}|{' '.join(phrase)}": 1.0 for check in checks}
        found.append(facts)
    return with_facts(question, found)


def _split(text: str, options: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the words of an option that differ from the other options, and those after them."""
    words = [_WORD.findall(each.lower()) for each in options]
    own = _WORD.findall(text.lower())
    same = 0
    shortest = min(map(len, words))
    while same < shortest - 1 and len({each[-1 - same] for each in words}) == 1:
        same += 1
    end = len(own) - same
    return own[:end], own[end:]


def _checks(code: str) -> list[str]:
    """Return which statements a function has."""
    patterns = {
        "returns a value": r"\breturn (?!None\b)\S",
        "returns": r"\breturn\b",
        "raises": r"\braise\b",
        "yields": r"\byield\b",
        "property": r"@(?:\w+\.)?(?:cached_)?property",
        "asynchronous": r"\basync def\b",
        "class method": r"@classmethod",
        "truth": r"-> bool|return (?:True|False|not |isinstance)",
        "assigns": r"self\.\w+ = ",
        "loop": r"\bfor\b|\bwhile\b",
        "special": r"def __\w+__",
        "negation": r"\bnot\b|!=",
    }
    return [name for name, pattern in patterns.items() if re.search(pattern, code)]


def _name_of(code: str) -> str:
    found = _NAME.search(code)
    return found[1] if found else ""


def _share(stems: Sequence[str], text: str) -> float:
    """Return the share of stems that a text has."""
    known = set(stems_of(text))
    return sum(stem in known for stem in stems) / max(1, len(stems))
