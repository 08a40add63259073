"""Makes the HTTP interface of the parts that `app.py` has chosen."""

from horae.api.application import HttpInterface, http_interface
from horae.api.security.actor import Authenticate
from horae.api.services import Services
from horae.handler.async_jobs import AsyncJobs
from horae.handler.jobs import Jobs
from horae.runtime.parts import Parts
from horae.settings import Settings


def assemble(
    settings: Settings, parts: Parts, jobs: Jobs, async_jobs: AsyncJobs, authenticate: Authenticate | None
) -> HttpInterface:
    """The ASGI application; raises `InvalidJobType` and `ConfigurationError`."""
    services = Services(settings=settings, parts=parts, jobs=async_jobs, jobs_on_threads=jobs, asked_by=authenticate)
    return http_interface(services)
