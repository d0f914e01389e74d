"""Documentation, docstrings and messages use plain English: none of a list of odd phrases."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
WEB = ROOT / "src/remora/web"
PAGES = [
    *ROOT.glob("*.md"),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((WEB / "templates").rglob("*.html")),
    *sorted((WEB / "static").glob("*.js")),
]
SOURCES = sorted((ROOT / "src/remora").rglob("*.py"))

PHRASES = {
    "anew": r"\banew\b",
    "for ever": r"\bfor ever\b",
    "be it": r"\bbe it\b",
    "o too": r"(?<![Aa]nd )\b[Ss]o too\b",
    "came to": r"\bcame to nothing\b",
    " on": r"\b(?:goes|went) on\b",
    "stand": r"\bstands? there\b|\bthere stands\b|\bstands for\b",
    "had back": r"\bhad back\b",
    "old ": r"\b[Tt]old (?:of|that|apart)\b",
    "hat ": r"\b[Ww]hat (?:is|was) (?:told|said)\b",
    "held against": r"\bheld against\b",
    "obody": r"\b[Nn]obody\b(?! with)",
    "omebody": r"\b[Ss]omebody\b",
    "what waits": r"\bwhat waits\b",
    "is no ": r"(?<!there )(?<!There )\bis no (?!longer\b|more\b)\w",
}
"""A substring that is fast to find, and the whole pattern."""

DOCSTRING_PHRASES = {
    "Whether": r"\AWhether\b",
    "Who": r"\AWho\b",
    "What is ": r"\AWhat is (?:told|said|known|left)\b",
}

ODD = re.compile("|".join(PHRASES.values()))
ODD_DOCSTRING = re.compile("|".join((*PHRASES.values(), *DOCSTRING_PHRASES.values())))


def hints(source: str) -> bool:
    """True if a string of the source may have an odd phrase."""
    phrases = {**PHRASES, **DOCSTRING_PHRASES}
    return any(
        hint in source and re.search(pattern.replace(r"\A", '"'), source)
        for hint, pattern in phrases.items()
    )


def strings(source: str) -> Iterator[tuple[int, str, bool]]:
    """Yield line, text and True for a docstring, of each string literal."""
    tree = ast.parse(source)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value, id(node) in docstrings


def odd_strings(path: str, source: str) -> Iterator[str]:
    for line, text, is_docstring in strings(source) if hints(source) else ():
        for match in (ODD_DOCSTRING if is_docstring else ODD).finditer(text):
            yield f"{path}:{line}: {match[0]!r}"


def test_pages_use_plain_english() -> None:
    odd = [
        f"{page.relative_to(ROOT)}:{number}: {match[0]!r}"
        for page in PAGES
        for number, line in enumerate(page.read_text(encoding="utf-8").split("\n"), 1)
        for match in ODD.finditer(line)
    ]
    assert odd == []


READ = re.compile(r"\b(maintainers?|readers?) (would|merged?|reject|rejected|held|agreed)\b")


def test_pages_about_readings_say_that_models_read() -> None:
    pages = (page for page in PAGES if page.suffix == ".md")
    texts = {page.name: page.read_text(encoding="utf-8") for page in pages}
    assert [name for name, text in texts.items() if READ.search(text) and "AI" not in text] == []


def test_docstrings_and_messages_use_plain_english() -> None:
    odd = [
        text
        for source in SOURCES
        for text in odd_strings(
            source.relative_to(ROOT / "src/remora").as_posix(), source.read_text(encoding="utf-8")
        )
    ]
    assert odd == []


def test_planted_phrases_are_found() -> None:
    source = (
        'def a():\n    """Whether it ends."""\n'
        'def b():\n    raise ValueError("a is no key")\n'
        "# nobody reads a comment\n"
    )
    assert list(odd_strings("a.py", source)) == ["a.py:2: 'Whether'", "a.py:4: 'is no k'"]
    assert list(odd_strings("a.py", 'X = "there is no key"\n')) == []
