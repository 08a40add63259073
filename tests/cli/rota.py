"""An application that declares schedules, for the tests of the command line."""

from horae import Horae

horae = Horae()


@horae.cron("0 3 * * *", timezone="Europe/Berlin")
def purge_sessions() -> None: ...


@horae.every("10m", retry_period="30s")
async def refresh_rates() -> None: ...
