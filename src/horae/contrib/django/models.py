"""The permission to see Horae's dashboard, and the entry of Horae in Django's admin."""

from django.db import models
from typing_extensions import override


class Dashboard(models.Model):
    """Stands for the jobs and schedules in the admin and among the permissions; has no table."""

    id: "models.BigAutoField[int, int]" = models.BigAutoField(primary_key=True)

    class Meta:
        """It has one permission, `horae.view_dashboard`: Django makes that of each app's models."""

        app_label = "horae"
        managed = False
        default_permissions = ("view",)
        verbose_name = "jobs and schedules"
        verbose_name_plural = "jobs and schedules"

    @override
    def __str__(self) -> str:
        """Return what it stands for."""
        return "jobs and schedules"
