"""The code blocks of the concept papers, by the first word of their titles."""

import json
import re
from pathlib import Path
from typing import Any

PAGE = (Path(__file__).parent / "blocks.md").read_text(encoding="utf-8")
FENCED = re.findall(r"^## (.*?)\n\n```\w+\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
BLOCKS: list[tuple[str, str]] = [(title.split(" ")[0], block) for title, block in FENCED]


def block(title: str, number: int = 0) -> str:
    return [text for known, text in BLOCKS if known == title][number]


def run(*blocks: str, **known: Any) -> dict[str, Any]:
    """Run blocks in one namespace with what they take from elsewhere."""
    for text in blocks:
        exec(compile(text, "blocks.md", "exec"), known)
    return known


def paper_json(text: str) -> dict[str, Any]:
    """Return a block of JSON, which may have comments."""
    loaded: dict[str, Any] = json.loads(re.sub(r"//.*", "", text))
    return loaded
