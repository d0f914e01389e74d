"""Ordinary code and tool output have no finding in thousands of lines."""

import argparse
import asyncio.base_events
import base64
import configparser
import email.message
import ftplib
import getpass
import hashlib
import hmac
import http.client
import http.cookies
import imaplib
import inspect
import json.decoder
import logging.config
import netrc
import pathlib
import random
import secrets
import smtplib
import ssl
import tokenize
import urllib.request
import uuid
from pathlib import Path
from types import ModuleType

import pytest

import remora
from remora.trace.redact.redactor import Redactor

MODULES = [
    *(argparse, asyncio.base_events, configparser, email.message, ftplib, getpass, hashlib, hmac),
    *(http.client, http.cookies, imaplib, json.decoder, logging.config, netrc, pathlib, random),
    *(secrets, smtplib, ssl, tokenize, urllib.request, base64, uuid),
]
OWN = sorted(
    path for path in Path(remora.__file__).parent.rglob("*.py") if "redact" not in path.parts
)


@pytest.fixture(scope="module")
def redactor() -> Redactor:
    return Redactor(b"k" * 32)


def changed(redactor: Redactor, text: str) -> list[str]:
    """The lines in which something was found."""
    clean = redactor.text(text)
    return [
        new for old, new in zip(text.split("\n"), clean.split("\n"), strict=False) if old != new
    ]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_the_standard_library(redactor: Redactor, module: ModuleType) -> None:
    assert changed(redactor, inspect.getsource(module)) == []


def test_the_corpus_is_large() -> None:
    assert sum(inspect.getsource(module).count("\n") for module in MODULES) > 15_000
    assert sum(path.read_text().count("\n") for path in OWN) > 10_000


def test_our_own_code(redactor: Redactor) -> None:
    for path in OWN:
        assert changed(redactor, path.read_text()) == [], path


@pytest.mark.parametrize(
    "line",
    [
        "token = tokenizer.next()",
        "token = tokens[index2]",
        "token = self.tokenizer2.next_token",
        "password: str",
        "password: str = field(default='')",
        "password = getpass.getpass('Password: ')",
        "    password=options.password2,",
        "api_key=None",
        "api_key = os.environ['API_KEY_V2']",
        'api_key = os.getenv("OPENAI_API_KEY")',
        "secret_key = settings.SECRET_KEY_BASE64",
        "secret = sha256(value).hexdigest()",
        "token=utf8_decoder, password=None",
        "export TOKEN=$GITHUB_TOKEN",
        "API_KEY=${API_KEY:-}",
        "password = f'{user}-{suffix2}'",
        'password = "%(password)s"',
        'password = "********"',
        'password = "xxxxxxxxxxxx"',
        'token = "identifier"',
        'token_type = "access_token"',
        'TOKEN_URL = "https://auth.example.org/oauth2/token"',
        '"secret_name": "projects/shop/secrets/orders"',
        'self.token = "</s>"',
        'help="the API token to use for requests to v2 of the service"',
        "Authorization: Bearer <token>",
        "headers = {'Authorization': f'Bearer {token}'}",
        "see https://docs.example.org/en/latest/api.html#token-authentication",
        "git clone ssh://git@github.com:22/shop/orders.git",
        "https://user:password@example.org/path",
        "postgresql://${DB_USER}:${DB_PASSWORD}@localhost/orders",
        "-----BEGIN CERTIFICATE-----",
        "if '-----BEGIN PRIVATE KEY-----' in text and '-----END PRIVATE KEY-----' in text:",
        "session = requests.Session()",
        "session=session_factory_for_v2_requests()",
        ".sk-estimator-doc-link-with-a-long-name { color: red }",
        "risk-free-and-otherwise-ordinary-text-2",
        "next_page_token = 'CAUQAA1x9QmFzZTY0'",
        'user, password = "", ""',
        "user, password = read_user(), read_password()",
        "user, password = credentials",
        "name, token = line.partition('=')[::2]",
        'for user, token in (("a", "b"), ("c", "d")):',
        'password = """\nThe password that you were given.\n"""',
        'NO_PASSWORD = """\\\n[server1]\nusername:me\n"""',
        "password: |-\n  ${PASSWORD}\n",
        "passwords:\n  - ${PASSWORD}\n  - 'changeme'\n",
        "-    if not password:\n-        self.connect(user2)\n-        x = user2\n",
        r're.compile(r"\x41-\x5a[\141-\172]+\/[a-z]")',
        "https:\\/\\/docs.example.org\\/en\\/latest\\/api.html",
        "re_compile_with_a_long_name(pk_as_integer, fw_version, nf_conntrack_max)",
        "sk-container-id-1 cf-connecting-ip rnd_seed_for_all_tests md-button-of-a-toolbar",
        "API-REFERENCE-OF-THE-SERVICE s.translate_all_of_the_names npg_catalog",
    ],
)
def test_ordinary_lines(redactor: Redactor, line: str) -> None:
    assert redactor.text(line) is line


def test_digests_and_names(redactor: Redactor) -> None:
    pick = random.Random(5)
    for number in range(200):
        raw = pick.randbytes(64)
        sha = base64.b64encode(raw).decode()
        for line in (
            f"commit {raw[:20].hex()}",
            f"uuid: {uuid.UUID(bytes=raw[:16])}",
            f'{{file = "tokenize_rt-5.{number}.whl", hash = "sha256:{raw[:32].hex()}"}}',
            f'"integrity": "sha512-{sha}"',
            f"token-list@{number} sha512-{sha}",
            f"etag: {raw[:16].hex()}-{number}",
            f"/nix/store/{raw[:16].hex()}-secret-{number}.drv",
        ):
            assert redactor.text(line) is line


def test_pictures(redactor: Redactor) -> None:
    picture = base64.b64encode(random.Random(6).randbytes(300_000)).decode()
    page = f'<img src="data:image/png;base64,{picture}">'
    assert redactor.text(page) is page


def test_bases(redactor: Redactor) -> None:
    row = "".join(random.Random(7).choices("ACGT", k=100_000))
    assert redactor.text(row) is row
