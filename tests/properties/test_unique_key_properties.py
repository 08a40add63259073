"""Equal parameters have one unique key, in whatever order and type they are given; other parameters have another."""

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, SecretStr, create_model

from horae import Secret
from horae.domain.jobs.job import ACTIVE, JobState
from horae.domain.jobs.uniqueness import Debounce, Unique, UniqueKey
from horae.errors import InvalidRequest
from horae.types.parameters.unique_key import PREFIX, check_names, key_of

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
DATA = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


class Anything(BaseModel):
    value: Any = None
    other: Any = None


def key(value: Any, by: tuple[str, ...] | None = ("value",), owner: str | None = None) -> str:
    return key_of(owner, Anything(value=value), by)


def reordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: reordered(each) for name, each in reversed(value.items())}
    if isinstance(value, list):
        return [reordered(each) for each in value]
    exact = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53
    return float(value) if exact else value


def distinct(value: Any) -> Any:
    """A form that `==` compares like JSON does: true is not 1."""
    if isinstance(value, dict):
        return ("dict", {name: distinct(each) for name, each in value.items()})
    if isinstance(value, list):
        return ("list", [distinct(each) for each in value])
    return (isinstance(value, bool), value)


@given(DATA)
def test_the_order_of_mappings_and_the_kind_of_a_number_do_not_matter(value: Any) -> None:
    assert key(value) == key(reordered(value))


@given(DATA, DATA)
def test_keys_are_equal_exactly_if_the_values_are(one: Any, other: Any) -> None:
    assert (key(one) == key(other)) == (distinct(one) == distinct(other))


@given(st.sets(st.text() | st.integers()), st.randoms(use_true_random=False))
def test_the_order_of_sets_does_not_matter(values: set[Any], rng: Any) -> None:
    mixed = list(values)
    rng.shuffle(mixed)
    assert key(values) == key(frozenset(mixed))
    assert len(values) < 1 or key(values) != key(values - {mixed[0]})


@given(
    st.datetimes(min_value=datetime(1900, 1, 1), max_value=datetime(2100, 1, 1)),  # noqa: DTZ001
    st.integers(-720, 720),
)
def test_one_moment_has_one_key_in_every_zone(moment: datetime, minutes: int) -> None:
    utc = moment.replace(tzinfo=UTC)
    assert key(utc) == key(utc.astimezone(timezone(timedelta(minutes=minutes))))


def test_decimals_are_compared_by_value() -> None:
    assert key(Decimal("1.0")) == key(Decimal("1.00")) != key(Decimal("1.01"))


@given(st.text(), st.text(min_size=1), st.text(min_size=1))
def test_owners_never_share_a_key(value: str, owner: str, other: str) -> None:
    assert (key(value, owner=owner) == key(value, owner=other)) == (owner == other)
    assert key(value, owner=owner) != key(value)


def test_only_the_named_parameters_count() -> None:
    one, other = (
        Anything(value={"id": 1, "name": "a"}, other=1),
        Anything(value={"id": 1, "name": "b"}, other=2),
    )
    assert key_of(None, one, None) != key_of(None, other, None)
    assert key_of(None, one, ("value.id",)) == key_of(None, other, ("value.id",))
    assert key_of(None, one, ("value.name",)) != key_of(None, other, ("value.name",))
    assert key_of(None, one, ()) == key_of(None, other, ())


def test_nested_models_count_by_their_fields() -> None:
    class Address(BaseModel):
        city: str
        street: str

    one, other = (
        Anything(value=Address(city="Athens", street=street)) for street in ("Ermou", "Athinas")
    )
    assert key_of(None, one, ("value.city",)) == key_of(None, other, ("value.city",))
    assert key_of(None, one, ("value",)) != key_of(None, other, ("value",))


def test_no_secret_is_in_a_key() -> None:
    account = create_model("Account", name=(str, ...), key=(Annotated[str, Secret()], ...))
    model = create_model(
        "Login",
        password=(Annotated[SecretStr, Secret()], ...),
        user=(str, ...),
        account=(account, ...),
    )
    for by, named in (
        (None, "all parameters are compared, and of them 'password'"),
        (["password"], "by names 'password'"),
        (["user", "account"], "by names 'account'"),
        (["account.key"], "by names 'account.key'"),
    ):
        with pytest.raises(InvalidRequest, match=f"{named}, which is secret or contains a secret"):
            check_names(by, model)
    check_names(["user", "account.name"], model)
    key = key_of(
        None, model(password="hunter2", user="alice", account={"name": "n", "key": "k"}), ["user"]
    )
    assert key.startswith(PREFIX)
    assert "alice" not in key
    assert len(key) <= 200


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"by": "customer_id"}, "by is 'customer_id', expected names of parameters"),
    ({"by": ("a", "a")}, "which names a parameter twice"),
    ({"by": ("a..b",)}, "expected names of parameters"),
    ({"by": (1,)}, "expected names of parameters"),
    ({"within": 60}, 'within is 60, expected a duration such as "5m"'),
    ({"within": "0s"}, "within is '0s', expected a duration of more than zero"),
    (
        {"states": "pending"},
        "states is 'pending', expected some of pending, started, finished, failed, cancelled",
    ),
    ({"states": ()}, "expected some of pending"),
    ({"states": ["running"]}, "expected some of pending"),
    ({"on_duplicate": "ignore"}, "on_duplicate 'ignore': expected 'refuse', 'return' or 'replace'"),
]


@pytest.mark.parametrize(("options", "error"), REFUSED)
def test_a_wrong_rule_is_refused(options: dict[str, Any], error: str) -> None:
    with pytest.raises(InvalidRequest, match=error):
        Unique(**options)


@pytest.mark.parametrize(
    ("wait", "more", "error"),
    [
        ("0s", {}, "debounce is '0s', expected a duration of more than zero"),
        (30, {}, "debounce is 30, expected a duration"),
        ("1m", {"max_wait": "30s"}, "max_wait is 0:00:30, expected at least the wait of 0:01:00"),
        ("1m", {"by": "a"}, "by is 'a'"),
    ],
)
def test_a_wrong_debounce_is_refused(wait: Any, more: dict[str, Any], error: str) -> None:
    with pytest.raises(InvalidRequest, match=error):
        Debounce(wait, **more)


def test_an_unknown_parameter_is_refused_with_those_that_exist() -> None:
    with pytest.raises(InvalidRequest, match="which is no parameter"):
        check_names(("vlue",), Anything)
    check_names(("value.anything",), Anything)


@given(st.sets(st.sampled_from(list(JobState)), min_size=1))
def test_only_a_rule_for_exactly_the_active_states_is_left_to_the_index(
    states: set[JobState],
) -> None:
    made = UniqueKey("key", "key", Unique(states=states).blocking_states)
    assert made.needs_latest_rows == (states != ACTIVE)
    assert made.may_be_shared == (not states >= ACTIVE)


@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_a_debounced_job_waits_for_a_bounded_time(wait: int, most: int) -> None:
    unbounded = Debounce(timedelta(seconds=wait))
    assert unbounded.max_seconds == 10 * unbounded.seconds
    if most >= wait:
        assert Debounce(timedelta(seconds=wait), timedelta(seconds=most)).max_seconds == most
