"""Time stays linear in the text: most shapes of it take less than 1.5 seconds per megabyte."""

import base64
import random
import time
from collections.abc import Callable

import pytest

from remora.trace.redact.redactor import Redactor

MEGABYTE = 1_000_000
SMALL = 100_000
TANGLE = "abcdefgh12345678IJKLMNOPQRSTUVWXzyxw0987ponmlkji!?#*"
PLAIN = Redactor(b"k" * 32)
TANGLED = Redactor(
    b"k" * 32, environ={f"KEY_{n}": TANGLE[n : n + 10 + n % 7] for n in range(len(TANGLE) - 16)}
)

SHAPES = {
    "one letter": "a",
    "prefixes": "gh" + "p_",
    "prefixes of short keys": "AK" + "IA",
    "keys": "AK" + "IA" + "ABCDEFGH23456789",
    "tokens": "gh" + "p_" + "aB3dE6gH9" * 4 + " ",
    "names": "password=",
    "names of many kinds": "token:secret=api_key:",
    "names and digits": "token1=a1b2",
    "open quotes": 'password="',
    "quotes in quotes": "password='token=\"secret=`",
    "escaped quotes": 'password:\\"',
    "backslashes": "token=\\",
    "blanks after names": "password=\n" + " " * 70,
    "types": "token:a[a|",
    "secrets": 'token="a1b2c3d4e5f6g7h8" ',
    "templates": 'token="a1${',
    "words in quotes": 'token="a1 ',
    "names of names": "name=token value=",
    "options": "--token ",
    "tags": "<password ",
    "heads of keys": "-----BEGIN PRIVATE KEY-----",
    "heads of keys and some body": "-----BEGIN PRIVATE KEY-----\nMIIEABCDEFGHIJKLM",
    "heads of headers": "-----BEGIN PRIVATE KEY-----\nab: ",
    "urls": "://a:",
    "urls with passwords": "://a:b@",
    "starts of web tokens": "ey" + "J",
    "halves of web tokens": "ey" + "Jaaaaaaaa.",
    "parts with dots": "M" * 24 + ".abcdef." + "a" * 26 + ".",
    "placeholders": "<secret:jwt:0123456789ab>",
    "names of placeholders": 'password="<secret:jwt:0123456789ab>',
    "placeholders and rests": "password=<secret:jwt:0123456789ab>abc1",
    "known values that overlap": TANGLE,
    "known values": TANGLE[:11],
    "brackets": "[",
    "other scripts": "password=é",
    "emoji": "🦀token='",
    "tuples": 'a,token="b",',
    "names of tuples": "a,token,",
    "names before continued lines": "token \\\n",
    "continued tuples": "a, \\\n token, \\\n",
    "continued values": "token = \\\n [\\\n",
    "tuples without an end": "a,token='",
    "tuples of tuples": "password,token=a,b;",
    "brackets after a name": "api_key, [[[[[[[[",
    "tuples in lists": f'[token]=["{TANGLE[:16]}"],',
    "open lists": "token=[",
    "targets in lists": "a,token=1,[x " * 18 + "] =" * 18,
    "escaped line ends": "password:" + "\\" * 16 + "n- ",
    "open calls of tuples": "a,token=f(",
    "open annotations": "token: a[",
    "open loops": "for (token,x) in (((",
    "targets with stars": "*token,[",
    "blocks": 'password = """\n',
    "blocks of words": 'password = """\nab12\n',
    "blocks in YAML": "token: |\n  a\n",
    "lists in YAML": "token:\n- a1b2\n",
    "names before lines": "token:\n",
    "lists of names": "- my token:\n",
    "lines of comments": "token:\n#\n",
    "dashes after a name": "token:\n" + "- " * 4_000,
    "escaped letters": "gh\\x70_",
    "escapes in tokens": "ghp_aB3d\\u0045",
    "continued lines": "ghp_aB3dE6gH9\\\n",
    "slashes in JSON": "a\\/",
    "markers of keys": "AZDO+AStA3-ABCDEF-",
    "starts of keys in Base64": "LS0tLS1" + "CRUdJTi",
    "types of keys in Base64": "UFJJVkFURS" + "BLRVkt\n",
    "defaults": "'token', default=",
    "tables": "parametrize('token,a',[('",
    "names of columns": "parametrize('token', ",
    "lookups": "token = a.get('x', ",
    "names of lookups": "env.get.pop(",
    "joints": "'a' 'b' ",
    "lists of joints": "''.join(['a', 'b'",
    "nothing": "\x00",
}


def text_of(shape: str, size: int) -> str:
    piece = SHAPES[shape]
    return (piece * (size // len(piece) + 1))[:size]


def seconds(redactor: Redactor, text: str) -> float:
    start = time.process_time()
    clean = redactor.text(text)
    used = time.process_time() - start
    assert redactor.text(clean) == clean
    return used


def growth(text: Callable[[int], str]) -> float:
    """How many times as long eight times the text takes: 8 to 12, and over 40 for quadratic work."""
    small, large = (min(seconds(TANGLED, text(size)) for _ in range(4)) for size in (1, 8))
    return large / small


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_a_tenth_of_a_megabyte(shape: str) -> None:
    text = text_of(shape, SMALL)
    assert max(seconds(PLAIN, text), seconds(TANGLED, text)) < 1  # quadratic work takes minutes


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_a_megabyte(shape: str) -> None:
    small, large = text_of(shape, SMALL), text_of(shape, MEGABYTE)
    for redactor in (PLAIN, TANGLED):
        used = seconds(redactor, large)
        assert used < 1.5 or used < 20 * seconds(redactor, small)


def test_long_base64() -> None:
    text = base64.b64encode(random.Random(1).randbytes(1_500_000)).decode()
    assert growth(lambda size: text[: size * 250_000]) < 24
    assert growth(lambda size: "password=" + text[: size * 250_000]) < 24


@pytest.mark.slow
def test_one_finding_per_line() -> None:
    """Many different secrets, so that nothing is found twice."""
    pick = random.Random(2)
    lines = [f'api_key = "{pick.randbytes(12).hex()}"\n' for _ in range(2_400)]
    assert growth(lambda size: "".join(lines[: size * 300])) < 24


def test_short_strings_cost_microseconds() -> None:
    text = "hello world, how are"
    used = []
    for _ in range(5):
        start = time.process_time()
        for _ in range(10_000):
            PLAIN.text(text)
        used.append(time.process_time() - start)
    assert min(used) < 0.2
