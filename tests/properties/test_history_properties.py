"""Laws of the history: merging, coarsening, which bucket is next, and what a chart is given."""

from bisect import bisect_left
from datetime import UTC, datetime, timedelta
from functools import partial, reduce
from operator import attrgetter

from hypothesis import given
from hypothesis import strategies as st

from horae.domain.history import (
    BOUNDS,
    LENGTHS,
    Figures,
    Gauges,
    HistoryBucket,
    Named,
    StoredBucket,
    Window,
    closed_by,
    courses_of,
    figures_of,
    floor,
    merged_buckets,
    next_bucket,
    percentile,
    points_of,
    seconds_until_next,
    window_of,
    without_overlaps,
)
from horae.domain.history.buckets import CATCH_UP
from horae.domain.history.durations import added
from horae.domain.history.figures import MOST_NAMES, all_together, busiest, merged

everything = attrgetter("everything")
slot_of = partial(bisect_left, BOUNDS)
SHORTEST = timedelta(seconds=LENGTHS[0].seconds)
NOON = datetime(2026, 3, 29, 12, tzinfo=UTC)

counts = st.integers(0, 50)
durations = st.dictionaries(st.integers(0, len(BOUNDS)), st.integers(1, 20), max_size=5)
gauges = st.builds(
    Gauges,
    waiting=counts,
    lateness=st.integers(0, 10_000).map(float),
    slots=st.none() | counts,
    slots_used=counts,
)
figures = st.builds(
    Figures,
    finished=counts,
    failed=counts,
    cancelled=counts,
    waits=durations,
    runs=durations,
    gauges=st.none() | gauges,
)
named = st.builds(
    Named, st.dictionaries(st.sampled_from("abcde"), figures, max_size=5), st.none() | figures
)
buckets = st.builds(HistoryBucket, figures, named, named)
moments = st.integers(-(10**9), 10**9).map(
    lambda each: NOON + timedelta(microseconds=each * 77_777)
)


@given(st.lists(figures, min_size=1, max_size=6), st.data())
def test_figures_may_be_merged_in_any_grouping(parts: list[Figures], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(parts) - 1))
    for merge in (merged, all_together):
        whole = merge(parts)
        assert merge([merge(parts[: cut + 1]), *parts[cut + 1 :]]) == whole
        assert merge(parts[::-1]) == whole


@given(st.lists(buckets, min_size=1, max_size=5))
def test_buckets_may_be_merged_one_after_the_other(parts: list[HistoryBucket]) -> None:
    one_by_one = reduce(lambda first, second: merged_buckets([first, second]), parts)
    assert merged_buckets([one_by_one]) == merged_buckets(parts)


@given(figures, named)
def test_what_is_stored_is_read_as_it_was(each: Figures, names: Named) -> None:
    assert Figures.from_json(each.as_json()) == each
    assert Named.from_json(names.as_json()) == names


@given(st.dictionaries(st.text(max_size=3), figures, max_size=8), st.integers(0, 5))
def test_the_rest_is_counted_together(by_name: dict[str, Figures], most: int) -> None:
    found = busiest(Named(by_name), most)
    assert len(found.by_name) == min(most, len(by_name))
    parts = [*found.by_name.values(), *([] if found.other is None else [found.other])]
    ended = sum(each.ended for each in by_name.values())
    assert sum(each.ended for each in parts) == ended
    if found.other is not None:
        least = min(
            (each.ended for each in found.by_name.values() if each.gauges is None), default=0
        )
        rest = [
            name for name in by_name if name not in found.by_name and by_name[name].gauges is None
        ]
        assert all(by_name[name].ended <= least or not found.by_name for name in rest) or any(
            each.gauges is not None for each in by_name.values()
        )


def test_a_bucket_of_a_thousand_names_is_bounded() -> None:
    many = Named({f"queue-{n:04}": Figures(finished=n) for n in range(1000)})
    for _ in range(3):
        many = merged_buckets([HistoryBucket(Figures(), many, many)] * 2).queues
    assert len(many.by_name) == MOST_NAMES
    assert "queue-0999" in many.by_name
    assert many.other is not None
    assert many.other.finished == 8 * sum(range(1000 - MOST_NAMES))


@given(st.floats(0, 10**6), st.floats(0, 10**6))
def test_longer_durations_are_counted_later(one: float, other: float) -> None:
    assert (slot_of(one) <= slot_of(other)) or one > other


@given(st.lists(st.floats(0.001, 200_000), min_size=1, max_size=200), st.sampled_from((0.5, 0.95)))
def test_a_percentile_is_off_by_less_than_the_width_of_a_slot(
    seconds: list[float], share: float
) -> None:
    slots = added({slot_of(each): 1} for each in seconds)
    found = percentile(slots, share)
    exact = sorted(seconds)[max(0, -int(-share * len(seconds) // 1) - 1)]
    assert found is not None
    assert exact / 1.4143 <= found <= exact * 1.4143


@given(st.none() | moments, moments)
def test_the_next_bucket_is_over_and_the_nodes_catch_up_in_the_end(
    reached: datetime | None, now: datetime
) -> None:
    for rounds in range(CATCH_UP // LENGTHS[0].seconds + 3):
        start = next_bucket(reached, now)
        if start is None:
            break
        assert start + SHORTEST <= now
        assert floor(start, LENGTHS[0].seconds) == start or start == reached
        assert rounds == 0 or start == reached
        assert now - start <= timedelta(seconds=CATCH_UP) + 3 * SHORTEST
        reached = start + SHORTEST
    else:
        raise AssertionError("never up to date")
    assert 0 < seconds_until_next(now) <= LENGTHS[0].seconds


@given(st.lists(st.booleans(), min_size=1, max_size=800))
def test_whatever_is_missing_each_longer_bucket_is_closed_once(written: list[bool]) -> None:
    """Of the shortest buckets some are never written, because no node was there."""
    reached: datetime | None = None
    closed: list[tuple[int, datetime]] = []
    for number, is_there in enumerate(written):
        start = NOON + number * SHORTEST
        if is_there:
            closed += [(length.seconds, begun) for _, length, begun in closed_by(reached, start)]
            reached = start + SHORTEST
    assert len(closed) == len(set(closed))
    end = NOON + len(written) * SHORTEST
    last = max((n for n, is_there in enumerate(written) if is_there), default=-1)
    for length in LENGTHS[1:]:
        expected = {
            floor(NOON + n * SHORTEST, length.seconds) for n in range(len(written)) if written[n]
        }
        reached_by_last = NOON + (last + 1) * SHORTEST
        done = {
            each for each in expected if each + timedelta(seconds=length.seconds) <= reached_by_last
        }
        assert {begun for seconds, begun in closed if seconds == length.seconds} == done
    assert end >= NOON


@given(st.integers(600, 30 * 86_400), st.integers(0, 40 * 86_400), st.sampled_from((10, 60, 400)))
def test_a_window_has_at_most_so_many_steps_of_buckets_that_are_kept(
    span: int, ago: int, points: int
) -> None:
    until = NOON - timedelta(seconds=ago)
    window = window_of(until - timedelta(seconds=span), until, NOON, points)
    assert window.step % window.stored.seconds == 0
    assert window.start <= until - timedelta(seconds=span)
    found = points_of([], everything, window)
    assert all(point.figures is None and not point.seconds for point in found)
    assert found[-1].at < until <= found[-1].at + timedelta(seconds=window.step)
    assert len(found) <= points or window.step == 86_400 or window.stored == LENGTHS[-1]


def finished(count: int) -> HistoryBucket:
    return HistoryBucket(Figures(finished=count), Named({}), Named({}))


@given(st.sets(st.integers(0, 359), max_size=80), st.integers(1, 5))
def test_a_gap_is_no_zero_and_nothing_is_counted_twice(
    written: set[int], whole_minutes: int
) -> None:
    """Minutes that are complete are there twice: as buckets of a minute, and of ten seconds."""
    parts = [StoredBucket(NOON + n * SHORTEST, 10, finished(1)) for n in written]
    for minute in range(whole_minutes):
        inside = [n for n in written if n // 6 == minute]
        if inside:
            start = NOON + timedelta(minutes=minute)
            parts.append(StoredBucket(start, 60, finished(len(inside))))
    window = window_of(NOON, NOON + timedelta(hours=1), NOON + timedelta(hours=1), 60)
    points = points_of(without_overlaps(parts), everything, window)
    assert sum(point.figures.finished for point in points if point.figures) == len(written)
    for number, point in enumerate(points):
        assert (point.figures is None) == all(n // 6 != number for n in written)


@given(st.lists(buckets, max_size=12))
def test_a_course_is_what_the_points_of_its_name_are(parts: list[HistoryBucket]) -> None:
    start = floor(NOON, 60)
    stored = [
        StoredBucket(start + number * timedelta(seconds=10), 10, each)
        for number, each in enumerate(parts)
    ]
    window = Window(start=start, until=start + timedelta(minutes=3), step=60, stored=LENGTHS[0])
    courses = courses_of(stored, lambda bucket: bucket.queues, "abcde", window)
    for name, course in courses.items():

        def of_name(bucket: HistoryBucket, name: str = name) -> Figures | None:
            return figures_of(bucket.queues, name, bucket.everything)

        points = points_of(stored, of_name, window)
        seen = [None if point.figures is None else point.figures.gauges for point in points]
        assert course.waiting == [None if each is None else each.waiting for each in seen]
        assert course.ended == [
            None if point.figures is None else point.figures.ended for point in points
        ]
        whole = merged([found for each in parts if (found := of_name(each)) is not None])
        assert course.seconds == sum(point.seconds for point in points)
        assert (course.finished, course.failed, course.cancelled, course.waits, course.runs) == (
            whole.finished,
            whole.failed,
            whole.cancelled,
            whole.waits,
            whole.runs,
        )
