"""Arms as `--arm` names them."""

import pytest

from remora.errors import UsageError
from remora.evals.arms import parse_arm


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("rules", {"model.provider": "none"}),
        ("configured", {"runner.decisions": "model"}),
        ("configured,renderer=json", {"runner.decisions": "model", "model.renderer": "json"}),
        (
            "http://127.0.0.1:8080/v1,decoding=grammar,renderer=lines",
            {
                "model.provider": "openai",
                "model.base_url": "http://127.0.0.1:8080/v1",
                "runner.decisions": "model",
                "model.decoding": "grammar",
                "model.renderer": "lines",
            },
        ),
    ],
)
def test_an_arm_is_a_model_with_settings(text: str, settings: dict[str, str]) -> None:
    arm = parse_arm(text)
    assert (arm.name, arm.settings) == (text, settings)


@pytest.mark.parametrize(
    "text", ["", "rule", "127.0.0.1:8080", "rules,margin=1", "rules,decoding", "rules,decoding="]
)
def test_other_texts_are_refused_with_what_is_possible(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_arm(text)
    assert refused.value.hint.startswith("use ")
