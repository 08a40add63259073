"""Progress: which percentages are shown, when the listener is called, and which calls are refused."""

import math
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from threading import Event, Lock, Thread
from typing import Any, cast

import pytest

from horae.domain.jobs.job import JobState
from horae.domain.jobs.progress import RESERVED_LABELS, Amount, Progress
from horae.errors import InvalidLabel, InvalidProgress, InvalidRequest

Events = list[tuple[int, str | None]]


class Stop(BaseException):
    """What a checkpoint raises to end the work."""


def watched(
    total: Amount = 100, checkpoint: Callable[[], None] | None = None
) -> tuple[Progress, Events]:
    events: Events = []

    def on_change(percentage: int, label: str | None) -> None:
        events.append((percentage, label))

    return Progress(total, on_change=on_change, checkpoint=checkpoint), events


def shown(total: int) -> list[int]:
    progress, events = watched(total)
    for _ in range(total):
        progress.increment()
    return [percentage for percentage, _ in events]


# What is shown


def test_progress_starts_at_zero_without_an_event() -> None:
    progress, events = watched()
    assert (progress.percentage, progress.label, events) == (0, None, [])


def test_percentages_are_rounded_up() -> None:
    assert shown(3) == [34, 67, 100]
    assert shown(7) == [15, 29, 43, 58, 72, 86, 100]


def test_a_thousand_steps_are_a_hundred_events() -> None:
    assert shown(1000) == list(range(1, 101))


@pytest.mark.parametrize(("represents", "total", "first"), [(18, 6, 3), (14, 7, 2)])
def test_the_first_step_of_a_child_is_exact(represents: int, total: int, first: int) -> None:
    root = Progress()
    root.child(represents, total).increment()
    assert root.percentage == first


def test_two_children_add_up_without_a_remainder() -> None:
    root = Progress()
    root.child(10, 3).finish()
    root.child(10, 7).finish()
    assert root.percentage == 20


def test_a_child_starts_where_its_parent_stands() -> None:
    root, events = watched()
    root.increment(40)
    child = root.child(10, 4)
    for _ in range(4):
        child.increment()
    assert [percentage for percentage, _ in events] == [40, 43, 45, 48, 50]


def test_children_nest() -> None:
    root, events = watched()
    inner = root.child(60, 100).child(50, 10).child(5, 2)
    inner.increment()
    inner.increment()
    assert [percentage for percentage, _ in events] == [8, 15]


def test_every_node_shows_its_own_percentage() -> None:
    root = Progress()
    child = root.child(50, 10)
    grandchild = child.child(5, 4)
    grandchild.increment()
    assert (grandchild.percentage, child.percentage, root.percentage) == (25, 13, 7)


def test_a_node_counts_no_more_than_its_total() -> None:
    root = Progress()
    child = root.child(20, 10)
    child.increment(1000)
    assert (child.percentage, root.percentage) == (100, 20)
    root.increment(1000)
    assert root.percentage == 100


def test_children_that_exceed_their_parent_are_clamped() -> None:
    root = Progress()
    middle = root.child(50, 10)
    middle.child(8, 1).finish()
    middle.child(8, 1).finish()
    assert (middle.percentage, root.percentage) == (100, 50)


def test_floats_mean_the_decimal_they_print_as() -> None:
    progress = Progress(1)
    for _ in range(3):
        progress.increment(0.1)
    assert progress.percentage == 30


def test_fractions_and_decimals_are_amounts() -> None:
    progress = Progress(Fraction(1, 2))
    progress.increment(Decimal("0.125"))
    progress.increment(Fraction(1, 8))
    assert progress.percentage == 50


def test_set_is_absolute() -> None:
    progress = Progress(200)
    progress.increment(10)
    progress.set(50)
    assert progress.percentage == 25


def test_going_back_lowers_nothing_that_is_shown() -> None:
    root, events = watched()
    child = root.child(50, 10)
    child.set(8)
    child.set(2)
    assert (child.percentage, root.percentage) == (80, 40)
    child.increment(6)  # at its old mark again
    assert events == [(40, None)]
    child.increment(1)
    assert (child.percentage, root.percentage) == (90, 45)


def test_a_sibling_goes_on_while_a_child_has_gone_back() -> None:
    root = Progress()
    first, second = root.child(50, 10), root.child(50, 10)
    first.set(10)
    first.set(0)
    second.set(5)
    assert root.percentage == 75


def test_finish_counts_the_whole_node() -> None:
    root = Progress()
    child = root.child(30, Fraction(7, 3))
    child.increment()
    child.finish("done with it")
    assert (child.percentage, root.percentage, root.label) == (100, 30, "done with it")


# Nothing to do


def test_a_root_without_work_is_done_and_reports_it() -> None:
    progress, events = watched(0)
    assert (progress.percentage, events) == (100, [(100, None)])
    progress.increment(5, "still talking")
    assert events == [(100, None), (100, "still talking")]


def test_a_child_with_nothing_to_do_counts_at_once() -> None:
    root, events = watched()
    child = root.child(25, 0)
    assert (child.percentage, root.percentage, events) == (100, 25, [(25, None)])
    child.increment(label="empty")
    child.finish()
    assert events == [(25, None), (25, "empty")]


def test_a_child_of_a_node_with_nothing_to_do_adds_nothing() -> None:
    root = Progress()
    root.child(25, 0).child(10, 2).increment()
    assert root.percentage == 25


def test_a_child_may_stand_for_nothing() -> None:
    root, events = watched()
    child = root.child(0, 10)
    child.increment(5, "aside")
    assert (child.percentage, events) == (50, [(0, "aside")])


# Labels


def test_a_new_label_is_an_event_and_the_same_one_is_not() -> None:
    progress, events = watched()
    for label in ("reading", "reading", None, "writing", None):
        progress.increment(0, label)
    assert events == [(0, "reading"), (0, "writing")]
    assert progress.label == "writing"


def test_percentage_and_label_change_in_one_event() -> None:
    progress, events = watched()
    progress.increment(7, "reading")
    assert events == [(7, "reading")]


def test_the_whole_tree_has_one_label() -> None:
    root = Progress()
    first, second = root.child(1, 1), root.child(1, 1)
    first.set(0, "from the first")
    assert root.label == second.label == "from the first"


@pytest.mark.parametrize("label", ["", "  ", "x" * 129, "a\x00b", "a\nb", "\ud800", *JobState])
def test_a_bad_label_is_refused_and_nothing_counts(label: str) -> None:
    calls: list[int] = []
    progress, events = watched(checkpoint=lambda: calls.append(1))
    reports: list[Callable[[], Any]] = [
        lambda: progress.increment(5, label),
        lambda: progress.set(5, label),
        lambda: progress.finish(label),
        lambda: progress.track([1], label=label),
        lambda: progress.track_async(numbers(1), total=1, label=label),
        lambda: progress.set(5, cast("str", 7)),
    ]
    for report in reports:
        with pytest.raises(InvalidLabel):
            report()
    assert (progress.percentage, progress.label, events, calls) == (0, None, [], [])


@pytest.mark.parametrize("label", ["x" * 128, "importing-table-7", "läuft 👩‍💻", "Finished!"])
def test_a_good_label_is_kept(label: str) -> None:
    progress = Progress()
    progress.increment(label=label)
    assert progress.label == label


def test_the_names_of_all_states_are_reserved() -> None:
    assert set(JobState) == RESERVED_LABELS


# Refused amounts


@pytest.mark.parametrize(
    "amount",
    [-1, -0.5, Fraction(-1, 2), math.nan, math.inf, -math.inf, Decimal("NaN"), Decimal("Infinity")],
)
def test_a_senseless_amount_is_refused_and_nothing_counts(amount: Amount) -> None:
    progress, events = watched()
    reports: list[Callable[[], Any]] = [
        lambda: Progress(amount),
        lambda: progress.increment(amount),
        lambda: progress.set(amount),
        lambda: progress.child(amount, 10),
        lambda: progress.child(10, amount),
        lambda: progress.track([1], total=amount),
        lambda: progress.track([1], represents=amount),
    ]
    for report in reports:
        with pytest.raises(InvalidProgress, match="expected a finite number, not below zero"):
            report()
    assert (progress.percentage, events) == (0, [])


@pytest.mark.parametrize("amount", ["5", None, 1j])
def test_a_value_that_is_no_number_is_refused(amount: object) -> None:
    with pytest.raises(InvalidRequest):
        Progress().increment(cast("Any", amount))


# Loops


def numbers(count: int) -> AsyncIterator[int]:
    async def generate() -> AsyncIterator[int]:
        for number in range(count):
            yield number

    return generate()


def test_an_item_counts_after_its_body_ran() -> None:
    root = Progress()
    seen = [(item, root.percentage) for item in root.track("abcd")]
    assert seen == [("a", 0), ("b", 25), ("c", 50), ("d", 75)]
    assert root.percentage == 100


async def test_an_item_of_an_async_loop_counts_after_its_body_ran() -> None:
    root = Progress()
    seen = [(item, root.percentage) async for item in root.track_async(numbers(4), total=4)]
    assert seen == [(0, 0), (1, 25), (2, 50), (3, 75)]
    assert root.percentage == 100


def test_a_loop_stands_for_what_is_left_unless_told_otherwise() -> None:
    root = Progress()
    root.increment(10)
    assert [root.percentage for _ in root.track("ab", represents=20)] == [10, 20]
    assert [root.percentage for _ in root.track("ab")] == [30, 65]
    assert root.percentage == 100


def test_what_is_left_is_known_when_the_loop_starts() -> None:
    root = Progress()
    loop = root.track("ab")
    root.increment(50)
    assert [root.percentage for _ in loop] == [50, 75]


def test_a_loop_over_nothing_is_done() -> None:
    root = Progress()
    assert list(root.track(list[int](), represents=30)) == []
    assert root.percentage == 30


def test_a_generator_needs_a_total() -> None:
    with pytest.raises(InvalidProgress, match=r"a generator does not know .*: pass total="):
        Progress().track(item for item in "ab")
    root = Progress()
    assert [root.percentage for _ in root.track((item for item in "ab"), total=2)] == [0, 50]


@pytest.mark.parametrize(("total", "before_last"), [(4, 25), (1, 100)])
def test_a_wrong_total_is_mended_at_the_end(total: int, before_last: int) -> None:
    root = Progress()
    assert [root.percentage for _ in root.track("ab", total=total)] == [0, before_last]
    assert root.percentage == 100


async def test_a_wrong_total_of_an_async_loop_is_mended_at_the_end() -> None:
    root = Progress()
    assert [root.percentage async for _ in root.track_async(numbers(1), total=4)] == [0]
    assert root.percentage == 100


def test_a_loop_left_early_counts_no_more() -> None:
    root = Progress()
    for item in root.track("abcd"):
        if item == "c":
            break
    assert root.percentage == 50


def test_the_label_of_a_loop_is_set_when_it_starts_and_left_to_its_body_then() -> None:
    root, events = watched()
    for item in root.track("ab", label="loop"):
        root.increment(0, f"body {item}")
    assert [label for _, label in events] == ["loop", "body a", "body a", "body b", "body b"]


# Checkpoints


def reports_of(root: Progress) -> list[Callable[[], Any]]:
    child, loop = root.child(1, 10**6), root.track([1, 2], represents=1)
    return [
        root.increment,
        lambda: root.increment(0),
        lambda: root.set(0),
        lambda: root.child(1, 0),
        child.increment,
        child.finish,
        lambda: next(loop),
        lambda: next(loop),
        lambda: next(loop, None),
    ]


def test_every_report_passes_the_checkpoint() -> None:
    calls: list[int] = []
    root = Progress(10**9, checkpoint=lambda: calls.append(1))
    for report in reports_of(root):
        calls.clear()
        report()
        assert calls


def test_a_checkpoint_that_raises_stops_the_report_before_anything_counts() -> None:
    stopping: list[bool] = []

    def checkpoint() -> None:
        if stopping:
            raise Stop

    root, events = watched(checkpoint=checkpoint)
    child = root.child(50, 2)
    child.increment(1, "half")
    stopping.append(True)
    reports: list[Callable[[], Any]] = [
        lambda: child.increment(1, "more"),
        lambda: child.set(2, "more"),
        lambda: child.finish("more"),
        lambda: root.child(50, 0),
        lambda: next(root.track(list[int](), represents=1), None),
    ]
    for report in reports:
        with pytest.raises(Stop):
            report()
    assert (events, root.percentage, child.percentage) == ([(25, "half")], 25, 50)
    stopping.clear()
    child.increment()
    assert events == [(25, "half"), (50, "half")]


def test_a_checkpoint_may_stop_a_loop() -> None:
    done: list[str] = []

    def checkpoint() -> None:
        if len(done) == 2:
            raise Stop

    root = Progress(checkpoint=checkpoint)

    def work() -> Iterator[str]:
        for item in root.track("abcd"):
            done.append(item)
            yield item

    with pytest.raises(Stop):
        list(work())
    assert (done, root.percentage) == (["a", "b"], 25)


# The listener


def test_a_listener_that_raises_gets_the_next_change() -> None:
    heard: list[int] = []

    def on_change(percentage: int, _label: str | None) -> None:
        heard.append(percentage)
        if percentage == 1:
            raise Stop

    progress = Progress(on_change=on_change)
    with pytest.raises(Stop):
        progress.increment()
    progress.increment()
    assert (heard, progress.percentage) == ([1, 2], 2)


def test_a_listener_may_report_progress_itself() -> None:
    log: list[str] = []

    def on_change(percentage: int, label: str | None) -> None:
        log.append(f"{percentage} {label} begins")
        if label is None:
            progress.increment(1, "again")
        log.append(f"{percentage} {label} ends")

    progress = Progress(on_change=on_change)
    progress.increment()
    assert log == ["1 None begins", "1 None ends", "2 again begins", "2 again ends"]


def test_a_slow_listener_delays_no_reporter_and_no_order() -> None:
    heard: list[int] = []
    entered, released = Event(), Event()

    def on_change(percentage: int, _label: str | None) -> None:
        entered.set()
        assert released.wait(60)
        heard.append(percentage)

    progress = Progress(on_change=on_change)
    slow = Thread(target=progress.increment)
    slow.start()
    assert entered.wait(60)
    progress.increment(4)  # would hang here
    assert (progress.percentage, heard) == (5, [])
    released.set()
    slow.join()
    assert heard == [1, 5]


# Threads


@pytest.fixture
def _eager_switches() -> Iterator[None]:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def in_threads(*bodies: Callable[[], None]) -> None:
    threads = [Thread(target=body) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def repeated(progress: Progress, count: int) -> Callable[[], None]:
    def body() -> None:
        for _ in range(count):
            progress.increment()

    return body


@pytest.mark.usefixtures("_eager_switches")
def test_threads_on_one_node_lose_no_unit() -> None:
    threads, each = 4, 25_000
    units = threads * each
    progress = Progress(2 * (units - 1))  # one unit less would show 50, since 50 is exact then
    in_threads(*[repeated(progress, each)] * threads)
    assert progress.percentage == 51


@pytest.mark.usefixtures("_eager_switches")
def test_threads_on_siblings_lose_no_unit() -> None:
    threads, each = 4, 25_000
    units = threads * each
    root = Progress(2 * (units - 1))
    in_threads(*[repeated(root.child(each, each), each) for _ in range(threads)])
    assert root.percentage == 51


@pytest.mark.usefixtures("_eager_switches")
def test_threads_with_odd_totals_lose_no_unit() -> None:
    totals = (24_989, 24_979, 24_977, 24_971)
    root = Progress(80 - Fraction(1, 1000))  # a hair less than 40 shows 50, the whole 40 shows 51
    in_threads(*[repeated(root.child(10, total), total) for total in totals])
    assert root.percentage == 51


@pytest.mark.usefixtures("_eager_switches")
def test_threads_never_make_events_overlap_or_go_back() -> None:
    heard: list[int] = []
    alone = Lock()

    def on_change(percentage: int, _label: str | None) -> None:
        assert alone.acquire(blocking=False)
        heard.append(percentage)
        alone.release()

    progress = Progress(4000, on_change=on_change)
    in_threads(*[repeated(progress, 1000)] * 4)
    assert heard == sorted(set(heard))
    assert heard[-1] == 100
