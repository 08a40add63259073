"""Horae in Django's admin: one page with the last jobs and the schedules, and links to the
dashboard.
"""

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from typing_extensions import override

from horae.contrib.django.actors import actor_of
from horae.contrib.django.application import horae
from horae.contrib.django.models import Dashboard
from horae.errors import Unavailable

if TYPE_CHECKING:
    ModelAdmin = admin.ModelAdmin[Dashboard]
else:  # the class of Django is not generic
    ModelAdmin = admin.ModelAdmin


@admin.register(Dashboard)
class DashboardAdmin(ModelAdmin):
    """Shows jobs and schedules, and changes nothing."""

    @override
    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return whether the user may see the jobs of all over the API, too."""
        actor = actor_of(request.user)
        return actor is not None and actor.sees_all

    @override
    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    @override
    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    @override
    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @override
    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @override
    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show the page; raises `PermissionDenied`."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        shown: dict[str, Any] = {"jobs": [], "schedules": [], "problem": None}
        try:
            shown["jobs"] = horae.jobs.list(limit=50).jobs
            shown["schedules"] = horae.schedules.list(module=horae.module)
        except Unavailable as error:
            shown["problem"] = str(error)
        context = {
            **self.admin_site.each_context(request),
            **shown,
            "title": "Jobs and schedules",
            "opts": self.opts,
            "dashboard": horae.dashboard,
            **(extra_context or {}),
        }
        return TemplateResponse(request, "horae/admin.html", context)
