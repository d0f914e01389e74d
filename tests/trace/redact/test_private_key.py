"""Private keys in every state in which tools show them."""

import base64
import json
import random

import pytest

from remora.trace.redact.redactor import Redactor

EDGE = "-" * 5
PICK = random.Random(11)
LINES = [base64.b64encode(PICK.randbytes(48)).decode() for _ in range(6)]
LAST = base64.b64encode(PICK.randbytes(20)).decode()
HEAD, END = f"{EDGE}BEGIN EC PRIVATE KEY{EDGE}", f"{EDGE}END EC PRIVATE KEY{EDGE}"
BLOCK = "\n".join([HEAD, *LINES, LAST, END])


@pytest.fixture(scope="module")
def redactor() -> Redactor:
    return Redactor(b"k" * 32)


@pytest.mark.parametrize(
    "text",
    [
        BLOCK,
        BLOCK.replace("\n", "\r\n"),
        BLOCK.replace("\n", "\\n"),
        BLOCK.replace("\n", ""),
        BLOCK.replace("\n", "\n    "),
        BLOCK.replace("\n", '\\n"\n    "'),
        BLOCK.replace("\n", "\n+"),
        BLOCK.replace("\n", "\n- "),
        BLOCK.replace("\n", "\n> "),
        json.dumps({"key": json.dumps(BLOCK)}),
        "\n".join(f"{number:6}\t{line}" for number, line in enumerate(BLOCK.split("\n"))),
        "\n".join(f"{number}: {line}" for number, line in enumerate(BLOCK.split("\n"))),
        BLOCK.replace(HEAD, HEAD + "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A1B\n"),
        BLOCK.replace("EC PRIVATE KEY", "PGP PRIVATE KEY BLOCK").replace(HEAD, HEAD + "\n\n"),
        BLOCK.partition(END)[0],
        BLOCK[: len(HEAD) + 300],
        f"{HEAD}\n{LINES[0]}\n{BLOCK}",
    ],
)
def test_no_line_of_the_body_is_left(redactor: Redactor, text: str) -> None:
    clean = redactor.text(f"before\n{text}\nafter")
    assert clean.startswith("before\n")
    assert clean.endswith("after")
    assert "<secret:private-key:" in clean
    assert [line for line in [*LINES, LAST] if line in clean] == []
    assert redactor.text(clean) == clean


def test_in_base64(redactor: Redactor) -> None:
    hidden = base64.b64encode(BLOCK.encode()).decode()
    assert redactor.text(f"data:\n  tls.key: {hidden}\n").count("<secret:private-key:") == 1
    public = base64.b64encode(BLOCK.replace("EC PRIVATE KEY", "CERTIFICATE").encode()).decode()
    assert redactor.text(public) is public


def test_public_keys_stay(redactor: Redactor) -> None:
    for text in (BLOCK.replace("EC PRIVATE KEY", "CERTIFICATE"), f"{HEAD}\n...\n{END}", HEAD, END):
        assert redactor.text(text) is text
