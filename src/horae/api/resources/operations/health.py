"""`/healthz` and `/readyz`: health checks for supervisors and load balancers, open to everybody."""

from fastapi import APIRouter
from pydantic import BaseModel
from starlette.responses import JSONResponse, Response

from horae.api.dependencies import ServicesHere
from horae.errors import SchemaMismatch
from horae.guarded_log import guarded_log
from horae.storage.migrations import runner as migrations

router = APIRouter(tags=["health"])
log = guarded_log("horae.api")


class Health(BaseModel):
    """The status of this process."""

    status: str


@router.get("/healthz")
async def health() -> Health:
    """Report that the process responds."""
    return Health(status="ok")


@router.get(
    "/readyz",
    response_model=Health,
    responses={503: {"model": Health, "description": "Not ready."}},
)
async def readiness(services: ServicesHere) -> Response:
    """Report whether the database responds and has the tables of this version."""
    try:
        await services.on_thread(migrations.check, services.components.database)
    except Exception as error:  # noqa: BLE001 - whatever is wrong, the program is not ready
        log.warning("not ready: %s", error)
        status = "migrations" if isinstance(error, SchemaMismatch) else "database"
        return JSONResponse({"status": status}, 503)
    return JSONResponse({"status": "ready"})
