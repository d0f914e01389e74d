"""Arms as `--arm` names them."""

from typing import Any

import pytest

from remora.errors import UsageError
from remora.evals.arms import OPTIONS, parse_arm

SERVER = "http://127.0.0.1:8080/v1"
MODEL = {"runner.decisions": "model"}


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("rules", {"model.provider": "none"}),
        ("configured", MODEL),
        ("configured,renderer=json", {**MODEL, "model.renderer": "json"}),
        ("configured,memory=raw", {**MODEL, "runner.memory.mode": "raw"}),
        (
            f"{SERVER},decoding=grammar,limit=600",
            {
                "model.provider": "openai",
                "model.base_url": SERVER,
                **MODEL,
                "model.decoding": "grammar",
                "runner.memory.packet_size_limit": 600,
            },
        ),
    ],
)
def test_an_arm_is_a_model_with_settings(text: str, settings: dict[str, Any]) -> None:
    arm = parse_arm(text)
    assert (arm.name, arm.settings) == (text, settings)


@pytest.mark.parametrize(
    "text",
    [
        *("", "rule", "127.0.0.1:8080", "rules,margin=1", "rules,decoding", "rules,decoding="),
        *("rules,memory=all", "rules,limit=x", "rules,limit=-1"),
    ],
)
def test_other_texts_are_refused_with_what_is_possible(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_arm(text)
    assert refused.value.hint.startswith("use ")
    assert not refused.value.hint.startswith("use decoding") or all(
        name in refused.value.hint for name in OPTIONS
    )
