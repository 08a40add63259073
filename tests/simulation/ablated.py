"""A plugin of pytest that removes the guard which `HORAE_ABLATION` names, for the whole run."""

import os
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import pytest

from tests.simulation.ablate import VARIABLE
from tests.simulation.ablations import ABLATIONS


def pytest_configure(config: pytest.Config) -> None:
    removal = ABLATIONS[os.environ[VARIABLE]].patch()
    removal.__enter__()
    config.add_cleanup(partial(_end, removal))


def _end(removal: AbstractContextManager[Any]) -> None:
    removal.__exit__(None, None, None)
