"""Makes the HTTP interface of the components that `app.py` has chosen."""

from horae.api.application import HttpInterface, http_interface
from horae.api.security.actor import Authenticate
from horae.api.services import Handlers, Services
from horae.runtime.components import Components
from horae.settings import Settings

__all__ = ["Handlers", "assemble"]


def assemble(
    settings: Settings, components: Components, handlers: Handlers, authenticate: Authenticate | None
) -> HttpInterface:  # fmt: skip
    """The ASGI application; raises `InvalidJobType` and `ConfigurationError`."""
    return http_interface(Services(settings=settings, components=components, handlers=handlers, requested=authenticate))
