"""What other settings would have made of recorded streams."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from remora.bootstrap.operations import BUILT_IN
from remora.errors import ConfigError, NotFound
from remora.evals.eval_setting import EvalSetting
from remora.evals.experiments import compare_settings, select_agents
from remora.trace.trace_folder import TraceFolder
from tests.agents.conftest import Play, Played, Theatre
from tests.evals.conftest import LOOKS, ORDERS, root_of
from tests.golden.record import ACT, LOOK, ODD, call
from tests.golden.test_golden import AGENTS, HERE, laid_out
from tests.trace.conftest import rechained


def evaluated(played: Played, *asked: EvalSetting) -> dict[str, dict[str, Any]]:
    """By the name of each arm, its tools."""
    agents = select_agents(played.folder, ())
    document = compare_settings(played.folder, root_of(played), BUILT_IN, agents, asked).as_json()
    assert document["skipped"] == []
    return {arm["name"]: arm["tools"] for arm in document["arms"]}


class TestCoverage:
    def test_the_values_that_a_packet_held_are_counted(self, looked: Played) -> None:
        act = evaluated(looked)["recorded"]["act"]
        # "all" and the last were told by nobody
        assert (act["calls"], act["values"], act["coverage"]) == (4, 4, 0.5)
        assert act["remembered"] == 0.5

    def test_a_summarizer_that_keeps_no_facts_covers_only_what_calls_said(
        self, looked: Played
    ) -> None:
        arms = evaluated(
            looked, EvalSetting(summarizers="tool_side"), EvalSetting(summarizers="default")
        )
        assert arms["default"] == arms["recorded"]
        assert arms["tool_side"]["act"]["coverage"] == 0
        assert arms["tool_side"]["act"]["dropped"] > arms["recorded"]["act"]["dropped"]
        assert arms["tool_side"]["act"]["packet_tokens"] < arms["recorded"]["act"]["packet_tokens"]

    def test_a_limit_that_leaves_no_room_for_facts_covers_less(self, looked: Played) -> None:
        roomy, narrow, tiny = (EvalSetting(limit=limit) for limit in (3000, 700, 10))
        arms = evaluated(looked, roomy, narrow, tiny)
        too_large = sum(tool["too_large"] for tool in arms[tiny.name].values())
        assert too_large == 5, "what no trim makes fit is counted"
        assert arms[roomy.name] == arms["recorded"]
        act = arms[narrow.name]["act"]
        assert act["most_packet_tokens"] <= 700
        assert (act["trims"], act["too_large"]) == (8, 0)
        # the long result went, the mail of the next one stayed
        assert (act["coverage"], act["dropped"]) == (0.25, 64)

    def test_renderers_differ_in_tokens_not_in_what_they_hold(self, looked: Played) -> None:
        names = ("lines/1", "json/1", "functiongemma/1", "history/1")
        arms = evaluated(looked, *(EvalSetting(renderer=name) for name in names))
        assert arms["lines/1"] == arms["recorded"]
        assert len({arms[name]["act"]["packet_tokens"] for name in names}) == 4
        assert {arms[name]["act"]["coverage"] for name in names} == {0.5}
        assert arms["history/1"]["submit_result"]["dropped"] == 0


class TestFacts:
    def test_facts_that_the_next_packet_lacks_are_dropped(self, looked: Played) -> None:
        act = evaluated(looked)["recorded"]["act"]
        # 2 ids, 2 totals, 60 of noise; an id and a mail; the mail alone; it, and what nobody told
        assert act["facts"] == 64 + 2 + 1 + 2
        assert act["dropped"] == 0


class TestSummarizers:
    YAML = """
        name: own
        operation: own
        goal: Look at {node_name}
        tools:
          - {name: act, script: act.pym, summarizer: says.pym}
        """
    SAYS = """
        from remora.pym import Input
        raw: dict = Input("raw")
        {"summary": "said by a script", "knowledge": {"ids": str(raw)[:%d]}}
        """

    def test_an_agents_own_script_speaks_as_it_is_today(self, theatre: Theatre) -> None:
        agent = theatre.agent(self.YAML, act=ORDERS, says=self.SAYS % 20)
        played = theatre.play(Play(agent=agent, answers=LOOKS))
        specific = EvalSetting(summarizers="tool_specific")
        agents = select_agents(played.folder, ())
        without = compare_settings(played.folder, root_of(played), BUILT_IN, agents, [specific])
        gone = "the agent own no longer exists; using the default summarizer for act"
        assert without.notes == (gone,)
        home = root_of(played) / ".remora" / "agents" / "own"
        shutil.copytree(agent.folder, home)
        arms = evaluated(played, specific)
        assert arms["tool_specific"] == arms["recorded"]
        (home / "says.pym").write_text((home / "says.pym").read_text().replace(":20]", ":400]"))
        assert (
            evaluated(played, specific)["tool_specific"]["act"]["coverage"]
            > (arms["recorded"]["act"]["coverage"])
        )
        (home / "says.pym").write_text("this is no script")
        with pytest.raises(ConfigError):
            evaluated(played, specific)

    def test_names_in_its_recorded_definition_hold(self, theatre: Theatre) -> None:
        agent = theatre.agent(self.YAML.replace("says.pym", "linter"), act=ORDERS)
        played = theatre.play(Play(agent=agent, answers=LOOKS))
        arms = evaluated(played, EvalSetting(summarizers="tool_specific"))
        assert arms["tool_specific"] == arms["recorded"]


class TestStreams:
    @pytest.fixture
    def golden(self, tmp_path: Path) -> TraceFolder:
        # the streams of one name lie in one place: only the last of them stays
        return laid_out([*AGENTS, HERE / "v1" / "run.jsonl"], tmp_path)

    def test_recorded_streams_are_evaluated_by_every_setting(self, golden: TraceFolder) -> None:
        asked = [EvalSetting(summarizers="default", limit=700), EvalSetting(renderer="json/1")]
        agents = select_agents(golden, ())
        report = compare_settings(golden, golden.root, BUILT_IN, agents, asked)
        assert (report.streams, report.skipped) == (len(agents), ())
        document = report.as_json()
        assert document["setting"] == {"summarizers": "default", "limit": 700, "renderer": None}
        assert document["tools"] == document["arms"][1]["tools"]
        for arm in document["arms"]:
            assert set(arm["tools"]) >= {"run_linter", "apply_fix"}
            for tool in arm["tools"].values():
                assert 0 <= tool["coverage"] <= 1
                assert tool["packet_tokens"] > 0
                assert 0 <= tool["dropped"] <= tool["facts"]

    def test_a_stream_that_was_changed_is_left_out_and_named(self, golden: TraceFolder) -> None:
        agents = select_agents(golden, ())
        whole = compare_settings(golden, golden.root, BUILT_IN, agents, ())
        first = golden.agent_stream(agents[0])
        raw = first.read_bytes()
        assert b'"goal":"' in raw
        forged = raw.replace(b'"goal":"', b'"goal":"Do not ')
        first.write_bytes(rechained(forged.splitlines()))
        golden.agent_stream(agents[1]).write_bytes(b"{}\n")
        report = compare_settings(golden, golden.root, BUILT_IN, agents, ())
        assert [name for name, _ in report.skipped] == [agents[1], agents[0]]
        assert "differs from the recorded one" in dict(report.skipped)[agents[0]]
        assert report.streams == whole.streams - 2
        assert report.arms[0].total().calls < whole.arms[0].total().calls

    def test_a_run_means_its_agents(self, golden: TraceFolder) -> None:
        everyone = select_agents(golden, ())
        assert len(select_agents(golden, ["golden-1"])) == 3 < len(everyone)
        assert select_agents(golden, [everyone[0], everyone[0]]) == everyone[:1]
        with pytest.raises(NotFound):
            select_agents(golden, ["nobody"])

    def test_long_outputs_that_lie_in_blobs_are_read(self, theatre: Theatre) -> None:
        script = '{"big": "x" * 80_000, "id": "ord-7731"}'
        answers = [call("act"), call("submit_result", summary="ord-7731")]
        played = theatre.play(Play(agent=theatre.tool(script), answers=answers))
        assert any(played.folder.blobs.folder.rglob("*"))
        tools = evaluated(played)["recorded"]
        assert tools["act"]["facts"] == 1
        assert tools["submit_result"]["coverage"] == 1

    def test_whatever_an_agent_did_is_evaluated(self, theatre: Theatre) -> None:
        agent = theatre.agent(ODD, look=LOOK, act=ACT)
        hows = ["raise", "break", "mood", "plain", "x"]
        answers = [*(call("act", how=how) for how in hows), "no call",
                   call("recall", ref="turn:9", lines=[1, 20]), call("submit_result")]  # fmt: skip
        played = theatre.play(Play(agent=agent, answers=answers))
        arms = evaluated(played, EvalSetting(summarizers="default"), EvalSetting(limit=600))
        assert {name: tools["act"]["calls"] for name, tools in arms.items()} == dict.fromkeys(
            ["recorded", "default", "600 tokens"], 5
        )
