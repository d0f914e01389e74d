"""Rules for credentials that are recognized by their format, usually a prefix.

The sources are the gitleaks rules, GitHub's supported patterns, Microsoft's identifiable keys, and
the documentation of the providers. Credentials without a recognizable format, such as an API key of
32 hexadecimal digits, are found by the name that they are assigned to.
"""

from remora.trace.redact.heuristics import (
    has_digit,
    has_mixed_characters,
    is_not_a_name,
    is_random_token,
)
from remora.trace.redact.private_key import PEM, PEM_IN_BASE64, PUTTY
from remora.trace.redact.rule import ESCAPE, Rule, find_by_head, outside_base64

_W = "[A-Za-z0-9_-]"
_AN = "[A-Za-z0-9]"
_HEX = "[0-9a-f]"
_UUID = f"{_HEX}{{8}}(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}}"
_START = f"(?:^|[^A-Za-z0-9_]|{ESCAPE})"
_END = "(?:[^A-Za-z0-9_]|$)"


def _has_mixed_characters(value: bytes) -> bool:
    return has_mixed_characters(value.decode("latin-1"))


_ALONE = find_by_head(outside_base64)

BY_FORMAT: tuple[Rule, ...] = (
    PEM,
    PEM_IN_BASE64,
    PUTTY,
    Rule(
        "aws-access-key",
        "(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}",
        "A(?:KIA|SIA|BIA|CCA)[A-Z0-9]",
        find=_ALONE,
    ),
    Rule(
        "aws-secret-key",
        r"(?i)(?:secret[_-]?(?:access)?[_-]?key|aws[_-]?secret)[^\n]{0,24}?([A-Za-z0-9/+]{40})",
        "(?i)secret[_-]?(?:access)?[_-]?key|aws[_-]?secret",
        is_random_token,
    ),
    Rule(
        "aws-secret-key",
        r"A(?:KIA|SIA)[A-Z0-9]{16}[\s,:;|\"'\\]{1,8}([A-Za-z0-9/+]{40})",
        "A(?:KIA|SIA)",
    ),
    Rule("github-token", f"gh[pousr]_{_AN}{{36,}}", "gh[pousr]_"),
    Rule("github-token", "github_pat_[A-Za-z0-9_]{22,}", "github_pat_"),
    Rule(
        "gitlab-token",
        rf"gl[a-z]{{2,5}}-{_W}{{20,}}(?:\.[0-9a-z]{{2,20}}){{0,2}}",
        "gl[a-z]{2,5}-",
        is_not_a_name,
    ),
    Rule(
        "slack-token", "xox[abceoprs](?:\\.xox[a-z])?-[A-Za-z0-9-]{10,}", "xox[abceoprs]", has_digit
    ),
    Rule("slack-token", "xapp-[0-9]-[A-Za-z0-9-]{20,}", "xapp-"),
    Rule(
        "slack-webhook",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9+/_-]{20,})",
        "hooks.slack.com",
    ),
    Rule("discord-webhook", rf"/api/webhooks/[0-9]+/({_W}{{40,}})", "/api/webhooks/"),
    Rule("stripe-key", f"[sr]k_(?:live|test|prod)_{_AN}{{16,}}", "[sr]k_(?:live|test|prod)_"),
    Rule("stripe-key", "whsec_[A-Za-z0-9+/=]{24,}", "whsec_"),
    Rule("google-api-key", f"AIza{_W}{{35}}", "AIza", find=_ALONE),
    Rule("google-oauth", rf"ya29\.{_W}{{20,}}", r"ya29\."),
    Rule("google-oauth", f"GOCSPX-{_W}{{20,}}", "GOCSPX-"),
    Rule("anthropic-key", f"sk-ant-{_W}{{20,}}", "sk-ant-"),
    Rule(
        "openai-key",
        f"(?:^|[^A-Za-z0-9]|{ESCAPE})(sk-(?:proj-|svcacct-|admin-|None-)?{_W}{{20,}})",
        "sk-",
        is_random_token,
    ),
    Rule("huggingface-token", f"(?:hf|api_org)_{_AN}{{30,}}", "(?:hf|api_org)_", is_not_a_name),
    Rule("npm-token", f"npm_{_AN}{{36,}}", "npm_"),
    Rule("pypi-token", f"pypi-{_W}{{50,}}", "pypi-"),
    Rule("sendgrid-key", rf"SG\.{_W}{{16,}}\.{_W}{{16,}}", r"SG\.", is_not_a_name),
    Rule("twilio-key", f"SK{_HEX}{{32}}", "SK[0-9a-f]{4}"),
    Rule("mailgun-key", f"key-{_HEX}{{32}}", "key-[0-9a-f]{4}"),
    Rule("telegram-token", f"[0-9]{{8,10}}:AA{_W}{{32,}}", ":AA"),
    Rule(
        "discord-token",
        rf"[MNO]{_W}{{22,28}}\.{_W}{{6}}\.{_W}{{27,}}",
        rf"\.{_W}{{6}}\.{_W}{{9}}",
        is_not_a_name,
    ),
    Rule("jwt", rf"eyJ{_W}{{8,}}\.{_W}{{8,}}(?:\.{_W}*)+", "eyJ"),
    Rule("digitalocean-token", f"do[opr]_v1_{_HEX}{{32,}}", "do[opr]_v1_"),
    Rule("databricks-token", f"dapi{_HEX}{{32}}(?:-[0-9])?", "dapi[0-9a-f]{4}"),
    Rule("shopify-token", "shp[a-z]{2,4}_[a-fA-F0-9]{32}", "shp[a-z]{2,4}_"),
    Rule("age-secret-key", "AGE-SECRET-KEY-1[A-Z0-9]{40,}", "AGE-SECRET-KEY-1"),
    Rule("vault-token", rf"hv[sbr]\.{_W}{{20,}}", r"hv[sbr]\.", is_not_a_name),
    Rule("airtable-token", rf"pat{_AN}{{14}}\.{_HEX}{{64}}", rf"pat{_AN}{{14}}\."),
    Rule("atlassian-token", "AT[AC]TT3[A-Za-z0-9_=-]{60,}", "AT[AC]TT3"),
    Rule("azure-client-secret", r"[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}", "[0-9]Q~"),
    Rule("docker-token", f"dckr_[a-z]at_{_W}{{20,}}", "dckr_[a-z]at_"),
    Rule(
        "doppler-token", r"dp\.[a-z]{2,5}\.[A-Za-z0-9.]{40,}", r"dp\.[a-z]{2,5}\.", is_random_token
    ),
    Rule("figma-token", f"figd_{_W}{{36,}}", "figd_"),
    Rule("fly-token", "fm[0-9][a-z]?_[A-Za-z0-9+/=,_-]{60,}", "fm[0-9][a-z]?_"),
    Rule("grafana-token", "gl(?:sa|c)_[A-Za-z0-9+/=_]{32,}", "gl(?:sa|c)_"),
    Rule("groq-key", f"gsk_{_AN}{{40,}}", "gsk_"),
    Rule("linear-key", f"lin_(?:api|oauth|wh)_{_AN}{{32,}}", "lin_(?:api|oauth|wh)_"),
    Rule("mailchimp-key", f"{_HEX}{{32}}-us[0-9]{{1,2}}", "[0-9a-f]{4}-us[0-9]"),
    Rule("newrelic-key", "NRAK-[A-Z0-9]{27}", "NRAK-"),
    Rule("notion-token", f"(?:ntn|secret)_{_AN}{{40,}}", "(?:ntn|secret)_", is_not_a_name),
    Rule("perplexity-key", f"pplx-{_AN}{{40,}}", "pplx-"),
    Rule("planetscale-token", "pscale_[a-z]{2,5}_[A-Za-z0-9_.=-]{32,}", "pscale_"),
    Rule("postman-key", f"PMAK-{_HEX}{{24}}-{_HEX}{{34}}", "PMAK-"),
    Rule("pulumi-token", f"pul-{_HEX}{{40}}", "pul-[0-9a-f]{4}"),
    Rule("replicate-token", f"r8_{_AN}{{37}}", "r8_"),
    Rule("rubygems-key", f"rubygems_{_HEX}{{48}}", "rubygems_"),
    Rule("sentry-token", "sntry[aisu]_[A-Za-z0-9+/=_]{40,}", "sntry[aisu]_"),
    Rule("square-token", f"sq0[a-z]{{3}}-{_W}{{22,}}", "sq0[a-z]{3}-"),
    Rule("supabase-token", f"sb[ps]_{_HEX}{{40}}", "sb[ps]_[0-9a-f]{4}"),
    Rule("tailscale-key", "tskey-[a-z]{2,12}-[A-Za-z0-9-]{16,}", "tskey-"),
    Rule("terraform-token", rf"{_AN}{{14}}\.atlasv1\.[A-Za-z0-9_=-]{{60,}}", r"\.atlasv1\."),
    Rule("xai-key", f"xai-{_AN}{{60,}}", "xai-"),
    Rule("adobe-secret", f"p8e-{_W}{{32}}", "p8e-", is_random_token),
    Rule("alibaba-key", f"LTAI{_AN}{{12,24}}", f"LTAI{_AN}{{4}}", find=_ALONE),
    Rule("artifactory-token", f"AKCp{_AN}{{60,}}", "AKCp", find=_ALONE),
    Rule("artifactory-token", f"cmVmdGtu{_AN}{{40,}}", "cmVmdGtu", find=_ALONE),
    Rule("atlassian-token", f"ATBB{_AN}{{28,}}", "ATBB", find=_ALONE),
    Rule("aws-bedrock-key", "ABSK[A-Za-z0-9+/]{100,}={0,2}", "ABSK", is_random_token),
    Rule("aws-bedrock-key", "bedrock-api-key-[A-Za-z0-9+/=_-]{40,}", "bedrock-api-key-"),
    Rule("aws-secret-key", rf"amzn\.mws\.{_UUID}", r"amzn\.mws\."),
    Rule(
        "aws-session-token",
        "(?:IQoJb3JpZ2lu|FwoGZXIvYXdz)[A-Za-z0-9+/\x01]{60,}={0,2}",
        "IQoJb3JpZ2lu|FwoGZXIvYXdz",
    ),
    Rule(
        "azure-key",
        r"[A-Za-z0-9+/]{33,76}(?:\+ASt|ACDb|\+ABa|\+AMC|APIM|\+ASb|\+AEh|AIoT)"
        "[A-Za-z0-9+/]{5}[AQgw]={1,2}",
        r"(?:\+ASt|ACDb|\+ABa|\+AMC|APIM|\+ASb|\+AEh|AIoT)[A-Za-z0-9+/]{5}[AQgw]=",
        find=_ALONE,
    ),
    Rule(
        "azure-key",
        rf"{_AN}{{33,42}}(?:AzSe[A-D]{_AN}{{5}}|\+ACR[A-D]{_AN}{{5}}|AzCa[A-P]{_AN}{{5}}=)",
        "AzSe[A-D]|[+]ACR[A-D]|AzCa[A-P]",
        find=_ALONE,
    ),
    Rule("azure-key", f"{_W}{{44}}AzFu{_W}{{5}}[AQgw]==", "AzFu"),
    Rule("azure-key", f"{_AN}{{52}}JQQJ9[9DH]{_AN}{{20,}}={{0,2}}", "JQQJ9[9DH]"),
    Rule("azure-devops-token", f"{_AN}{{76}}AZDO{_AN}{{4}}", "AZDO", find=_ALONE),
    Rule(
        "braintree-token",
        rf"access_token\$(?:production|sandbox)\$[0-9a-z]{{16}}\${_HEX}{{32}}",
        r"access_token\$",
    ),
    Rule("brevo-key", f"x(?:keysib|smtpsib)-{_HEX}{{64}}-{_AN}{{16}}", "x(?:keysib|smtpsib)-"),
    Rule("buildkite-token", "bk[a-z]{2}_[0-9a-z]{36,}", "bk[a-z]{2}_[0-9a-z]{8}", has_digit),
    Rule("cerebras-key", "csk-[0-9a-z]{40,}", "csk-", has_digit),
    Rule("circleci-token", f"CCI(?:PAT|PRJ)_{_AN}{{16,}}_{_HEX}{{40}}", "CCI(?:PAT|PRJ)_"),
    Rule(
        "clickhouse-key",
        f"{_START}(4b1d{_AN}{{38}}){_END}",
        f"4b1d{_AN}{{8}}",
        _has_mixed_characters,
    ),
    Rule("clojars-token", "CLOJARS_[A-Za-z0-9]{60}", "CLOJARS_"),
    Rule("cloudflare-token", f"cf(?:k|ut|at)_{_W}{{40,}}", "cf(?:k|ut|at)_", is_not_a_name),
    Rule("cloudflare-token", rf"v1\.0-{_HEX}{{24}}-{_HEX}{{100,}}", rf"v1\.0-{_HEX}{{8}}"),
    Rule("cloudflare-token", "eyJhIjoi[A-Za-z0-9+/_-]{100,}={0,2}", "eyJhIjoi"),
    Rule("cockroachdb-key", f"CCDB1_{_AN}{{16,}}_{_AN}{{30,}}", "CCDB1_"),
    Rule("contentful-token", f"CFPAT-{_W}{{40,}}", "CFPAT-"),
    Rule(
        "crates-token", f"{_START}(cio{_AN}{{32}}){_END}", f"cio{_AN}{{32}}", _has_mixed_characters
    ),
    Rule("cursor-key", f"crsr_{_HEX}{{40,}}", "crsr_"),
    Rule("databricks-token", f"dose{_HEX}{{32}}", f"dose{_HEX}{{8}}"),
    Rule("dbt-token", f"dbt[uc]_{_W}{{36,}}", "dbt[uc]_", is_not_a_name),
    Rule("deepseek-key", f"{_START}(sk-{_HEX}{{32,64}}){_END}", f"sk-{_HEX}{{8}}", has_digit),
    Rule(
        "digitalocean-key",
        f"{_START}(DO(?:00|801)[A-Z0-9]{{15,17}}){_END}",
        "DO(?:00|801)[A-Z0-9]{8}",
    ),
    Rule("duffel-token", "duffel_(?:test|live)_[A-Za-z0-9_=-]{40,}", "duffel_"),
    Rule("dynatrace-token", r"dt0[a-z][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}", r"dt0[a-z][0-9]{2}\."),
    Rule("e2b-key", f"e2b_{_HEX}{{40}}", "e2b_"),
    Rule("easypost-key", f"EZ[AT]K{_AN}{{54}}", "EZ[AT]K", find=_ALONE),
    Rule("elevenlabs-key", f"{_START}(sk_{_HEX}{{48}}){_END}", f"sk_{_HEX}{{8}}"),
    Rule("facebook-token", f"{_START}(EAA{_AN}{{90,}})", f"EAA{_AN}{{20}}", _has_mixed_characters),
    Rule(
        "facebook-token",
        rf"[0-9]{{15,16}}\|{_W}{{27,40}}",
        rf"[0-9]{{8}}\|{_W}{{9}}",
        _has_mixed_characters,
    ),
    Rule("firecrawl-key", f"{_START}(fc-{_HEX}{{32}}){_END}", f"fc-{_HEX}{{8}}"),
    Rule("fireworks-key", f"{_START}(fw_{_AN}{{22,}})", f"fw_{_AN}{{22}}", _has_mixed_characters),
    Rule("flutterwave-key", f"FLWSECK(?:_TEST)?-{_AN}{{12,}}(?:-X)?", "FLWSECK"),
    Rule("fly-token", f"fo1_{_W}{{40,}}", "fo1_"),
    Rule("frameio-token", "fio-u-[A-Za-z0-9_=-]{60,}", "fio-u-"),
    Rule("gitlab-token", f"GR1348941{_W}{{20,}}", "GR1348941"),
    Rule("google-api-key", rf"AQ\.Ab{_W}{{40,}}", r"AQ\.Ab"),
    Rule(
        "google-api-key", f"{_START}(GOOG1?[A-Z0-9]{{20,60}}){_END}", "GOOG[A-Z0-9]{8}", has_digit
    ),
    Rule("google-api-key", f"AAAA{_W}{{7}}:APA91b{_W}{{100,}}", ":APA91b"),
    Rule("google-oauth", f"1//0{_W}{{40,}}", "1//0[A-Za-z0-9_-]{8}", is_random_token),
    Rule("grafana-token", "eyJrIjoi[A-Za-z0-9+/]{40,}={0,3}", "eyJrIjoi"),
    Rule(
        "harness-token", rf"[ps]at\.{_W}{{22}}\.{_AN}{{24}}\.{_AN}{{20}}", rf"[ps]at\.{_W}{{22}}\."
    ),
    Rule("heroku-key", f"HRKU-{_W}{{36,}}", "HRKU-"),
    Rule("honeycomb-key", "hc[a-z][im]k_[0-9A-Za-z]{40,}", "hc[a-z][im]k_"),
    Rule("hubspot-token", f"pat-(?:na|eu|ap)[0-9]?-{_UUID}", "pat-(?:na|eu|ap)[0-9]?-"),
    Rule("infracost-key", f"{_START}(ico-{_AN}{{32}}){_END}", "ico-", _has_mixed_characters),
    Rule("intercom-token", "dG9rO[A-Za-z0-9+/]{50,}={0,2}", "dG9rO", find=_ALONE),
    Rule(
        "jetbrains-token",
        rf"perm[:-][A-Za-z0-9+/=]{{4,80}}\.[A-Za-z0-9+/=]{{2,80}}\.{_AN}{{20,}}",
        r"perm[:-][A-Za-z0-9+/=]{4,80}\.",
    ),
    Rule("jina-key", f"jina_{_AN}{{40,}}", "jina_", is_not_a_name),
    Rule("klaviyo-key", f"{_START}(pk_{_HEX}{{34}}){_END}", f"pk_{_HEX}{{8}}", has_digit),
    Rule("kubernetes-token", rf"k8s-aws-v1\.{_W}{{40,}}", r"k8s-aws-v1\."),
    Rule("kubernetes-token", f"sha256~{_W}{{43}}", "sha256~"),
    Rule("kubernetes-token", "token-[0-9a-z]{5}:[0-9a-z]{54}", "token-[0-9a-z]{5}:[0-9a-z]{8}"),
    Rule("langfuse-key", f"sk-lf-{_UUID}", "sk-lf-"),
    Rule("langsmith-key", f"lsv2_(?:pt|sk)_{_HEX}{{32}}_{_HEX}{{8,}}", "lsv2_"),
    Rule("launchdarkly-key", f"{_START}((?:api|sdk)-{_UUID}){_END}", f"(?:api|sdk)-{_HEX}{{8}}-"),
    Rule("mailersend-key", rf"mlsn\.{_HEX}{{64}}", r"mlsn\."),
    Rule(
        "mailgun-key",
        f"{_START}({_HEX}{{32}}-{_HEX}{{8}}-{_HEX}{{8}}){_END}",
        f"{_HEX}{{8}}-{_HEX}{{8}}-{_HEX}{{8}}",
    ),
    Rule("mandrill-key", f"{_START}(md-{_W}{{22}}){_END}", f"md-{_W}{{22}}", _has_mixed_characters),
    Rule("mapbox-token", rf"sk\.eyJ{_W}{{20,}}\.{_W}{{20,}}", r"sk\.eyJ"),
    Rule("matrix-token", f"syt_{_AN}+_{_AN}{{20}}_{_AN}{{6}}", "syt_"),
    Rule("maxmind-key", f"{_AN}{{6}}_{_AN}{{29}}_mmk", "_mmk"),
    Rule("mongodb-key", f"mdb_sa_sk_{_W}{{30,}}", "mdb_sa_sk_"),
    Rule("neon-key", "napi_[0-9a-z]{40,}", "napi_", has_digit),
    Rule(
        "neon-key", f"{_START}(npg_{_AN}{{12,}}){_END}", f"npg_{_AN}{{12}}", _has_mixed_characters
    ),
    Rule("netlify-token", f"nf[a-z]_{_AN}{{36,}}", f"nf[a-z]_{_AN}{{8}}", is_not_a_name),
    Rule("newrelic-key", f"NR(?:II|IQ|RA|AA)-{_W}{{20,}}", "NR(?:II|IQ|RA|AA)-"),
    Rule("newrelic-key", f"{_HEX}{{32,36}}NRAL", "[0-9a-f]{8}NRAL"),
    Rule("nuget-key", f"{_START}(oy2[0-9a-z]{{43}}){_END}", "oy2[0-9a-z]{8}", has_digit),
    Rule("nvidia-key", f"nvapi-{_W}{{40,}}", "nvapi-"),
    Rule("octopus-key", f"{_START}(API-[A-Z0-9]{{26}}){_END}", "API-[A-Z0-9]{8}", has_digit),
    Rule(
        "onepassword-token",
        "A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}",
        "A3-[A-Z0-9]{6}-",
    ),
    Rule("onepassword-token", "ops_eyJ[A-Za-z0-9+/_-]{60,}={0,3}", "ops_eyJ"),
    Rule("openrouter-key", f"sk-or-v1-{_HEX}{{40,}}", "sk-or-v1-"),
    Rule("pinecone-key", "pcsk_[A-Za-z0-9_]{40,}", "pcsk_", is_not_a_name),
    Rule("plaid-token", f"access-(?:sandbox|development|production)-{_UUID}", "access-[sdp]"),
    Rule("posthog-key", f"phx_{_W}{{36,}}", "phx_", is_not_a_name),
    Rule("prefect-key", f"pn[ub]_{_AN}{{36}}", "pn[ub]_", is_not_a_name),
    Rule("readme-key", "rdme_[0-9a-z]{60,}", "rdme_"),
    Rule("render-key", f"{_START}(rnd_{_AN}{{24,}})", f"rnd_{_AN}{{24}}", _has_mixed_characters),
    Rule(
        "resend-key",
        f"{_START}(re_{_AN}{{6,10}}_{_AN}{{20,}})",
        f"re_{_AN}{{6,10}}_{_AN}{{20}}",
        _has_mixed_characters,
    ),
    Rule("salesforce-token", f"00D{_AN}{{12,15}}![A-Za-z0-9._]{{60,}}", f"00D{_AN}{{12,15}}!"),
    Rule(
        "scalingo-token", f"tk-[a-z]{{2}}-{_W}{{48}}", f"tk-[a-z]{{2}}-{_W}{{8}}", is_random_token
    ),
    Rule("settlemint-token", f"sm_[aps]at_{_AN}{{16,}}", "sm_[aps]at_", is_not_a_name),
    Rule("shippo-key", "shippo_(?:live|test)_[0-9a-fA-F]{40}", "shippo_"),
    Rule("snyk-token", rf"snyk_[a-z]{{2,4}}\.{_HEX}{{8}}\.[A-Za-z0-9_.-]{{40,}}", "snyk_"),
    Rule("sonar-token", f"sq[pua]_{_HEX}{{40}}", "sq[pua]_"),
    Rule("sourcegraph-token", f"sgp_(?:{_AN}{{5,16}}_)?{_HEX}{{40}}", "sgp_"),
    Rule(
        "square-token", f"{_START}(EAAA{_W}{{60}}){_END}", f"EAAA{_W}{{8}}", _has_mixed_characters
    ),
    Rule("supabase-token", f"sb_secret_{_W}{{20,}}", "sb_secret_", is_not_a_name),
    Rule("tavily-key", f"tvly-(?:dev-|prod-)?{_W}{{20,}}", "tvly-", is_not_a_name),
    Rule(
        "teams-webhook",
        rf"webhook\.office\.com/webhookb2/{_UUID}@{_UUID}/IncomingWebhook/([0-9a-fA-F]{{32}}/{_UUID})",
        r"webhook\.office\.com/webhookb2/",
    ),
    Rule("tencent-key", f"AKID{_AN}{{28,36}}", f"AKID{_AN}{{8}}", find=_ALONE),
    Rule("together-key", f"tgp_v1_{_W}{{36,}}", "tgp_v1_"),
    Rule("trello-token", f"ATTA{_HEX}{{64,}}", f"ATTA{_HEX}{{8}}"),
    Rule("twitter-token", "A{21,22}[A-Za-z0-9%]{60,}", "A{21}", is_random_token),
    Rule("typeform-token", r"tfp_[A-Za-z0-9_.-]{40,}", "tfp_", is_not_a_name),
    Rule(
        "vault-token", rf"{_START}(s\.{_AN}{{24}}){_END}", rf"s\.{_AN}{{24}}", _has_mixed_characters
    ),
    Rule("vercel-token", f"{_START}(vc[a-z]_{_AN}{{24,}})", f"vc[a-z]_{_AN}{{8}}", is_not_a_name),
    Rule("vercel-token", f"vercel_blob_rw_{_AN}{{8,}}_{_AN}{{20,}}", "vercel_blob_rw_"),
    Rule("voyage-key", f"{_START}(pa-{_W}{{43}}){_END}", f"pa-{_W}{{43}}", _has_mixed_characters),
    Rule("wandb-key", "wandb_v1_[A-Za-z0-9_]{40,}", "wandb_v1_"),
    Rule("yandex-key", f"AQVN{_W}{{35,38}}", f"AQVN{_W}{{8}}", find=_ALONE),
    Rule(
        "zapier-webhook", r"hooks\.zapier\.com/hooks/catch/[0-9]+/([A-Za-z0-9]{5,})", "hooks.zapier"
    ),
)
"""More common ones first. The order of rows is the order in which rules are tried."""
