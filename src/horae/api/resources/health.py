"""`/healthz` and `/readyz`: for whoever starts, stops and balances processes. Open to all, and telling nothing else."""

import logging
from functools import partial

from fastapi import APIRouter
from pydantic import BaseModel
from starlette.responses import JSONResponse, Response

from horae.api.dependencies import ServicesHere
from horae.errors import SchemaMismatch
from horae.storage.migrations import runner as migrations

router = APIRouter(tags=["health"])
log = logging.getLogger("horae.api")


class Health(BaseModel):
    """Whether all is well."""

    status: str


@router.get("/healthz")
async def health() -> Health:
    """Tell that the process answers."""
    return Health(status="ok")


@router.get("/readyz", response_model=Health, responses={503: {"model": Health, "description": "It cannot serve now."}})
async def readiness(services: ServicesHere) -> Response:
    """Tell that the database answers and has the tables that this program needs."""
    status = await services.on_thread(partial(_status, services))
    return JSONResponse({"status": status}, 200 if status == "ready" else 503)


def _status(services: ServicesHere) -> str:
    try:
        migrations.check(services.components.database)
    except SchemaMismatch as error:
        log.warning("not ready: %s", error)
        return "migrations"
    except Exception as error:  # noqa: BLE001 - whatever it is, the answer is no
        log.warning("not ready: %s", error)
        return "database"
    return "ready"
