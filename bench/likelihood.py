"""Seconds to score texts with the embedded model, beside ranking letters and writing.

Targets: single tokens p50 <= 0.15 s; texts of 20 tokens <= 0.5 s each.
"""

import ast
import asyncio
import statistics
import time
from pathlib import Path

from remora.models.embedded.embedded_model import EmbeddedModel
from remora.models.model_settings import RequestLimits
from remora.models.protocol import Decoding, Request

_FUNCTIONS = 24
_SOURCES = Path(__file__).parent.parent / "src" / "remora" / "code"
_TEXTS = (
    " returns the names of all functions that are defined in the given file, sorted by where they",
    " returns the number of lines that were changed since the last time that the file was read by",
)


def functions() -> list[str]:
    """Return the source of functions of 8 to 20 lines."""
    found: list[str] = []
    for path in sorted(_SOURCES.rglob("*.py")):
        text = path.read_text("utf-8")
        found += [
            ast.get_source_segment(text, node) or ""
            for node in ast.parse(text).body
            if isinstance(node, ast.FunctionDef) and 8 <= len(ast.unparse(node).split("\n")) <= 20
        ]
    return found[:: max(1, len(found) // _FUNCTIONS)][:_FUNCTIONS]


def scored(prompt: str, texts: tuple[str, ...]) -> Request:
    labels = tuple("ABCDEFGH"[: len(texts)])
    decoding = Decoding(strategy="likelihood", labels=labels, texts=texts, empty="The function")
    return Request(prompt=prompt, decoding=decoding)


def ranked(prompt: str) -> Request:
    return Request(prompt=prompt, decoding=Decoding(strategy="rank", labels=("A", "B")))


async def seconds(model: EmbeddedModel, requests: list[Request]) -> list[float]:
    times = []
    for request in requests:
        started = time.perf_counter()
        await model.ask(request)
        times.append(time.perf_counter() - started)
    return times


async def main() -> None:
    model = EmbeddedModel(
        Path.home() / ".cache" / "remora", exact=False, limits=RequestLimits(max_concurrency=2)
    )
    prompts = [f"{source}\n\nThe function" for source in functions()]
    await model.ask(ranked("A or B?"))
    try:
        letters = await seconds(model, [ranked(f"{p} is A or B:") for p in prompts])
        single = await seconds(model, [scored(p, (" returns", " raises")) for p in prompts])
        texts = await seconds(model, [scored(p, _TEXTS) for p in prompts])
        again = await seconds(model, [scored(p, _TEXTS) for p in prompts])
    finally:
        await model.aclose()
    base = statistics.median(letters)
    for name, times, per in (
        ("letters, one rotation, prompt not cached", letters, 1),
        ("single tokens, prompt partly cached", single, 1),
        ("texts of 18 tokens, each", texts, len(_TEXTS)),
        ("texts again, prompt cached, each", again, len(_TEXTS)),
    ):
        each = [t / per for t in times]
        middle, most = statistics.median(each), max(each)
        print(f"{name:42} p50 {middle:6.3f} s  max {most:6.3f} s  {middle / base:5.2f} of letters")


if __name__ == "__main__":
    asyncio.run(main())
