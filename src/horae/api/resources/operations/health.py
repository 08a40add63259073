"""`/healthz` and `/readyz`: health checks for supervisors and load balancers, open to everybody."""

from functools import partial

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
    status = await services.on_thread(partial(_status, services))
    return JSONResponse({"status": status}, 200 if status == "ready" else 503)


def _status(services: ServicesHere) -> str:
    try:
        migrations.check(services.components.database)
    except SchemaMismatch as error:
        log.warning("not ready: %s", error)
        return "migrations"
    except Exception as error:  # noqa: BLE001 - not ready, whatever the error
        log.warning("not ready: %s", error)
        return "database"
    return "ready"
