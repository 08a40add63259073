"""The plugin of pytest: the fixtures `horae_application` and `horae_testing`.

It loads nothing of Horae's until a test asks for a fixture.
"""

from collections.abc import Generator
from importlib import import_module
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from horae.app import Horae
    from horae.testing import HoraeTesting

OPTION = "horae_application"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that names the application of a project."""
    parser.addini(OPTION, "The application that horae_testing tests, such as shop.jobs:horae.")


@pytest.fixture
def horae_application(request: pytest.FixtureRequest) -> "Horae":
    """The application that `horae_testing` tests; a project may define this fixture itself."""
    where: str = request.config.getini(OPTION)
    module, _, name = where.partition(":")
    if not name:
        pytest.fail(
            f"horae_testing needs an application: set {OPTION} = module:name in the section of"
            " pytest, or define a fixture horae_application that returns it",
            pytrace=False,
        )
    application: Horae = getattr(import_module(module), name)
    return application


@pytest.fixture
def horae_testing(
    request: pytest.FixtureRequest, horae_application: "Horae"
) -> "Generator[HoraeTesting]":
    """The application on a temporary database while the test lasts; see `horae.testing.testing`.

    The mark `horae` gives its arguments: `@pytest.mark.horae(eager=True)`.
    """
    from horae.testing import testing

    mark = request.node.get_closest_marker("horae")
    with testing(horae_application, **({} if mark is None else mark.kwargs)) as test:
        yield test


def pytest_configure(config: pytest.Config) -> None:
    """Declare the mark."""
    config.addinivalue_line(
        "markers", "horae(eager, now): how horae_testing tests the application; see the guide"
    )
