"""The OpenAPI document tells the type of a result, from which clients generate theirs."""

from contextlib import closing
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from horae import Horae, JobContext
from tests.api.clients import application_of


class Report(BaseModel):
    """What a job returns."""

    rows: int


class Opaque:
    """A class that no schema describes."""


def test_a_result_has_the_type_that_the_body_returns(tmp_path: Path) -> None:
    with closing(Horae(f"sqlite:///{tmp_path}/horae.db")) as horae:

        @horae.job(public=True)
        def report(job: JobContext) -> Report:
            raise NotImplementedError

        @horae.job(public=True)
        async def count() -> list[int]:
            raise NotImplementedError

        @horae.job(public=True)
        def opaque() -> Opaque:
            raise NotImplementedError

        @horae.job(public=True)
        def nothing() -> None: ...

        document: Any = application_of(horae).openapi()
    schemas = document["components"]["schemas"]

    def result_of(name: str) -> Any:
        return schemas[f"{name}_job"]["properties"]["result"]["anyOf"]

    def answer_of(name: str) -> str:
        answer = document["paths"][f"/api/jobs/types/{name}/"]["post"]["responses"]["202"]
        schema: str = answer["content"]["application/json"]["schema"]["$ref"]
        return schema.rpartition("/")[2]

    assert result_of("report") == [{"$ref": "#/components/schemas/Report"}, {"type": "null"}]
    assert result_of("count")[0] == {"items": {"type": "integer"}, "type": "array"}
    assert (answer_of("opaque"), answer_of("nothing")) == ("JobDetail", "JobDetail")
