"""Makers for the kinds of services in the rule table: a prefix in two halves, letters, a count."""

import random
import string
from collections.abc import Callable

DIGITS = string.digits
ALNUM = string.ascii_letters + DIGITS
WIDE = ALNUM + "_-"
HEX = "0123456789abcdef"
LOWER = string.ascii_lowercase + DIGITS
UPPER = string.ascii_uppercase + DIGITS
BASE64 = ALNUM + "+/"

Maker = Callable[[random.Random], str]


def some(pick: random.Random, letters: str, count: int) -> str:
    """Letters by chance, with one of each sort that the alphabet has among the first."""
    sorts = [part for part in (DIGITS, string.ascii_uppercase) if set(part) < set(letters)]
    first = [pick.choice(part) for part in sorts][:count]
    rest = pick.choices(letters, k=count - len(first))
    return "".join([*rest[:1], *first, *rest[1:]])


def shaped(*parts: str | tuple[str, int]) -> Maker:
    """Literal parts, and letters by chance with a count."""
    return lambda pick: "".join(
        part if isinstance(part, str) else some(pick, *part) for part in parts
    )


def _uuid(pick: random.Random) -> str:
    return "-".join(some(pick, HEX, count) for count in (8, 4, 4, 4, 12))


def after_uuid(*parts: str) -> Maker:
    return lambda pick: "".join(parts) + _uuid(pick)


MAKERS: dict[str, Maker] = {
    "adobe-secret": shaped("p8", "e-", (WIDE, 32)),
    "alibaba-key": shaped("LT", "AI", (ALNUM, 20)),
    "artifactory-token": shaped("AK", "Cp", (ALNUM, 69)),
    "artifactory-reference": shaped("cmVm", "dGtu", (ALNUM, 56)),
    "bitbucket-token": shaped("ATCT", "T3", (WIDE, 180)),
    "bitbucket-password": shaped("AT", "BB", (ALNUM, 32)),
    "aws-bedrock-key": shaped("AB", "SK", (BASE64, 120)),
    "aws-bedrock-short": shaped("bedrock-api", "-key-", (BASE64, 90)),
    "aws-mws": after_uuid("am", "zn.mws."),
    "aws-session-token": shaped("IQoJ", "b3JpZ2lu", (BASE64, 200)),
    "azure-storage": shaped((BASE64, 76), "+A", "St", (BASE64, 5), "Q=="),
    "azure-bus": shaped((BASE64, 33), "+A", "Sb", (BASE64, 5), "A="),
    "azure-search": shaped((ALNUM, 42), "Az", "SeA", (ALNUM, 5)),
    "azure-registry": shaped((ALNUM, 42), "+A", "CRB", (ALNUM, 5)),
    "azure-cache": shaped((ALNUM, 33), "Az", "CaC", (ALNUM, 5), "="),
    "azure-function": shaped((WIDE, 44), "Az", "Fu", (WIDE, 5), "g=="),
    "azure-annotated": shaped((ALNUM, 52), "JQ", "QJ99", (ALNUM, 26)),
    "azure-devops-token": shaped((ALNUM, 76), "AZ", "DO", (ALNUM, 4)),
    "azure-client-secret-1": shaped((ALNUM, 3), "1", "Q~", (ALNUM, 34)),
    "braintree-token": shaped("access_", "token$production$", (LOWER, 16), "$", (HEX, 32)),
    "brevo-key": shaped("xkey", "sib-", (HEX, 64), "-", (ALNUM, 16)),
    "buildkite-token": shaped("bk", "ua_", (LOWER, 40)),
    "cerebras-key": shaped("cs", "k-", (LOWER, 48)),
    "circleci-token": shaped("CCI", "PAT_", (ALNUM, 22), "_", (HEX, 40)),
    "clickhouse-key": shaped("4b", "1d", (ALNUM, 38)),
    "clojars-token": shaped("CLO", "JARS_", (LOWER, 60)),
    "cloudflare-user-token": shaped("cf", "ut_", (ALNUM, 48)),
    "cloudflare-account-token": shaped("cf", "at_", (ALNUM, 48)),
    "cloudflare-origin-key": shaped("v1.", "0-", (HEX, 24), "-", (HEX, 146)),
    "cloudflare-tunnel": shaped("eyJ", "hIjoi", (ALNUM, 150)),
    "cockroachdb-key": shaped("CC", "DB1_", (ALNUM, 22), "_", (ALNUM, 40)),
    "contentful-token": shaped("CF", "PAT-", (WIDE, 43)),
    "crates-token": shaped("ci", "o", (ALNUM, 32)),
    "cursor-key": shaped("cr", "sr_", (HEX, 64)),
    "databricks-secret": shaped("do", "se", (HEX, 32)),
    "dbt-token": shaped("db", "tu_", (ALNUM, 42)),
    "deepseek-key": shaped("s", "k-", (HEX, 32)),
    "digitalocean-key": shaped("DO", "00", (UPPER, 16)),
    "duffel-token": shaped("duffel", "_test_", (WIDE, 43)),
    "dynatrace-token": shaped("dt0", "c01.", (UPPER, 24), ".", (UPPER, 64)),
    "e2b-key": shaped("e2", "b_", (HEX, 40)),
    "easypost-key": shaped("EZ", "AK", (ALNUM, 54)),
    "elevenlabs-key": shaped("s", "k_", (HEX, 48)),
    "facebook-token": shaped("EA", "AC", (ALNUM, 180)),
    "facebook-app-token": shaped((DIGITS, 16), "|", (ALNUM, 27)),
    "firecrawl-key": shaped("f", "c-", (HEX, 32)),
    "fireworks-key": shaped("f", "w_", (ALNUM, 24)),
    "flutterwave-key": shaped("FLW", "SECK-", (HEX, 32), "-X"),
    "fly-first-token": shaped("fo", "1_", (WIDE, 43)),
    "frameio-token": shaped("fio", "-u-", (WIDE, 64)),
    "gitlab-runner": shaped("GR13", "48941", (WIDE, 20)),
    "gitlab-routable": shaped("gl", "pat-", (ALNUM, 30), ".", (LOWER, 2), (LOWER, 7)),
    "google-new-key": shaped("AQ", ".Ab", (WIDE, 48)),
    "google-hmac": shaped("GO", "OG1", (UPPER, 57)),
    "google-fcm": shaped("AA", "AA", (WIDE, 7), ":AP", "A91b", (WIDE, 134)),
    "google-refresh": shaped("1/", "/0", (WIDE, 60)),
    "grafana-key": shaped("eyJ", "rIjoi", (ALNUM, 80)),
    "harness-token": shaped("pa", "t.", (WIDE, 22), ".", (ALNUM, 24), ".", (ALNUM, 20)),
    "heroku-key": shaped("HR", "KU-AA", (WIDE, 58)),
    "honeycomb-key": shaped("hc", "aik_", (LOWER, 58)),
    "hubspot-token": after_uuid("pa", "t-na1-"),
    "infracost-key": shaped("ic", "o-", (ALNUM, 32)),
    "intercom-token": shaped("dG", "9rO", (BASE64, 60)),
    "jetbrains-token": shaped("pe", "rm:", (ALNUM, 16), ".", (ALNUM, 12), ".", (ALNUM, 30)),
    "jina-key": shaped("ji", "na_", (ALNUM, 60)),
    "klaviyo-key": shaped("p", "k_", (HEX, 34)),
    "eks-token": shaped("k8s-", "aws-v1.", (WIDE, 120)),
    "openshift-token": shaped("sha", "256~", (WIDE, 43)),
    "rancher-token": shaped("tok", "en-", (LOWER, 5), ":", (LOWER, 54)),
    "langfuse-key": after_uuid("s", "k-lf-"),
    "langsmith-key": shaped("ls", "v2_pt_", (HEX, 32), "_", (HEX, 10)),
    "launchdarkly-key": after_uuid("sd", "k-"),
    "linear-webhook": shaped("lin", "_wh_", (ALNUM, 40)),
    "mailersend-key": shaped("ml", "sn.", (HEX, 64)),
    "mailgun-new-key": shaped((HEX, 32), "-", (HEX, 8), "-", (HEX, 8)),
    "mandrill-key": shaped("m", "d-", (ALNUM, 22)),
    "mapbox-token": shaped("sk.", "eyJ", (ALNUM, 60), ".", (WIDE, 22)),
    "matrix-token": shaped("sy", "t_", (ALNUM, 12), "_", (ALNUM, 20), "_", (ALNUM, 6)),
    "maxmind-key": shaped((ALNUM, 6), "_", (ALNUM, 29), "_m", "mk"),
    "mongodb-key": shaped("mdb", "_sa_sk_", (WIDE, 40)),
    "neon-key": shaped("na", "pi_", (LOWER, 64)),
    "neon-password": shaped("np", "g_", (ALNUM, 12)),
    "netlify-token": shaped("nf", "p_", (ALNUM, 40)),
    "newrelic-insert-key": shaped("NR", "II-", (WIDE, 32)),
    "newrelic-license": shaped((HEX, 36), "NR", "AL"),
    "nuget-key": shaped("oy", "2", (LOWER, 43)),
    "nvidia-key": shaped("nv", "api-", (WIDE, 64)),
    "octopus-key": shaped("AP", "I-", (UPPER, 26)),
    "onepassword-key": shaped(
        "A", "3-", (UPPER, 6), "-", (UPPER, 11), "-", (UPPER, 5), "-", (UPPER, 5), "-", (UPPER, 5)
    ),
    "onepassword-token": shaped("op", "s_eyJ", (ALNUM, 260)),
    "openrouter-key": shaped("s", "k-or-v1-", (HEX, 64)),
    "pinecone-key": shaped("pc", "sk_", (ALNUM, 70)),
    "plaid-token": after_uuid("acc", "ess-sandbox-"),
    "posthog-key": shaped("ph", "x_", (ALNUM, 43)),
    "prefect-key": shaped("pn", "u_", (ALNUM, 36)),
    "readme-key": shaped("rd", "me_", (LOWER, 70)),
    "render-key": shaped("rn", "d_", (ALNUM, 28)),
    "resend-key": shaped("r", "e_", (ALNUM, 8), "_", (ALNUM, 24)),
    "salesforce-token": shaped("00", "D", (ALNUM, 15), "!", (ALNUM, 96)),
    "scalingo-token": shaped("tk", "-us-", (WIDE, 48)),
    "sentry-app-token": shaped("sntr", "ya_", (HEX, 64)),
    "settlemint-token": shaped("sm", "_pat_", (ALNUM, 16)),
    "shippo-key": shaped("ship", "po_live_", (HEX, 40)),
    "shopify-theme-token": shaped("shp", "tka_", (HEX, 32)),
    "snyk-token": shaped("sn", "yk_uat.", (HEX, 8), ".", (ALNUM, 60)),
    "sonar-token": shaped("sq", "p_", (HEX, 40)),
    "sourcegraph-token": shaped("sg", "p_", (HEX, 16), "_", (HEX, 40)),
    "square-access-token": shaped("EA", "AA", (WIDE, 60)),
    "stripe-prod-key": shaped("sk", "_prod_", (ALNUM, 24)),
    "supabase-secret": shaped("sb", "_secret_", (WIDE, 31)),
    "tavily-key": shaped("tv", "ly-dev-", (ALNUM, 32)),
    "tencent-key": shaped("AK", "ID", (ALNUM, 32)),
    "together-key": shaped("tg", "p_v1_", (WIDE, 43)),
    "trello-token": shaped("AT", "TA", (HEX, 72)),
    "twitter-token": shaped("A" * 11, "A" * 10, (ALNUM, 80)),
    "typeform-token": shaped("tf", "p_", (ALNUM, 44)),
    "vault-old-token": shaped("s", ".", (ALNUM, 24)),
    "vercel-token": shaped("vc", "p_", (ALNUM, 56)),
    "vercel-blob": shaped("vercel", "_blob_rw_", (ALNUM, 16), "_", (ALNUM, 32)),
    "voyage-key": shaped("p", "a-", (ALNUM, 43)),
    "wandb-key": shaped("wan", "db_v1_", (ALNUM, 80)),
    "yandex-key": shaped("AQ", "VN", (WIDE, 36)),
    "apify-token": shaped("apify", "_api_", (ALNUM, 36)),
    "axiom-token": after_uuid("xa", "at-"),
    "browserbase-key": shaped("bb", "_live_", (WIDE, 27)),
    "context7-key": after_uuid("ctx", "7sk-"),
    "daytona-key": shaped("dt", "n_", (HEX, 64)),
    "deno-token": shaped("dd", "p_", (ALNUM, 36)),
    "github-app-token": shaped("gh", "s_123456_", "ey", "J", (WIDE, 40), ".", (WIDE, 90)),
    "inngest-key": shaped("sign", "key-prod-", (HEX, 64)),
    "kaggle-token": shaped("KG", "AT_", (HEX, 32)),
    "logfire-token": shaped("py", "lf_v1_us_", (ALNUM, 43)),
    "paddle-key": shaped("pd", "l_live_apikey_", (LOWER, 26), "_", (ALNUM, 22), "_", (ALNUM, 3)),
    "polar-token": shaped("pol", "ar_oat_", (ALNUM, 43)),
    "runpod-key": shaped("rp", "a_", (ALNUM, 46)),
    "supabase-new-token": shaped("sb", "p_v0_", (HEX, 40)),
    "doppler-service-token": shaped("dp", ".st.prd_eu.", (ALNUM, 43)),
}
"""By kind; each stands for itself in a text."""


def teams_webhook(pick: random.Random) -> str:
    """The part of the address that is secret."""
    return f"{some(pick, HEX, 32)}/{_uuid(pick)}"


def in_teams_address(value: str) -> str:
    """An address of which `value` is the secret part."""
    name = "0" * 8 + "-0000" * 3 + "-" + "0" * 12
    return f"https://shop.webhook.office.com/webhookb2/{name}@{name}/IncomingWebhook/{value}"
