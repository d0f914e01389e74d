"""What a question waits for: all that was seen before it, and nothing that came later."""

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from remora.hub.daemon.change_queue import ChangeQueue

PATHS = st.sampled_from("abcdef")


def test_what_a_sweep_finds_belongs_to_the_questions_that_wanted_it() -> None:
    pending = ChangeQueue()
    pending.want_sweep()
    ticket = pending.ticket()
    pending.add(["later"])
    pending.swept(["found"])
    assert not pending.has_reached(ticket)
    assert set(pending.first(9)) == {"found", "later"}
    assert pending.has_reached(ticket)
    pending = ChangeQueue()
    pending.want_sweep()
    pending.swept(["found"])
    pending.want_sweep()
    pending.add(["later"])
    assert pending
    assert not pending.sweep_wanted
    assert list(pending.first(1)) == ["found"]
    assert pending.sweep_wanted


def test_a_file_that_is_sent_away_is_waited_for_until_its_last_errand_is_done() -> None:
    pending = ChangeQueue()
    pending.add(["a"])
    ticket = pending.ticket()
    first = pending.sent_to_child("a", pending.first(1)["a"], now=5.0)
    pending.add(["a"])
    second = pending.sent_to_child("a", pending.first(1)["a"], now=6.0)
    assert pending.only_in_child_since(ticket) == 5.0
    pending.read_by_child("a", first)
    assert not pending.has_reached(ticket)
    pending.read_by_child("a", second)
    assert pending.has_reached(pending.ticket())
    pending = ChangeQueue()
    pending.add(["a", "b"])
    pending.sent_to_child("a", pending.first(1)["a"], now=5.0)
    assert pending.only_in_child_since(pending.ticket()) is None
    assert pending.only_in_child_since(1) == 5.0


class Machine(RuleBasedStateMachine):
    """Against the plain truth: each change with its time, each read with its time."""

    def __init__(self) -> None:
        super().__init__()
        self.pending = ChangeQueue()
        self.now = 0
        self.unread: dict[str, int] = {}
        self.questions: list[tuple[int, int]] = []

    @rule(path=PATHS)
    def change(self, path: str) -> None:
        self.now += 1
        self.pending.add([path])
        self.unread.setdefault(path, self.now)
        self.check()

    @rule()
    def ask(self) -> None:
        self.questions.append((self.now, self.pending.ticket()))
        self.check()

    @rule(count=st.integers(1, 4))
    def read(self, count: int) -> None:
        for path in self.pending.first(count):
            del self.unread[path]
        self.check()

    @rule(count=st.integers(1, 4))
    def fail(self, count: int) -> None:
        self.pending.put_back(self.pending.first(count))
        self.check()

    def check(self) -> None:
        for asked, ticket in self.questions:
            waits = any(since <= asked for since in self.unread.values())
            assert self.pending.has_reached(ticket) == (not waits)


TestPending = Machine.TestCase


@given(st.lists(PATHS))
def test_a_path_is_read_once_however_often_it_changed(paths: list[str]) -> None:
    pending = ChangeQueue()
    pending.add(paths)
    assert list(pending.first(99)) == list(dict.fromkeys(paths))
