"""The outbox merges hints while a delivery, which the test controls, is under way."""

import subprocess
import sys
import threading
from collections.abc import Sequence
from queue import Queue
from typing import Final

import pytest

from horae.domain.jobs.job import JobId, NodeId
from horae.wakeup.channel import Hint, HintKind
from horae.wakeup.channel import work as counted
from horae.wakeup.outbox import MOST_IDS, Merged, Outbox
from horae.wakeup.payload import decode, encode, with_seed

PATIENCE: Final = 30.0


class Gate:
    """A delivery that reports each batch, then waits to be let through."""

    def __init__(self) -> None:
        self.batches: Queue[list[Hint]] = Queue()
        self.answers: Queue[Exception | None] = Queue()

    def __call__(self, hints: Sequence[Hint]) -> None:
        self.batches.put(list(hints))
        answer = self.answers.get(timeout=PATIENCE)
        if answer is not None:
            raise answer

    def next(self) -> list[Hint]:
        return self.batches.get(timeout=PATIENCE)


def work(*ids: int) -> Hint:
    return Hint(HintKind.WORK, tuple(JobId(id_) for id_ in ids))


def test_hints_of_one_kind_are_merged() -> None:
    merged = Merged()
    for hint in (work(1), Hint(HintKind.ENDED, (JobId(1),)), work(2, 1), Hint(HintKind.CANCEL)):
        merged.add(hint)
    assert merged.take() == [work(1, 2), Hint(HintKind.ENDED, (JobId(1),)), Hint(HintKind.CANCEL)]
    assert not merged
    assert merged.take() == []


@pytest.mark.parametrize(
    "hints", [[work(), work(1)], [work(1), work()], [work(1), work(), work(2)]]
)
def test_a_hint_without_ids_swallows_the_ids(hints: list[Hint]) -> None:
    merged = Merged()
    for hint in hints:
        merged.add(hint)
    assert merged.take() == [work()]


def test_too_many_ids_become_none() -> None:
    merged = Merged()
    merged.add(work(*range(1, MOST_IDS + 1)))
    merged.add(work(1))
    assert len(merged.take()[0].job_ids) == MOST_IDS
    merged.add(work(*range(1, MOST_IDS + 1)))
    merged.add(work(MOST_IDS + 1))
    assert merged.take() == [work()]


def test_the_first_hint_is_sent_at_once_and_the_rest_together() -> None:
    gate = Gate()
    outbox = Outbox("outbox", gate, interval=0.001)
    outbox.put(work(1))
    assert gate.next() == [work(1)]
    for id_ in (2, 3, 2):
        outbox.put(work(id_))
    gate.answers.put(None)
    assert gate.next() == [work(2, 3)]
    gate.answers.put(None)
    assert outbox.close()


def test_an_interval_is_kept_and_cut_short_by_close() -> None:
    gate = Gate()
    outbox = Outbox("outbox", gate, interval=3600.0)
    outbox.put(work(1))
    gate.answers.put(None)
    gate.answers.put(None)
    assert gate.next() == [work(1)]
    for id_ in range(2, 20_000):
        outbox.put(work(id_ % 1000 + 1))  # long enough for a thread that does not wait
    assert gate.batches.empty()
    assert outbox.close(PATIENCE)
    assert len(gate.next()[0].job_ids) == 1000
    assert gate.batches.empty()


def test_undelivered_hints_are_sent_again(caplog: pytest.LogCaptureFixture) -> None:
    gate = Gate()
    outbox = Outbox("outbox", gate)
    outbox.put(work(1))
    assert gate.next() == [work(1)]
    outbox.put(work(2))
    for _ in range(2):
        gate.answers.put(ConnectionError("no server"))
        assert {id_ for hint in gate.next() for id_ in hint.job_ids} == {1, 2}
    gate.answers.put(None)
    assert outbox.close()
    assert caplog.text.count("no server") == 1


def test_close_tries_once_more_and_no_longer() -> None:
    gate = Gate()
    outbox = Outbox("outbox", gate)
    outbox.put(work(1))
    gate.next()
    gate.answers.put(ConnectionError("no server"))
    gate.answers.put(ConnectionError("no server"))
    assert outbox.close(PATIENCE)
    assert gate.batches.qsize() <= 1


def test_close_does_not_wait_for_ever() -> None:
    gate = Gate()
    outbox = Outbox("outbox", gate)
    outbox.put(work(1))
    gate.next()
    assert not outbox.close(within=0.001)
    gate.answers.put(None)
    assert outbox.close()


def test_what_deliveries_have_opened_is_closed_although_close_does_not_wait_for_it() -> None:
    gate, ended = Gate(), threading.Event()
    outbox = Outbox("outbox", gate, on_end=ended.set)
    outbox.put(work(1))
    gate.next()
    assert not outbox.close(within=0.001)
    assert not ended.is_set()
    gate.answers.put(ConnectionError("no server"))
    assert ended.wait(PATIENCE)


def test_nothing_is_sent_after_close() -> None:
    gate = Gate()
    outbox = Outbox("outbox", gate)
    assert outbox.close()
    outbox.put(work(1))
    assert outbox.close()
    assert gate.batches.empty()


def test_a_thread_that_cannot_start_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """As while the interpreter ends; the hints wait for the next try."""
    gate = Gate()
    outbox = Outbox("outbox", gate)

    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        outbox.put(work(1))
    outbox.put(work(2))
    gate.answers.put(None)
    assert gate.next() == [work(1, 2)]
    assert outbox.close()


def test_a_payload_is_read_as_it_was_written_and_loses_its_ids_when_it_is_long() -> None:
    hint = work(*range(1, 100))
    assert decode(encode("tag", hint, 1200)) == ("tag", hint)
    short = encode("tag", hint, 50)
    assert len(short) <= 50
    assert decode(short) == ("tag", work())


def test_the_numbers_of_jobs_are_added_and_a_hint_without_a_number_needs_every_node() -> None:
    merged = Merged()
    for hint in (counted(1), counted(3), Hint(HintKind.ENDED)):
        merged.add(hint)
    first = merged.take()[0]
    assert (first.kind, first.count) == (HintKind.WORK, 4)
    for hint in (counted(1), Hint(HintKind.WORK), counted(2)):
        merged.add(hint)
    assert merged.take()[0].count is None
    assert merged.take() == []


def test_busy_nodes_are_merged_and_the_seed_is_kept_if_all_have_one() -> None:
    merged = Merged()
    merged.add(Hint(HintKind.WORK, count=1, seed=5, busy=(NodeId("a"), NodeId("b"))))
    merged.add(Hint(HintKind.WORK, count=1, seed=7, busy=(NodeId("b"), NodeId("c"))))
    [hint] = merged.take()
    assert (hint.count, hint.seed, hint.busy) == (2, 7, ("a", "b", "c"))
    merged.add(Hint(HintKind.WORK, count=1, seed=5))
    merged.add(counted(1))
    assert merged.take()[0].seed is None


def test_what_decides_which_nodes_respond_is_sent() -> None:
    sent = with_seed(Hint(HintKind.WORK, count=3, busy=(NodeId("a"),)))
    _, received = decode(encode("tag", sent, 8000)) or ("", Hint(HintKind.ENDED))
    assert (received.count, received.seed, received.busy) == (3, sent.seed, ("a",))
    assert sent.seed is not None
    for unchanged in (Hint(HintKind.WORK), Hint(HintKind.ENDED, count=1)):
        assert with_seed(unchanged).seed is None


@pytest.mark.parametrize(
    "fields",
    [
        '"count":1',
        '"count":1,"seed":2',
        '"count":"1","seed":2,"busy":[]',
        '"count":1,"seed":2,"busy":7',
    ],
)
def test_a_hint_of_another_version_wakes_every_node(fields: str) -> None:
    _, received = decode('tag {"kind":"work",' + fields + "}") or ("", counted(9))
    assert (received.kind, received.count, received.seed) == (HintKind.WORK, None, None)


def test_a_program_that_ends_without_closing_delivers_what_waits() -> None:
    program = """
import threading
from horae.wakeup.channel import Hint, HintKind
from horae.wakeup.outbox import Outbox

delivered = threading.Event()

def deliver(hints):
    print(*(hint.kind.value for hint in hints), flush=True)
    delivered.set()

outbox = Outbox("test", deliver, interval=3600)
outbox.put(Hint(HintKind.ENDED))
delivered.wait()
outbox.put(Hint(HintKind.SCHEDULES))
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ended.stdout.split() == [HintKind.ENDED.value, HintKind.SCHEDULES.value]
