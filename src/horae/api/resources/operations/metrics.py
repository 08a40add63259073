"""`/metrics`: metrics for Prometheus."""

from fastapi import APIRouter
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import Response

from horae.api.dependencies import Reader, ServicesHere

router = APIRouter(tags=["health"])


@router.get(
    "/metrics",
    response_model=None,
    response_class=Response,
    responses={
        200: {
            "description": "The metrics.",
            "content": {"text/plain": {"schema": {"type": "string"}}},
        },
    },
)
async def metrics(services: ServicesHere, _actor: Reader) -> Response:
    """Read the metrics in the text format of Prometheus."""
    return Response(await services.on_thread(services.metrics.text), media_type=CONTENT_TYPE_LATEST)
