"""Secrets that never were: made from a seed, each in the middle of what tools really print."""

import base64
import json
import random
import string
from collections.abc import Callable
from dataclasses import dataclass

from tests.trace.redact.planted_services import LOWER, MAKERS, in_teams_address, teams_webhook

ALNUM = string.ascii_letters + string.digits
WIDE = ALNUM + "_-"
HEX = "0123456789abcdef"
BASE32 = string.ascii_uppercase + "234567"
BASE64 = ALNUM + "+/"


@dataclass(frozen=True)
class Planted:
    """`value` must not be readable in what becomes of `context`."""

    kind: str
    value: str
    context: str


def planted(seed: int = 0, *, rounds: int = 1) -> list[Planted]:
    """Each kind in each context, `rounds` times with other values; the same for a seed."""
    pick = random.Random(seed)
    found = []
    for _ in range(rounds):
        for kind, (make, carry) in KINDS.items():
            for wrap in CONTEXTS:
                value = make(pick)
                found.append(Planted(kind, value, wrap(carry(value))))
    return found


def readable(secret: Planted) -> list[str]:
    """What of a secret must not be found: all of it, or of a key in lines each long line."""
    if "\n" not in secret.value:
        return [secret.value]
    return [line for line in secret.value.split("\n") if len(line) > 40]


def _some(pick: random.Random, letters: str, count: int) -> str:
    return "".join(pick.choices(letters, k=count))


def _after(prefix: str, letters: str, count: int) -> Callable[[random.Random], str]:
    return lambda pick: prefix + _some(pick, letters, count)


def _jwt(pick: random.Random) -> str:
    def part(content: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")

    head, body = {"alg": "HS256", "typ": "JWT"}, {"sub": _some(pick, ALNUM, 12), "iat": 1700000000}
    return f"{part(head)}.{part(body)}.{_some(pick, WIDE, 43)}"


def _pem(label: str) -> Callable[[random.Random], str]:
    def make(pick: random.Random) -> str:
        body = "\n".join(_some(pick, BASE64, 64) for _ in range(4))
        edge = "-" * 5
        last = _some(pick, BASE64, 41)
        return f"{edge}BEGIN {label}{edge}\n{body}\n{last}=\n{edge}END {label}{edge}"

    return make


def _telegram(pick: random.Random) -> str:
    return f"{pick.randrange(10**9, 10**10)}:AA{_some(pick, WIDE, 33)}"


def _discord(pick: random.Random) -> str:
    return ".".join(["M" + _some(pick, ALNUM, 23), _some(pick, WIDE, 6), _some(pick, WIDE, 27)])


def _sendgrid(pick: random.Random) -> str:
    return ".".join(["SG", _some(pick, WIDE, 22), _some(pick, WIDE, 43)])


def _password(pick: random.Random) -> str:
    """As people make them: a word, digits, something odd, another word."""
    words = ("horse", "battery", "staple", "winter", "summer", "copper", "violet")
    return (
        f"{pick.choice(words)}{pick.randrange(10, 9999)}{pick.choice('!?#*')}{pick.choice(words)}"
    )


def _basic(pick: random.Random) -> str:
    return base64.b64encode(f"deploy:{_some(pick, ALNUM, 12)}".encode()).decode()


def _itself(value: str) -> str:
    return value


_Kind = tuple[Callable[[random.Random], str], Callable[[str], str]]
KINDS: dict[str, _Kind] = {
    "aws-access-key": (_after("AK" + "IA", BASE32, 16), _itself),
    "aws-secret-key": (_after("", BASE64, 40), lambda value: f"aws_secret_access_key = {value}"),
    "github-token": (_after("gh" + "p_", ALNUM, 36), _itself),
    "github-app-token": (_after("gh" + "s_", ALNUM, 36), _itself),
    "github-fine-grained": (_after("github" + "_pat_", ALNUM + "_", 82), _itself),
    "gitlab-token": (_after("gl" + "pat-", WIDE, 20), _itself),
    "slack-token": (
        lambda pick: "xo" + f"xb-{pick.randrange(10**11)}-{_some(pick, ALNUM, 24)}",
        _itself,
    ),
    "slack-webhook": (
        lambda pick: (
            f"T{_some(pick, BASE32, 8)}/B{_some(pick, BASE32, 8)}/{_some(pick, ALNUM, 24)}"
        ),
        lambda value: "https://hooks.slack." + f"com/services/{value}",
    ),
    "stripe-key": (_after("sk_" + "live_", ALNUM, 24), _itself),
    "stripe-restricted-key": (_after("rk_" + "live_", ALNUM, 24), _itself),
    "google-api-key": (_after("AI" + "za", WIDE, 35), _itself),
    "gcp-service-account": (
        _pem("PRIVATE KEY"),
        lambda value: json.dumps({"type": "service_account", "private_key": value}),
    ),
    "openai-key": (_after("sk" + "-proj-", WIDE, 64), _itself),
    "openai-old-key": (
        lambda pick: "sk" + f"-{_some(pick, ALNUM, 20)}T3BlbkFJ{_some(pick, ALNUM, 20)}",
        _itself,
    ),
    "anthropic-key": (_after("sk" + "-ant-api03-", WIDE, 93), _itself),
    "huggingface-token": (_after("h" + "f_", string.ascii_letters, 34), _itself),
    "npm-token": (_after("np" + "m_", ALNUM, 36), _itself),
    "pypi-token": (_after("py" + "pi-AgEIcHlwaS5vcmc", WIDE, 70), _itself),
    "sendgrid-key": (_sendgrid, _itself),
    "twilio-key": (_after("S" + "K", HEX, 32), _itself),
    "mailgun-key": (_after("ke" + "y-", HEX, 32), _itself),
    "telegram-token": (_telegram, _itself),
    "discord-token": (_discord, _itself),
    "jwt": (_jwt, _itself),
    "private-key": (_pem("RSA PRIVATE KEY"), _itself),
    "ssh-private-key": (_pem("OPENSSH PRIVATE KEY"), _itself),
    "basic-auth": (_password, lambda value: f"https://deploy:{value}@git.example.org/shop.git"),
    "database-url": (
        _after("", ALNUM, 14),
        lambda value: f"postgresql+psycopg://shop:{value}@db.example.org:5432/orders",
    ),
    "bearer": (_after("", ALNUM + "._-", 40), lambda value: f"Authorization: Bearer {value}"),
    "basic": (_basic, lambda value: f"authorization: Basic {value}"),
    "azure-key": (
        lambda pick: _some(pick, BASE64, 86) + "==",
        lambda value: f"DefaultEndpointsProtocol=https;AccountName=shop;AccountKey={value};",
    ),
    "azure-sas": (
        lambda pick: _some(pick, ALNUM, 40) + "%3D",
        lambda value: f"https://shop.blob.example.net/c?sv=2022-11-02&sp=r&sig={value}",
    ),
    "connection-string": (
        _after("", ALNUM, 12),
        lambda value: f"Server=tcp:db.example.net;Database=shop;User ID=sa;Password={value};",
    ),
    "digitalocean-token": (_after("do" + "p_v1_", HEX, 64), _itself),
    "databricks-token": (_after("da" + "pi", HEX, 32), _itself),
    "shopify-token": (_after("shp" + "at_", HEX, 32), _itself),
    "age-secret-key": (_after("AGE-SECRET" + "-KEY-1", BASE32, 58), _itself),
    "vault-token": (_after("hv" + "s.", WIDE, 90), _itself),
    "airtable-token": (
        lambda pick: "pa" + f"t{_some(pick, ALNUM, 14)}.{_some(pick, HEX, 64)}",
        _itself,
    ),
    "atlassian-token": (_after("ATAT" + "T3", WIDE, 180), _itself),
    "azure-client-secret": (
        lambda pick: _some(pick, ALNUM, 3) + "8Q~" + _some(pick, WIDE, 34),
        _itself,
    ),
    "docker-token": (_after("dckr" + "_pat_", WIDE, 27), _itself),
    "doppler-token": (_after("dp" + ".pt.", ALNUM, 43), _itself),
    "figma-token": (_after("fig" + "d_", WIDE, 40), _itself),
    "fly-token": (_after("fm" + "2_", BASE64, 120), _itself),
    "grafana-token": (_after("gl" + "sa_", ALNUM, 41), _itself),
    "groq-key": (_after("gs" + "k_", ALNUM, 52), _itself),
    "linear-key": (_after("lin" + "_api_", ALNUM, 40), _itself),
    "mailchimp-key": (lambda pick: _some(pick, HEX, 32) + "-us" + "12", _itself),
    "newrelic-key": (_after("NR" + "AK-", BASE32, 27), _itself),
    "notion-token": (_after("nt" + "n_", ALNUM, 46), _itself),
    "perplexity-key": (_after("pp" + "lx-", ALNUM, 48), _itself),
    "planetscale-token": (_after("pscale" + "_tkn_", WIDE, 43), _itself),
    "postman-key": (
        lambda pick: "PM" + f"AK-{_some(pick, HEX, 24)}-{_some(pick, HEX, 34)}",
        _itself,
    ),
    "pulumi-token": (_after("pu" + "l-", HEX, 40), _itself),
    "replicate-token": (_after("r" + "8_", ALNUM, 37), _itself),
    "rubygems-key": (_after("ruby" + "gems_", HEX, 48), _itself),
    "sentry-token": (_after("sntr" + "ys_", BASE64, 120), _itself),
    "square-token": (_after("sq0" + "csp-", WIDE, 43), _itself),
    "supabase-token": (_after("sb" + "p_", HEX, 40), _itself),
    "tailscale-key": (_after("ts" + "key-auth-", ALNUM, 33), _itself),
    "terraform-token": (
        lambda pick: _some(pick, ALNUM, 14) + ".atlas" + f"v1.{_some(pick, WIDE, 67)}",
        _itself,
    ),
    "xai-key": (_after("x" + "ai-", ALNUM, 80), _itself),
    "password": (_password, lambda value: f'password = "{value}"'),
    "password-in-environment": (_password, lambda value: f"export DB_PASSWORD={value}"),
    "password-in-yaml": (_password, lambda value: f"db_password: {value}"),
    "api-key": (_after("", ALNUM, 24), lambda value: f"api_key='{value}'"),
    "secret": (_after("", HEX, 32), lambda value: f'"client_secret": "{value}"'),
    "token": (_after("", ALNUM, 32), lambda value: f"--token {value}"),
    "token-in-url": (_after("", ALNUM, 40), lambda value: f"https://{value}@git.example.org/x.git"),
    "curl": (_password, lambda value: f"curl -s -u deploy:{value} https://example.org/v1"),
    "registry-login": (
        _basic,
        lambda value: f'{{"auths": {{"r.example.org": {{"auth": "{value}"}}}}}}',
    ),
    "sql": (_password, lambda value: f"CREATE USER shop IDENTIFIED BY '{value}'"),
    "netrc": (_password, lambda value: f"machine example.org login shop password {value}"),
    "mysql": (_password, lambda value: f"mysql -h db.example.org -u shop -p{value} orders"),
    "putty-key": (
        lambda pick: "\n".join(_some(pick, BASE64, 64) for _ in range(4)),
        lambda value: (
            f"PuTTY-User-Key-File-3: ssh-rsa\nPrivate-Lines: 4\n{value}\nPrivate-MAC: 0a1b"
        ),
    ),
    "session": (
        _after("", ALNUM, 32),
        lambda value: f"Cookie: lang=en; session={value}; theme=dark",
    ),
    "tuple": (_password, lambda value: f'user, password = "deploy", "{value}"'),
    "tuple-of-three": (_password, lambda value: f"name, db_password, port = 'shop', '{value}', 1"),
    "triple-quoted": (_password, lambda value: f'password = """\n{value}\n"""'),
    "triple-quoted-continued": (_password, lambda value: f"PASSWORD = '''\\\n{value}'''"),
    "jwk": (_after("", WIDE, 43), lambda value: f'{{"kty": "EC", "d": "{value}", "use": "sig"}}'),
    "datadog-application-key": (_after("", HEX, 40), lambda value: f"dd-application-key: {value}"),
    "yaml-list": (_password, lambda value: f"passwords:\n  - other\n  - {value}\nport: 1"),
    "yaml-block-of-lines": (_password, lambda value: f"password: |\n  other\n  {value}\nport: 1"),
    "yaml-block": (_password, lambda value: f"password: |-\n  {value}\nport: 1"),
    **{kind: (make, _itself) for kind, make in MAKERS.items()},
    "teams-webhook": (teams_webhook, in_teams_address),
    "zapier-webhook": (
        _after("", LOWER, 7),
        lambda value: "https://hooks.zapier." + f"com/hooks/catch/1234567/{value}",
    ),
}
"""Each kind with how to make a value and how it usually stands in a text."""

CONTEXTS: tuple[Callable[[str], str], ...] = (
    _itself,
    lambda text: json.dumps({"level": "info", "note": text, "count": 3}),
    lambda text: json.dumps({"outer": json.dumps([text, 1.5, None])}),
    lambda text: f"def connect():\n    value = {text!r}\n    return open_session(value)\n",
    lambda text: (
        f"2026-01-31 12:00:01,123 INFO shop.orders: request failed: {text} (after 3 tries)"
    ),
    lambda text: f"https://api.example.org/v1/orders?limit=10&q={text}&page=2",
    lambda text: (
        "service:\n  image: shop:1.2\n  settings:\n    - " + text.replace("\n", "\n      ")
    ),
    lambda text: f"before\n{text}\nafter\n",
    lambda text: f"“größer” 🦀 {text} — 完了 ✅",
    lambda text: repr(f"before\n{text}\tafter\t{text}"),
    lambda text: f"\x1b[31m+{text}\x1b[0m\r\n\x00\ud800 end",
)
"""Bare, JSON, JSON in JSON, Python, a log line, a URL, YAML, lines, escapes, other scripts, odd bytes."""
