"""`/api/openapi.json`: the OpenAPI document, for authenticated users."""

from typing import cast

from fastapi import APIRouter, FastAPI
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from horae.api.dependencies import Authenticated

router = APIRouter(include_in_schema=False)


@router.get("/api/openapi.json")
async def document(request: Request, _actor: Authenticated) -> Response:
    """Read the OpenAPI document."""
    return JSONResponse(cast("FastAPI", request.app).openapi())
