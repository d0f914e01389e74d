"""Redaction of code, tool output, hostile text and short strings.

For comparison, the same patterns with the standard library's `re`, each over the whole text. CPU
time is measured.
"""

import inspect
import json
import re
import statistics
import time
from collections.abc import Callable

from remora.trace.redact.builtin_rules import BUILTIN
from remora.trace.redact.redactor import Redactor

ROUNDS = 3
MEGABYTE = 1_000_000
MODULES = ("argparse", "http.client", "logging", "tokenize", "email.message", "ssl", "typing")
HOSTILE = {
    "known prefixes": "gh" + "p_" + "AK" + "IA",
    "names without end": "password=",
    "quotes in quotes": "password='token=\"secret=`",
    "a secret per word": 'token="a1b2c3d4e5f6g7h8" ',
    "keys without end": "-----BEGIN PRIVATE KEY-----\nMIIEABCDEFGHIJKLM",
    "marks": 'password="<secret:jwt:0123456789ab>',
    "one letter": "a",
}


def main() -> dict[str, float]:
    """Return megabytes per second on ordinary text, seconds per megabyte on the worst, ratios to `re`."""
    redactor = Redactor(b"k" * 32, environ={"SHOP_TOKEN": "zebra-17-quux"})
    code, output = _code(), _output()
    findings = json.loads(output)
    in_code = _rate(lambda: redactor.text(code), len(code))
    in_output = _rate(lambda: redactor.text(output), len(output))
    in_values = _rate(lambda: redactor.clean(findings), len(output))
    plain_code = _rate(lambda: _plain(code), len(code), rounds=1)
    plain_output = _rate(lambda: _plain(output), len(output), rounds=1)
    worst = {name: _seconds(redactor, piece) for name, piece in HOSTILE.items()}
    name = max(worst, key=worst.__getitem__)
    short = _microseconds(redactor, "hello world, how are")
    print(f"redaction, source code               {in_code:9,.1f} MB/s   (aim >= 3)")
    print(f"redaction, tool output as text       {in_output:9,.1f} MB/s   (aim >= 3)")
    print(f"redaction, tool output as values     {in_values:9,.1f} MB/s   (aim >= 3)")
    print(
        f"re, source code                      {plain_code:9,.1f} MB/s   ours is {in_code / plain_code:.1f} x"
    )
    print(
        f"re, tool output as text              {plain_output:9,.1f} MB/s   ours is {in_output / plain_output:.1f} x"
    )
    print(f"worst hostile text                   {worst[name]:9.2f} s/MB   (aim <= 1), {name}")
    print(f"a string of 20 characters            {short:9.2f} us")
    return {
        "redaction_code_mb_per_second": in_code,
        "redaction_output_mb_per_second": in_output,
        "redaction_values_mb_per_second": in_values,
        "redaction_over_re": min(in_code / plain_code, in_output / plain_output),
        "redaction_worst_seconds_per_mb": worst[name],
        "redaction_short_microseconds": short,
    }


def _code() -> str:
    modules = [__import__(name, fromlist=["_"]) for name in MODULES]
    text = "\n".join(inspect.getsource(module) for module in modules)
    return (text * (MEGABYTE // len(text) + 1))[:MEGABYTE]


def _output() -> str:
    """Return a linter's output for 4,000 places, as JSON."""
    return json.dumps(
        [
            {
                "code": "F401",
                "filename": f"/src/shop/orders_{number % 97}.py",
                "location": {"row": number, "column": 8},
                "message": f"`os.path` imported but unused; token {number} of password.py",
                "url": "https://docs.example.org/rules/unused-import#token",
            }
            for number in range(4_000)
        ],
        indent=1,
    )


def _rate(work: Callable[[], object], size: float, rounds: int = ROUNDS) -> float:
    """Return millions of `size` per second."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return size / statistics.median(times) / 1e6


def _seconds(redactor: Redactor, piece: str) -> float:
    text = (piece * (MEGABYTE // len(piece) + 1))[:MEGABYTE]
    return 1 / _rate(lambda: redactor.text(text), MEGABYTE)


def _microseconds(redactor: Redactor, text: str, calls: int = 20_000) -> float:
    start = time.process_time()
    for _ in range(calls):
        redactor.text(text)
    return (time.process_time() - start) / calls * 1e6


_PLAIN = [  # `re` takes flags for a whole pattern only
    re.compile(
        rule.pattern.replace("(?i)", "").encode(), re.IGNORECASE if "(?i)" in rule.pattern else 0
    )
    for rule in BUILTIN
]


def _plain(text: str) -> int:
    """Count the matches of the patterns alone."""
    data = text.encode()
    return sum(1 for pattern in _PLAIN for _ in pattern.finditer(data))


if __name__ == "__main__":
    main()
