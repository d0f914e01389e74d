"""A second opinion on the streams of a project, by the standard library and `zstd` alone.

    python check_streams.py ROOT

Written from the format's description and sharing no code with the product: it hashes every line
again, folds every delta, trims every packet, compares the hash of each packet that a decision
names, and looks up every head, parent, file content and blob that a stream names. Streams may be
sealed, forked, resumed, or gone with a record of it. Prints each difference as `FILE:LINE: what`
and exits with 1 if there is any.
"""

import copy
import hashlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Json = Any
Difference = tuple[int, str]
ZEROS = "0" * 64


def canonical(value: Json) -> bytes:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode()


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


# the fold


def fold(packet: Json, delta: Json) -> None:
    """Apply one delta to `packet`, in the order of the table."""
    for key in ("turn", "state_summary", "excerpt", "candidate_actions", "text_place"):
        if key in delta:
            packet[key] = delta[key]
    if "diagnostics" in delta:
        packet["diagnostics"] = delta["diagnostics"][:20]
    if "add_action" in delta:
        fold_action(packet, delta["add_action"])
    if "forget_knowledge" in delta or "update_knowledge" in delta:
        fold_knowledge(packet, delta)
    if "set_error" in delta:
        packet["last_error"] = delta["set_error"]
        packet["error_count"] += delta["set_error"] is not None
    fold_hub(packet, delta)
    fold_extensions(packet, delta.get("extensions", {}))


def fold_action(packet: Json, action: Json) -> None:
    same = ("tool", "args", "summary", "outcome")
    actions = packet["recent_actions"]
    if actions and all(canonical(actions[-1][key]) == canonical(action[key]) for key in same):
        actions[-1]["count"] += 1
        actions[-1]["turn"] = packet["turn"]
    else:
        if actions:
            actions[-1]["args"] = shorter(actions[-1]["args"], 200)
        actions.append({key: action[key] for key in same} | {"turn": packet["turn"], "count": 1})
    del actions[:-10]


def shorter(args: Json, limit: int) -> Json:
    """The arguments with their texts cut to `limit` characters, of which the last is `…`."""
    long = [key for key, text in args.items() if isinstance(text, str) and len(text) > limit]
    return {**args, **{key: args[key][: limit - 1] + "…" for key in long}}


def fold_knowledge(packet: Json, delta: Json) -> None:
    known = packet["knowledge"]
    for key in delta.get("forget_knowledge", []):
        known.pop(key, None)
    for key, value in delta.get("update_knowledge", {}).items():
        known.pop(key, None)
        known[key] = {"value": value, "source_turn": packet["turn"]}
    while len(known) > 64 or len(canonical(known)) > 16 * 1024:
        unpinned = [key for key in known if key != "feedback"]
        if not unpinned:
            return
        del known[unpinned[0]]


def fold_hub(packet: Json, delta: Json) -> None:
    both = ("hub_context", "hub_freshness")
    for name in both:
        for node, value in delta.get(name, {}).items():
            packet[name].pop(node, None)
            if value is not None:
                packet[name][node] = value
    for name in both:
        while len(packet[name]) > 5:
            oldest = next(iter(packet[name]))
            for other in both:
                packet[other].pop(oldest, None)


def fold_extensions(packet: Json, new: Json) -> None:
    for key, value in new.items():
        packet["extensions"].pop(key, None)
        if value is not None:
            packet["extensions"][key] = value


# the trim list


def trimmed(packet: Json, steps: int) -> Json:
    """A copy of `packet` after the first `steps` steps of the list."""
    packet = copy.deepcopy(packet)
    trim = trim_steps(packet)
    for _ in range(steps):
        if next(trim, None) is None:
            break
    return packet


def trim_steps(packet: Json) -> Iterator[str]:
    """Takes one step at each `next`, and yields the name of what went."""
    for what, count in single_steps(packet):
        if count:
            packet["omitted"][what] = packet["omitted"].get(what, 0) + count
        yield what


def single_steps(packet: Json) -> Iterator[tuple[str, int]]:
    target = packet["node_id"]
    while len(packet["candidate_actions"]) > 2:
        # the option to stop stays
        going = [
            place
            for place, one in enumerate(packet["candidate_actions"])
            if one["tool"] != "submit_result"
        ]
        packet["candidate_actions"].pop(going[-1] if going else -1)
        yield "candidates", 1
    yield from node_steps(packet, target)
    much, actions = (2048, 3) if packet["excerpt"] else (6144, 1)
    steps = knowledge_steps(packet["knowledge"])
    while len(canonical(packet["knowledge"])) > much and (step := next(steps, None)):
        yield step
    yield from shorten(packet, "recent_actions", "actions", keep=actions, place=0)
    yield from knowledge_steps(packet["knowledge"])
    if drop_node(packet, target):
        yield "hub_facts", 1
    yield from drop_keys(packet, "extensions", sorted(packet["extensions"], reverse=True))
    yield from refused_text_steps(packet["recent_actions"][-1:])
    yield from excerpt_steps(packet, keep=15)
    yield from shorten(packet, "diagnostics", "diagnostics", keep=1, place=-1)
    yield from excerpt_steps(packet, keep=5)
    yield from shorten(packet, "recent_actions", "actions", keep=1, place=0)


def shorten(
    packet: Json, name: str, what: str, *, keep: int, place: int
) -> Iterator[tuple[str, int]]:
    while len(packet[name]) > keep:
        packet[name].pop(place)
        yield what, 1


def refused_text_steps(last: list[Json]) -> Iterator[tuple[str, int]]:
    for action in last:
        while longest := max(map(len, filter(is_long, action["args"].values())), default=0):
            action["args"] = shorter(action["args"], max(longest // 2, 200))
            yield "refused_text", 0


def is_long(text: Any) -> bool:
    return isinstance(text, str) and len(text) > 200


def drop_keys(packet: Json, name: str, keys: list[str]) -> Iterator[tuple[str, int]]:
    for key in keys:
        del packet[name][key]
        yield name, 1


def knowledge_steps(facts: Json) -> Iterator[tuple[str, int]]:
    for key in [k for k in facts if k != "feedback"]:
        text = facts[key]["value"]
        if isinstance(text, str) and len(text) >= 200:
            half = text[: len(text) // 2]
            end = max(half.rfind(";"), half.rfind(","))
            facts[key] = {**facts[key], "value": (half[:end] if end > 0 else half) + "…"}
            yield "knowledge", 0
        del facts[key]
        yield "knowledge", 1


def node_steps(packet: Json, target: str) -> Iterator[tuple[str, int]]:
    for node in [*packet["hub_context"], *packet["hub_freshness"]]:
        if node != target and drop_node(packet, node):
            yield "hub_nodes", 1


def excerpt_steps(packet: Json, *, keep: int) -> Iterator[tuple[str, int]]:
    excerpt = packet["excerpt"]
    while excerpt is not None and (count := len(lines := code_lines(excerpt))) > keep:
        gone = min(2, count - keep)
        cut_excerpt(excerpt, lines, count - gone)
        yield "excerpt_lines", gone


def code_lines(excerpt: Json) -> list[tuple[int, str]]:
    """The lines of code with their numbers; `... 20 lines ...` counts as 20 lines."""
    found, number = [], excerpt["lines"][0]
    for line in excerpt["text"].split("\n"):
        gap = re.fullmatch(r"\.\.\. (\d{1,9}) lines \.\.\.", line)
        if gap and int(gap[1]):
            number += int(gap[1])
        else:
            found.append((number, line))
            number += 1
    return found


def cut_excerpt(excerpt: Json, lines: list[tuple[int, str]], count: int) -> None:
    """Leave the first line and those nearest to the focus, or else to the first and last line."""
    first, last = excerpt["lines"]
    ends = [excerpt["focus"]] if excerpt.get("focus") else [first, lines[-1][0]]
    near = sorted(lines[1:], key=lambda line: min(abs(line[0] - end) for end in ends))
    near.insert(0, lines[0])
    text = []
    for number, line in sorted(near[:count]):
        text += [f"... {number - first} lines ..."] if number > first else []
        text.append(line)
        first = number + 1
    text += [f"... {last + 1 - first} lines ..."] if last + 1 > first else []
    excerpt["text"] = "\n".join(text)


def drop_node(packet: Json, node: str) -> bool:
    found = [packet[name].pop(node, None) for name in ("hub_context", "hub_freshness")]
    return any(value is not None for value in found)


# streams


class Stream:
    """One stream's records by line, read and checked.

    What follows the last newline is a live writer's, or a torn tail that nobody acknowledged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.differences: list[Difference] = []
        self.records: list[Json] = []
        self.hashes = [ZEROS]
        try:
            lines = content_of(path).split(b"\n")[:-1]
        except ValueError as error:
            lines = []
            self.differ(1, str(error))
        for number, line in enumerate(lines, 1):
            self.read(number, line)

    @property
    def name(self) -> str:
        return self.path.name.removesuffix(".zst").removesuffix(".jsonl")

    def holds(self, count: int, digest: str) -> bool:
        """Whether the stream's first `count` lines end in this hash."""
        return 0 <= count < len(self.hashes) and self.hashes[count] == digest

    def differ(self, line: int, what: str) -> None:
        self.differences.append((line, what))

    def read(self, number: int, line: bytes) -> None:
        body, tail = line[:-75], line[-75:]
        digest = sha256(self.hashes[-1].encode() + body)
        if tail != b',"hash":"' + digest.encode() + b'"}':
            self.differ(number, "the hash is not that of the line")
        try:
            record = json.loads(line)
            self.check_place(number, record)
        except (ValueError, KeyError, TypeError) as error:
            self.differ(number, f"no event: {error}")
            record = {"type": None, "data": {}, "packet_delta": None}
        self.hashes.append(digest)
        self.records.append(record)

    def check_place(self, number: int, record: Json) -> None:
        if record["v"] != 1:
            raise ValueError(f"the format's version is {record['v']}")
        if record["seq"] != number - 1:
            self.differ(number, f"seq is {record['seq']}")

    def check_packets(self) -> int:
        """Compare every packet that an event names; how many there were."""
        packet, compared = None, 0
        for number, record in enumerate(self.records, 1):
            data = record["data"]
            if packet is None and record["type"] == "agent_start":
                rules = data.get("fold", "fold/1"), data.get("trim", "trim/1")
                if rules != ("fold/1", "trim/1"):
                    self.differ(number, f"the rules {rules} are not known here")
                    return compared
                packet = data["packet"]
            named = isinstance(data, dict) and data.get("packet_sha256")
            if packet is not None and named:
                found = sha256(canonical(trimmed(packet, data.get("trim") or 0)))
                if found != named:
                    self.differ(number, f"the packet is {found}, not {named}")
                compared += 1
            if packet is not None:
                fold(packet, record["packet_delta"] or {})
        return compared

    def check_contents(self, folder: Path) -> None:
        """Look up every file content and blob that the stream names."""
        for number, record in enumerate(self.records, 1):
            named = [("objects", digest) for digest in contents(record)]
            named += [("blobs", blob["sha256"]) for blob in blobs(record["data"])]
            for store, digest in named:
                path = folder / store / digest[:2] / digest
                problem = stored_problem(path, digest)
                if problem:
                    self.differ(number, f"{store[:-1]} {digest} {problem}")


class Record(Stream):
    """What was let go: a line for each stream, chained as a stream's, without a `seq`."""

    def check_place(self, number: int, record: Json) -> None:
        del number
        record["kind"], record["id"], record["head"]["count"], record["head"]["hash"]

    def gone(self, kind: str, name: str) -> Json:
        """The last head on record of a stream, None if it is not known to have gone."""
        found = [r["head"] for r in self.records if (r.get("kind"), r.get("id")) == (kind, name)]
        return found[-1] if found else None


def stored_problem(path: Path, digest: str) -> str | None:
    if not path.is_file():
        return "is missing or changed"
    try:
        return None if sha256(content_of(path)) == digest else "is missing or changed"
    except ValueError as error:
        return str(error)


def content_of(path: Path) -> bytes:
    """A stream or a stored content; what is compressed is what the `zstd` program makes of it."""
    content = path.read_bytes()
    packed = path.suffix == ".zst" or path.parts[-3] == "blobs"
    if not packed or not content.startswith(b"\x28\xb5\x2f\xfd"):
        return content
    program = shutil.which("zstd")
    if program is None:
        return unpacked(content)
    done = subprocess.run([program, "-dcq"], input=content, capture_output=True, check=False)
    if done.returncode:
        raise ValueError(f"cannot be decompressed: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def unpacked(content: bytes) -> bytes:
    """The same by a package, where the program is missing."""
    try:
        import zstandard
    except ImportError:
        hint = "is compressed: install the `zstd` program to have it checked"
        raise ValueError(hint) from None
    try:
        with zstandard.ZstdDecompressor().stream_reader(content, read_across_frames=True) as reader:
            return reader.read()
    except zstandard.ZstdError as error:
        raise ValueError(f"cannot be decompressed: {error}") from None


def contents(record: Json) -> Iterator[str]:
    data = record["data"]
    kind = record["type"]
    files = {"run_start": data.get("base", {}).get("files"), "agent_start": data.get("rebased")}
    for file in (files.get(kind) or {}).values():
        if file is not None:
            yield file["sha256"]
    changes = {"tool_result": "changes", "agent_start": "changes", "agent_end": "change_set"}
    for change in data.get(changes.get(kind), []):
        yield from (change[key] for key in ("before", "after") if change[key] is not None)


def blobs(data: Json) -> Iterator[Json]:
    if isinstance(data, dict) and list(data) == ["$blob"]:
        yield data["$blob"]
    elif isinstance(data, (dict, list)):
        for value in data.values() if isinstance(data, dict) else data:
            yield from blobs(value)


def check_anchors(run: Stream, agents: dict[str, Stream], gone: Record | None) -> None:
    """Compare each head that the run's stream holds with the agent's stream, or with the record
    of it where that stream was let go."""
    for number, record in enumerate(run.records, 1):
        if record["type"] not in ("job_end", "review"):
            continue
        name, head = record["data"]["agent_id"], record["data"]["head"]
        agent = agents.get(name)
        if agent is not None:
            known = agent.holds(head["count"], head["hash"])
        else:
            known = gone is not None and gone.gone("agent", name) == head
        if not known:
            run.differ(number, f"not the head of {name}")


def check_parents(agent: Stream, agents: dict[str, Stream]) -> None:
    """Compare the line that a fork or retry goes on from. A parent that is gone says nothing."""
    for number, record in enumerate(agent.records, 1):
        parent = record["data"].get("parent") if record["type"] == "agent_start" else None
        if not parent:
            continue
        origin = agents.get(parent["agent_id"])
        if origin is not None and not origin.holds(parent["seq"] + 1, parent["hash"]):
            agent.differ(number, f"not a line of {origin.name}")


def check_order(run: Stream) -> None:
    """An attempt that ends has begun; one that was resumed has begun more than once."""
    begun = set()
    for number, record in enumerate(run.records, 1):
        name = record["data"].get("agent_id")
        if record["type"] == "job_start":
            begun.add(name)
        elif record["type"] == "job_end" and name not in begun:
            run.differ(number, f"{name} ends and never began")


def streams_in(folder: Path) -> dict[str, Stream]:
    """By id. A plain stream counts before a sealed one, unless it is empty."""
    paths = {path.name: path for path in folder.glob("*.jsonl.zst")}
    for path in folder.glob("*.jsonl"):
        if path.stat().st_size or f"{path.name}.zst" not in paths:
            paths[f"{path.name}.zst"] = path
    return {name.removesuffix(".jsonl.zst"): Stream(paths[name]) for name in sorted(paths)}


def main(arguments: list[str]) -> int:
    root = Path(arguments[0])
    folder = root / ".agentfs" if (root / ".agentfs").is_dir() else root
    agents, runs = streams_in(folder / "traces"), streams_in(folder / "runs")
    gone = Record(folder / "expired.jsonl") if (folder / "expired.jsonl").is_file() else None
    compared = 0
    for agent in agents.values():
        compared += agent.check_packets()
        check_parents(agent, agents)
    for run in runs.values():
        check_anchors(run, agents, gone)
        check_order(run)
    streams = [*runs.values(), *agents.values()]
    for stream in streams:
        stream.check_contents(folder)
    checked = [*streams, gone] if gone else streams
    for stream in checked:
        for line, what in sorted(stream.differences):
            sys.stdout.write(f"{stream.path}:{line}: {what}\n")
    different = sum(len(stream.differences) for stream in checked)
    events = sum(len(stream.records) for stream in streams)
    sys.stdout.write(
        f"{len(streams)} streams, {events} events, {compared} packets compared, "
        f"{different} differences\n"
    )
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
