"""Rules for credentials that are recognized by their format, usually a prefix."""

from remora.trace.redact.format_checks import has_digit, is_not_a_name, outside_base64
from remora.trace.redact.heuristics import is_random_token
from remora.trace.redact.private_key import PEM, PEM_IN_BASE64, PUTTY
from remora.trace.redact.rule import ESCAPE, Rule, find_by_head

_W = "[A-Za-z0-9_-]"
_AN = "[A-Za-z0-9]"
_HEX = "[0-9a-f]"

BY_FORMAT: tuple[Rule, ...] = (
    PEM,
    PEM_IN_BASE64,
    PUTTY,
    Rule(
        "aws-access-key",
        "(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}",
        "A(?:KIA|SIA|BIA|CCA)[A-Z0-9]",
        find=find_by_head(outside_base64),
    ),
    Rule(
        "aws-secret-key",
        r"(?i)(?:secret[_-]?(?:access)?[_-]?key|aws[_-]?secret)[^\n]{0,24}?([A-Za-z0-9/+]{40})",
        "(?i)secret[_-]?(?:access)?[_-]?key|aws[_-]?secret",
        accept=is_random_token,
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
        accept=is_not_a_name,
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
    Rule("stripe-key", f"[sr]k_(?:live|test)_{_AN}{{16,}}", "[sr]k_(?:live|test)_"),
    Rule("stripe-key", "whsec_[A-Za-z0-9+/=]{24,}", "whsec_"),
    Rule("google-api-key", f"AIza{_W}{{35}}", "AIza", find=find_by_head(outside_base64)),
    Rule("google-oauth", rf"ya29\.{_W}{{20,}}", r"ya29\."),
    Rule("google-oauth", f"GOCSPX-{_W}{{20,}}", "GOCSPX-"),
    Rule("anthropic-key", f"sk-ant-{_W}{{20,}}", "sk-ant-"),
    Rule(
        "openai-key",
        f"(?:^|[^A-Za-z0-9]|{ESCAPE})(sk-(?:proj-|svcacct-|admin-|None-)?{_W}{{20,}})",
        "sk-",
        accept=is_random_token,
    ),
    Rule(
        "huggingface-token", f"(?:hf|api_org)_{_AN}{{30,}}", "(?:hf|api_org)_", accept=is_not_a_name
    ),
    Rule("npm-token", f"npm_{_AN}{{36,}}", "npm_"),
    Rule("pypi-token", f"pypi-{_W}{{50,}}", "pypi-"),
    Rule("sendgrid-key", rf"SG\.{_W}{{16,}}\.{_W}{{16,}}", r"SG\.", accept=is_not_a_name),
    Rule("twilio-key", f"SK{_HEX}{{32}}", "SK[0-9a-f]{4}"),
    Rule("mailgun-key", f"key-{_HEX}{{32}}", "key-[0-9a-f]{4}"),
    Rule("telegram-token", f"[0-9]{{8,10}}:AA{_W}{{32,}}", ":AA"),
    Rule(
        "discord-token",
        rf"[MNO]{_W}{{22,28}}\.{_W}{{6}}\.{_W}{{27,}}",
        rf"\.{_W}{{6}}\.{_W}{{9}}",
        accept=is_not_a_name,
    ),
    Rule("jwt", rf"eyJ{_W}{{8,}}\.{_W}{{8,}}(?:\.{_W}*)+", "eyJ"),
    Rule("digitalocean-token", f"do[opr]_v1_{_HEX}{{32,}}", "do[opr]_v1_"),
    Rule("databricks-token", f"dapi{_HEX}{{32}}(?:-[0-9])?", "dapi[0-9a-f]{4}"),
    Rule("shopify-token", "shp[a-z]{2}_[a-fA-F0-9]{32}", "shp[a-z]{2}_"),
    Rule("age-secret-key", "AGE-SECRET-KEY-1[A-Z0-9]{40,}", "AGE-SECRET-KEY-1"),
    Rule("vault-token", rf"hv[sbr]\.{_W}{{20,}}", r"hv[sbr]\.", accept=is_not_a_name),
    Rule("airtable-token", rf"pat{_AN}{{14}}\.{_HEX}{{64}}", rf"pat{_AN}{{14}}\."),
    Rule("atlassian-token", "ATATT3[A-Za-z0-9_=-]{60,}", "ATATT3"),
    Rule("azure-client-secret", r"[A-Za-z0-9_~.-]{3}[78]Q~[A-Za-z0-9_~.-]{31,34}", "[78]Q~"),
    Rule("docker-token", f"dckr_[a-z]at_{_W}{{20,}}", "dckr_[a-z]at_"),
    Rule(
        "doppler-token",
        r"dp\.[a-z]{2,5}\.[A-Za-z0-9.]{40,}",
        r"dp\.[a-z]{2,5}\.",
        accept=is_random_token,
    ),
    Rule("figma-token", f"figd_{_W}{{36,}}", "figd_"),
    Rule("fly-token", "fm[0-9][a-z]?_[A-Za-z0-9+/=,_-]{60,}", "fm[0-9][a-z]?_"),
    Rule("grafana-token", "gl(?:sa|c)_[A-Za-z0-9+/=_]{32,}", "gl(?:sa|c)_"),
    Rule("groq-key", f"gsk_{_AN}{{40,}}", "gsk_"),
    Rule("linear-key", f"lin_(?:api|oauth)_{_AN}{{32,}}", "lin_(?:api|oauth)_"),
    Rule("mailchimp-key", f"{_HEX}{{32}}-us[0-9]{{1,2}}", "[0-9a-f]{4}-us[0-9]"),
    Rule("newrelic-key", "NRAK-[A-Z0-9]{27}", "NRAK-"),
    Rule("notion-token", f"(?:ntn|secret)_{_AN}{{40,}}", "(?:ntn|secret)_", accept=is_not_a_name),
    Rule("perplexity-key", f"pplx-{_AN}{{40,}}", "pplx-"),
    Rule("planetscale-token", "pscale_[a-z]{2,5}_[A-Za-z0-9_.=-]{32,}", "pscale_"),
    Rule("postman-key", f"PMAK-{_HEX}{{24}}-{_HEX}{{34}}", "PMAK-"),
    Rule("pulumi-token", f"pul-{_HEX}{{40}}", "pul-[0-9a-f]{4}"),
    Rule("replicate-token", f"r8_{_AN}{{37}}", "r8_"),
    Rule("rubygems-key", f"rubygems_{_HEX}{{48}}", "rubygems_"),
    Rule("sentry-token", "sntry[su]_[A-Za-z0-9+/=_]{40,}", "sntry[su]_"),
    Rule("square-token", f"sq0[a-z]{{3}}-{_W}{{22,}}", "sq0[a-z]{3}-"),
    Rule("supabase-token", f"sb[ps]_{_HEX}{{40}}", "sb[ps]_[0-9a-f]{4}"),
    Rule("tailscale-key", "tskey-[a-z]{2,12}-[A-Za-z0-9-]{16,}", "tskey-"),
    Rule("terraform-token", rf"{_AN}{{14}}\.atlasv1\.[A-Za-z0-9_=-]{{60,}}", r"\.atlasv1\."),
    Rule("xai-key", f"xai-{_AN}{{60,}}", "xai-"),
)
"""Sorted by how common they are, then by name."""
