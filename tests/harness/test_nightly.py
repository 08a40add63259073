"""What no database can change runs on SQLite by day, and on PostgreSQL at night."""

import pytest


@pytest.mark.one_database
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_only_the_night_has_the_other_case(kind: str, request: pytest.FixtureRequest) -> None:
    assert (kind == "postgresql") == ("nightly" in request.config.option.markexpr)


@pytest.mark.nightly
def test_the_night_has_what_the_day_puts_off(request: pytest.FixtureRequest) -> None:
    names = {item.name for item in request.session.items}
    assert "test_only_the_night_has_the_other_case[postgresql]" in names
