"""Rates never exceed their bounds in any window, and owners take turns: the laws of limits by key."""

from collections import Counter
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from horae.domain.limits.choosing import Bucket, Chooser, Lane
from horae.domain.limits.numbers import LimitNumbers
from horae.domain.limits.rate import may_gather, state_now

SECOND = 1_000_000

steps = st.lists(st.integers(0, 3 * SECOND), min_size=1, max_size=30)
weights = st.lists(st.integers(1, 3), min_size=60, max_size=60)


def starts(
    numbers: LimitNumbers, pauses: Sequence[int], heavy: Sequence[int]
) -> list[tuple[int, int]]:
    """Ask for a start after each pause; the moments and weights of those that were allowed."""
    now, stored, started = 10**15, None, []
    for pause, weight in zip(pauses, heavy, strict=False):
        now += pause
        state = state_now(numbers, stored, now)
        if state.wait(numbers, min(weight, numbers.largest_weight)) == 0:
            state = state.taken(numbers, min(weight, numbers.largest_weight))
            started.append((now, min(weight, numbers.largest_weight)))
        stored = state.to_json()
    return started


@given(st.integers(1, 20), st.integers(1, 10 * SECOND), st.integers(1, 10), steps, weights)
def test_no_window_has_more_starts_than_the_rate_and_the_burst(
    amount: int, period: int, burst: int, pauses: list[int], heavy: list[int]
) -> None:
    numbers = LimitNumbers(amount=amount, period=period, burst=burst, window="bucket")
    found = starts(numbers, pauses, heavy)
    for first, (begin, _) in enumerate(found):
        total = 0
        for end, weight in found[first:]:
            total += weight
            assert total * period <= amount * (end - begin) + burst * period


@given(st.integers(1, 20), st.integers(1, 10 * SECOND), steps, weights)
def test_no_sliding_window_has_more_starts_than_allowed(
    amount: int, period: int, pauses: list[int], heavy: list[int]
) -> None:
    numbers = LimitNumbers(amount=amount, period=period, window="sliding")
    found = starts(numbers, pauses, heavy)
    for begin, _ in found:
        assert sum(weight for moment, weight in found if begin <= moment < begin + period) <= amount


@given(
    st.integers(1, 20),
    st.integers(1, 10 * SECOND),
    st.integers(0, 10 * SECOND),
    st.lists(st.integers(0, SECOND)),
)
def test_no_sliding_window_has_more_starts_where_each_comes_as_soon_as_allowed(
    amount: int, period: int, first: int, pauses: list[int]
) -> None:
    """The moments at which a start that was kept with too early a time would leave the window too early."""
    numbers = LimitNumbers(amount=amount, period=period, window="sliding")
    now, stored, moments = 10**15 + first, None, list[int]()
    for pause in [*pauses, *[0] * 2 * amount]:
        state = state_now(numbers, stored, now + pause)
        now += pause + state.wait(numbers, 1)
        stored = state_now(numbers, stored, now).taken(numbers, 1).to_json()
        moments.append(now)
    assert all(
        later - earlier >= period for earlier, later in zip(moments, moments[amount:], strict=False)
    )


@given(
    st.sampled_from(["bucket", "sliding"]),
    st.integers(1, 50),
    st.integers(1000, 10 * SECOND),
    st.data(),
)
def test_a_start_is_allowed_after_the_wait_and_not_before(
    window: str, amount: int, period: int, data: st.DataObject
) -> None:
    burst = data.draw(st.integers(1, 10)) if window == "bucket" else None
    numbers = LimitNumbers(
        amount=amount, period=period, burst=burst, window="bucket" if burst else "sliding"
    )
    now, state = 10**15, state_now(numbers, None, 10**15)
    for _ in range(data.draw(st.integers(1, 80))):
        wait = state.wait(numbers, 1)
        if wait > 0:
            earlier = state_now(numbers, state.to_json(), now + wait - 1)
            assert earlier.wait(numbers, 1) > 0
        now += wait
        state = state_now(numbers, state.to_json(), now).taken(numbers, 1)


@given(st.sampled_from(["bucket", "sliding"]), st.integers(5, 40))
def test_frequent_polling_starts_as_many_as_allowed(window: str, amount: int) -> None:
    numbers = LimitNumbers(
        amount=amount,
        period=SECOND,
        burst=amount if window == "bucket" else None,
        window="bucket" if window == "bucket" else "sliding",
    )
    pauses = [SECOND // (4 * amount)] * (4 * amount * 5)
    count = len(starts(numbers, pauses, [1] * len(pauses)))
    assert (
        0.99 * 5 * amount <= count + 1 <= 5 * amount + 1 + (numbers.burst or 0) + amount // 20 + 1
    )


def lanes_of(sizes: dict[str, int], place: int = 0) -> list[Lane]:
    return [
        Lane(
            id=number,
            priority=0,
            place=place,
            weight=1,
            buckets=(),
            owner=("mail", 0, owner),
            jobs=[(1000 * number + each, place) for each in range(size)],
        )
        for number, (owner, size) in enumerate(sorted(sizes.items()), 1)
    ]


@given(
    st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 20), min_size=1),
    st.integers(1, 200),
    st.lists(st.integers(1, 12), min_size=1, max_size=30),
)
def test_a_job_is_passed_by_at_most_one_job_of_each_other_owner(
    sizes: dict[str, int], late: int, rooms: list[int]
) -> None:
    """Claims of any size, an owner that arrives between them: its job waits for one turn of each waiting owner."""
    lanes, now, order = lanes_of(sizes), 10, list[str]()
    arrives = late % (sum(sizes.values()) + 1)
    newcomer: int | None = None
    for room in (*rooms, 10**6):
        now += 10_000
        if newcomer is None and len(order) >= arrives:
            newcomer = len(order)
            lanes.append(Lane(99, 0, now, 1, (), [(99_000, now)], ("mail", 0, "z")))
        chooser = Chooser(lanes, {}, now)
        choice = chooser.choose(room)
        order += ["z" if job == 99_000 else sorted(sizes)[job // 1000 - 1] for job in choice.jobs]
        for lane in lanes:
            lane.jobs = lane.jobs[choice.taken.get(lane.id, 0) :]
            lane.place = lane.turn = max(lane.turn, lane.place)
    if newcomer is not None:
        before = Counter(order[newcomer : order.index("z")])
        assert all(count <= 1 for count in before.values())
    assert len(order) == sum(sizes.values()) + (newcomer is not None)


def test_an_owner_with_several_lanes_gets_one_turn_in_each_round() -> None:
    mine = [
        Lane(number, 0, 0, 1, (), [(number * 10 + each, 0) for each in range(3)], ("q", 0, "a"))
        for number in (1, 2)
    ]
    other = Lane(3, 0, 0, 1, (), [(30, 0), (31, 0), (32, 0)], ("q", 0, "b"))
    chosen = Chooser([*mine, other], {}, 1000).choose(6).jobs
    assert [job // 30 for job in chosen] == [0, 1, 0, 1, 0, 1]


def test_a_heavy_job_is_not_passed_by_light_ones() -> None:
    bucket = Bucket(1, LimitNumbers(concurrency=4), running=3)
    lanes = [Lane(1, 0, 0, 4, (1,), [(1, 0)]), Lane(2, 0, 5, 1, (1,), [(2, 5), (3, 5)])]
    assert Chooser(lanes, {1: bucket}, 100).choose(10).held == {1: 1, 2: 1}
    bucket.running = 0
    assert Chooser(lanes, {1: bucket}, 100).choose(10).jobs == [1]


def test_lanes_and_plain_jobs_have_one_order() -> None:
    lanes = [Lane(1, 0, 50, 1, (), [(1, 50), (2, 90)]), Lane(2, 5, 70, 1, (), [(3, 70)])]
    plain = [(-9, 1), (0, 40), (0, 60), (0, 80)]
    choice = Chooser(lanes, {}, 100).choose(5, plain)
    assert choice.jobs == [3, 1]
    assert choice.plain == 3


@given(st.integers(1, 50), st.integers(1000, 10 * SECOND), st.integers(2, 50), st.data())
def test_no_start_is_lost_while_starts_gather(
    amount: int, period: int, burst: int, data: st.DataObject
) -> None:
    numbers = LimitNumbers(amount=amount, period=period, burst=burst, window="bucket")
    now, started = 10**15, 0
    state = state_now(numbers, None, now)
    began = now
    for _ in range(data.draw(st.integers(1, 30))):
        while state.wait(numbers, 1) == 0:
            state = state.taken(numbers, 1)
            started += 1
        now += may_gather(state, numbers, state.wait(numbers, 1))
        state = state_now(numbers, state.to_json(), now)
        assert state.wait(numbers, 1) == 0, "it is not asked before there is a start"
    while state.wait(numbers, 1) == 0:
        state = state.taken(numbers, 1)
        started += 1
    assert started == burst + (now - began) * amount // period


@given(st.integers(1, 20), st.integers(1000, 10 * SECOND))
def test_starts_of_a_sliding_window_do_not_gather(amount: int, period: int) -> None:
    numbers = LimitNumbers(amount=amount, period=period, window="sliding")
    state = state_now(numbers, None, 10**15)
    for _ in range(amount):
        state = state.taken(numbers, 1)
    wait = state.wait(numbers, 1)
    assert may_gather(state, numbers, wait) == wait > 0
