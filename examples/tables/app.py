"""The web application: FastAPI, with Horae's API mounted beside its own endpoints."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final

from fastapi import Body, Depends, FastAPI, HTTPException, Query, Request, Response
from fastapi.responses import FileResponse, JSONResponse
from fastapi.staticfiles import StaticFiles
from pydantic import AfterValidator, BaseModel, Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from examples.tables.jobs import horae, import_table
from examples.tables.tables import (
    COLUMNS,
    City,
    Export,
    TableMissing,
    Upload,
    cities_of,
    engine,
    table_of,
    tables_with_sizes,
)
from horae import Actor, MaxJobCountExceeded, Role

__all__ = ["app", "horae"]  # the names that `uvicorn` and `horae run` load

STATIC: Final = Path(__file__).with_name("static")
COOKIE: Final = "user"
PREVIEW: Final = 10
OPERATOR: Final = "operator"
"""The user who sees and changes the jobs of all users, and the schedules, on the dashboard."""
OPERATOR_ROLES: Final = frozenset({Role.STAFF})
UPKEEP: Final = {
    "recount": "Counts the inhabitants of each table, half a minute after the last count.",
    "purge_exports": "Deletes exports of last week, each night at three in Berlin.",
}

app = FastAPI(title="Tables")


def who_asks(request: Request) -> Actor | None:
    """Tells Horae the current user: the owner of the jobs that are started, and the only one who can see them.

    Any name is accepted here. A real application has a login, and checks its session.
    """
    name = request.cookies.get(COOKIE)
    if not name:
        return None
    return Actor(name, OPERATOR_ROLES) if name == OPERATOR else Actor(name)


app.mount("/background", horae.asgi(authenticate=who_asks))


def signed_in(request: Request) -> str:
    """Return the same user for the application's own endpoints; 401 without one."""
    actor = who_asks(request)
    if actor is None:
        raise HTTPException(401, "Sign in first.")
    return actor.id


def printable(name: str) -> str:
    """Replace what a tag of a job may not contain, such as the narrow spaces in names of screenshots."""
    return "".join(each if each.isprintable() else " " for each in name).strip() or "upload"


User = Annotated[str, Depends(signed_in)]
FileName = Annotated[str, Query(max_length=80), AfterValidator(printable)]


class SignedIn(BaseModel):
    """A user, with a name of letters and digits that fits into a cookie."""

    name: str = Field(pattern=r"^[A-Za-z0-9]{1,20}$")


class TableView(BaseModel):
    """A table in the list."""

    id: int
    name: str
    rows: int
    inhabitants: int | None
    counted_at: datetime | None


class ExportView(BaseModel):
    """An export that can be downloaded."""

    id: int
    name: str


class UpkeepView(BaseModel):
    """A schedule of the application, for its users."""

    id: int | None
    """For staff, whom the dashboard shows its history."""
    name: str
    what: str
    last_finish: datetime | None
    succeeded: bool | None
    next_start: datetime | None


class Started(BaseModel):
    """A job that the page may follow."""

    job_id: int


@app.get("/api/session")
def current_user(request: Request) -> SignedIn | None:
    """Return the current user. None is no error, because the page asks before the user has signed in."""
    actor = who_asks(request)
    return None if actor is None else SignedIn(name=actor.id)


@app.post("/api/session")
def sign_in(person: SignedIn, response: Response) -> SignedIn:
    """Sign in."""
    response.set_cookie(COOKIE, person.name, httponly=True, samesite="strict")
    return person


@app.delete("/api/session", status_code=204)
def sign_out(response: Response) -> None:
    """Sign out."""
    response.delete_cookie(COOKIE)


@app.get("/api/tables")
def list_tables(user: User) -> list[TableView]:
    """Return the tables of the user."""
    with Session(engine) as session:
        return [
            TableView(
                id=table.id,
                name=table.name,
                rows=rows,
                inhabitants=table.inhabitants,
                counted_at=table.counted_at and table.counted_at.replace(tzinfo=UTC),
            )
            for table, rows in tables_with_sizes(session, user)
        ]


@app.get("/api/tables/{table_id}/rows")
def preview(user: User, table_id: int) -> list[list[str | int]]:
    """Return the first rows of a table."""
    with Session(engine) as session:
        found = cities_of(session, table_of(session, user, table_id), limit=PREVIEW)
        return [cells(city) for city in found]


def cells(city: City) -> list[str | int]:
    """A row as the page shows it."""
    return [getattr(city, column) for column in COLUMNS]


@app.post("/api/imports", status_code=202)
def start_import(
    user: User, name: FileName, content: Annotated[bytes, Body(media_type="text/csv")]
) -> Started:
    """Store the file and start its import in one transaction: both happen, or neither.

    The name of the file is a tag of the job: the page shows it, and the dashboard finds it.
    """
    with Session(engine) as session, session.begin():
        upload = Upload(name=name, content=content)
        session.add(upload)
        session.flush()
        job = horae.jobs.start(
            import_table, session=session, owner=user, tags=[name], upload_id=upload.id
        )
    return Started(job_id=job.id)


@app.get("/api/upkeep")
def list_upkeep(user: User) -> list[UpkeepView]:
    """Return the schedules that a user may know about; the dashboard has all of them, for staff."""
    declared = {schedule.name: schedule for schedule in horae.schedules.list()}
    return [
        UpkeepView(
            id=schedule.id if user == OPERATOR else None,
            name=name,
            what=what,
            last_finish=schedule.statistics.last_finish,
            succeeded=schedule.statistics.last_run_success,
            next_start=schedule.next_start,
        )
        for name, what in UPKEEP.items()
        if (schedule := declared.get(name))  # a node declares them when it starts
    ]


@app.get("/api/exports")
def list_exports(user: User) -> list[ExportView]:
    """Return the exports that can be downloaded, the newest first."""
    with Session(engine) as session:
        found = session.execute(
            select(Export.id, Export.name).where(Export.owner == user).order_by(Export.id.desc())
        )
        return [ExportView(id=export_id, name=name) for export_id, name in found]


@app.get("/api/exports/{export_id}")
def fetch_export(user: User, export_id: int) -> Response:
    """Return an export as a file."""
    with Session(engine) as session:
        export = session.get(Export, export_id)
        if export is None or export.owner != user:
            raise HTTPException(404, f"There is no export {export_id}.")
        return Response(
            export.content,
            media_type="text/csv",
            headers={"content-disposition": f'attachment; filename="export-{export_id}.csv"'},
        )


@app.exception_handler(TableMissing)
def answer_missing(_request: Request, error: Exception) -> JSONResponse:
    """Answer 404, also for a table of another user."""
    return JSONResponse({"detail": str(error)}, 404)


@app.exception_handler(MaxJobCountExceeded)
def answer_too_many(_request: Request, _error: Exception) -> JSONResponse:
    """Answer that one import runs already: its `max_count` is 1 for each owner."""
    return JSONResponse(
        {"detail": "Your last import still runs; wait for its end, or cancel it."}, 409
    )


app.mount("/assets", StaticFiles(directory=STATIC / "assets", check_dir=False))


@app.get("/", include_in_schema=False)
def page() -> FileResponse:
    """Serve the page of `web/examples/tables`."""
    index = STATIC / "index.html"
    if not index.exists():
        raise HTTPException(503, "The page has not been built: `make web` does it.")
    return FileResponse(index)
