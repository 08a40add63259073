"""An option of a job type or of a queue is declared once; what repeats its name is compared with it."""

import inspect
from pathlib import Path
from typing import Final, get_type_hints

import pytest

from horae import Horae
from horae.api.resources.operations.queues import QueueItem
from horae.cli.commands.types import as_values
from horae.storage.jobs import queues
from horae.storage.queues import QueueView
from horae.storage.queues.declared_queues import DECLARABLE
from horae.types import TYPE_OPTIONS, JobFunction, JobKeywords, JobType
from horae.types.options import QUEUE_OPTIONS

GUIDES: Final = Path(__file__).parents[2] / "docs" / "guides"


def nothing() -> None: ...


@pytest.mark.parametrize("option", TYPE_OPTIONS)
def test_an_option_of_a_job_type(option: str) -> None:
    assert get_type_hints(JobKeywords)[option] == get_type_hints(JobType)[option]
    shown = TYPE_OPTIONS[option].show is not None
    assert (option in as_values(JobFunction(nothing).job_type)) is shown
    assert f"`{option}`" in (GUIDES / "jobs.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("column", QUEUE_OPTIONS)
def test_an_option_of_a_queue(column: str) -> None:
    option = QUEUE_OPTIONS[column]
    assert option.keyword in inspect.signature(Horae.queue).parameters
    assert column in queues.c
    assert column in QueueView.__slots__
    assert QueueItem.model_fields[column].description == option.description
    assert f"{option.keyword}=" in (GUIDES / "limits.md").read_text(encoding="utf-8")


def test_the_columns_that_code_may_declare_are_the_options_of_a_queue() -> None:
    assert tuple(QUEUE_OPTIONS) == DECLARABLE
