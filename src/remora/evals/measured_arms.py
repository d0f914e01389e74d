"""The figures of an evaluation that are kept for the project: each model compared with rules."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from remora.config.schema import Config
from remora.evals.arms import Arm
from remora.evals.scores import Estimate, counts_of, differences
from remora.evals.slot_results import ArmResult, RestoreReport
from remora.models.protocol import NAME
from remora.runs.records.measured_models import MeasuredModel, ModelUse

_RESTORED = "restored"


def measured_models(
    report: RestoreReport, arms: Sequence[Arm], config: Config, date: str
) -> Iterator[MeasuredModel]:
    """Yield the figures of each arm in which a model was used."""
    settings = {arm.name: arm.settings for arm in arms}
    for operation in report.operations:
        rules = next((arm for arm in operation.arms if _is_rules(settings[arm.name], arm)), None)
        for arm in operation.arms:
            if arm.model in (None, NAME) or not arm.results:
                continue
            own, counts = settings[arm.name], counts_of(arm.results)
            gain = _gain(rules, arm, report.seed)
            yield MeasuredModel(
                use=ModelUse(
                    operation=operation.operation,
                    model=str(arm.model),
                    decoding=own.get("model.decoding", config.model.decoding),
                    renderer=own.get("model.renderer", config.model.renderer),
                ),
                slots=counts.slots,
                files=len({each.slot.path for each in arm.results}),
                written=counts.written,
                right=counts.right,
                precision=counts.precision,
                coverage=counts.coverage,
                gain=gain.value,
                gain_ci95=gain.interval,
                seed=report.seed,
                commit=report.commit,
                date=date,
            )


def _is_rules(settings: Mapping[str, Any], arm: ArmResult) -> bool:
    return settings.get("model.provider") == NAME and bool(arm.results)


def _gain(rules: ArmResult | None, arm: ArmResult, seed: int) -> Estimate:
    if rules is None:
        return Estimate(value=None)
    return differences(rules.results, arm.results, seed)[_RESTORED]
