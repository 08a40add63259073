"""An application with a few job types, as the API shows them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import BaseModel, Field
from typing_extensions import override

from horae import Horae, Job, JobContext, JobType
from horae.types.parameters.secret import Secret

MISSING = 404


class TableMissing(Exception):
    """There is no such table."""


class DuplicateParameters(BaseModel):
    """What to duplicate."""

    table_id: int = Field(ge=1, description="The table to copy.")
    name: str = Field("copy", max_length=50, description="What to call the copy.")


class Duplicated(BaseModel):
    """What a response adds."""

    copied_table: str | None = Field(None, description="The name of the copy.")


class DuplicateTable(JobType[DuplicateParameters]):
    """Make a copy of a table."""

    type = "duplicate_table"
    public = True
    params = DuplicateParameters
    response_model = Duplicated
    api_exceptions_map = MappingProxyType(
        {
            TableMissing: ("ERROR_TABLE_DOES_NOT_EXIST", 404, "There is no such table: {e}"),
            PermissionError: "ERROR_TABLE_LOCKED",
        }
    )

    @override
    def prepare_values(self, values: dict[str, Any], owner: str | None) -> Mapping[str, Any]:
        if values["table_id"] == MISSING:
            raise TableMissing("404")
        if values["table_id"] == 423:
            raise PermissionError("table 423 is locked")
        return values

    @override
    def run(self, job: JobContext[DuplicateParameters]) -> int:
        return job.params.table_id

    @override
    def describe(self, job: Job) -> Mapping[str, Any]:
        return {"copied_table": job.params["name"], "id": "never this"}


def add_types(horae: Horae) -> Horae:
    """The same types on any application."""
    horae.register(DuplicateTable)

    @horae.job(public=True, max_count=2)
    def export_table(
        job: JobContext, table_id: int, password: Annotated[str | None, Secret()] = None
    ) -> str:
        """Write a table to a file."""
        for _ in job.progress.track(range(10)):
            pass
        return f"table-{table_id}.csv"

    @horae.job(max_count=None)
    def rebuild_index(shards: int = 4) -> int:
        return shards

    return horae
