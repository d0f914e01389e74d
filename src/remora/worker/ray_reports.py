"""Has each node of a Ray cluster report about itself."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from remora.engines.ray_messages import Reported
from remora.engines.worker_report import WorkerReport
from remora.worker.ray_task import report_on_node

_PATIENCE_S = 60.0


def node_reports(ray: Any) -> Iterator[Reported]:
    """Yield the report of each node that is alive and has CPUs, as others run no shards.

    The tasks need no CPU, so they also run on busy nodes.
    """
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    nodes = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
    task = ray.remote(report_on_node)
    open_tasks = {
        task.options(
            num_cpus=0,
            max_retries=0,
            scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False),
        ).remote(): node
        for node in nodes
    }
    done, late = ray.wait(list(open_tasks), num_returns=len(open_tasks), timeout=_PATIENCE_S)
    for each in done:
        yield Reported(_report_of(ray, each, open_tasks[each]))
    for each in late:
        yield Reported(_failed(open_tasks[each], f"no answer in {_PATIENCE_S:g} s"))


def _report_of(ray: Any, task: Any, node: Mapping[str, Any]) -> WorkerReport:
    try:
        return msgspec.json.decode(ray.get(task), type=WorkerReport)
    except Exception as error:  # noqa: BLE001 - whatever the node raised
        cause = getattr(error, "cause", None) or error
        lines = [line for line in str(cause).splitlines() if line.strip()]
        return _failed(node, lines[-1] if lines else type(cause).__name__)


def _failed(node: Mapping[str, Any], why: str) -> WorkerReport:
    host = f"{node['NodeManagerHostname']} ({node['NodeManagerAddress']})"
    return WorkerReport(host=host, pid=0, error=why)
