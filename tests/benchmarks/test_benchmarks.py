"""Every benchmark runs at a tiny scale, and its report is correct."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import schedules
from benchmarks.__main__ import BENCHMARKS, main
from benchmarks.command import table
from benchmarks.figures import Budget, Figure, Samples, percentile
from benchmarks.ground import Grounds, Scale, open_grounds

TINY = Scale(rounds=1, jobs=20)


@pytest.fixture(scope="module")
def grounds() -> Iterator[Grounds]:
    with open_grounds() as opened:
        yield opened


@pytest.mark.nightly
@pytest.mark.postgres
@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_benchmark_runs(grounds: Grounds, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedules, "NOTICE", 3.0)
    monkeypatch.setattr(schedules, "SETTLING", 0.1)
    figures = BENCHMARKS[name](grounds, TINY)
    assert figures
    for figure in figures:
        assert min(figure.horae.values) >= 0
        assert figure.raw is None or min(figure.raw.values) > 0
        assert figure.kept is None or figure.budget is not None
    assert table(figures).row_count == len(figures)


@pytest.mark.slow
@pytest.mark.postgres
def test_the_command_writes_every_sample(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    status = main(["--only", "single", "--rounds", "2", "--jobs", "40", "--json", str(file)])
    document = json.loads(file.read_text())
    assert {figure["database"] for figure in document["figures"]} == {"PostgreSQL", "SQLite"}
    assert all(len(figure["horae"]) == len(figure["raw"]) == 2 for figure in document["figures"])
    assert status == (0 if all(figure["kept"] for figure in document["figures"]) else 1)
    assert "fsync on" in document["conditions"]["PostgreSQL"]
    assert "journal_mode wal, synchronous 2" in document["conditions"]["SQLite"]


def figure(budget: Budget | None, horae: float, raw: float | None = None) -> Figure:
    return Figure(
        "name",
        "-",
        "jobs/s",
        Samples.of([horae]),
        None if raw is None else Samples.of([raw]),
        budget,
    )


@pytest.mark.parametrize(
    ("tried", "kept"),
    [
        (figure(None, 1, 2), None),
        (figure(Budget("ratio at least", 0.5), 1, 2), True),
        (figure(Budget("ratio at least", 0.6), 1, 2), False),
        (figure(Budget("at least", 5), 5), True),
        (figure(Budget("at least", 5), 4), False),
        (figure(Budget("at most", 5), 5), True),
        (figure(Budget("at most", 5), 6), False),
    ],
)
def test_a_budget_is_kept_or_not(tried: Figure, *, kept: bool | None) -> None:
    assert tried.kept is kept


def test_samples_are_shown_with_their_range() -> None:
    assert str(Samples.of([1500, 900, 12000])) == "1,500 (900-12,000)"
    assert str(Samples.of([2.345])) == "2.35"


@pytest.mark.parametrize(("share", "expected"), [(0.0, 1), (0.5, 50), (0.99, 99), (1.0, 100)])
def test_percentiles_are_values_that_occurred(share: float, expected: int) -> None:
    assert percentile(list(range(100, 0, -1)), share) == expected
