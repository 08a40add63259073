"""The same with Horae: `horae run examples.moved_celery.after:horae` is worker, scheduler and page.

`horae import celery examples.moved_celery.before:app` printed it; then the bodies were moved.
"""

from examples.moved_celery.shop import ShopAway, invoice_text, old_carts, send
from horae import Backoff, Horae, Limit

horae = Horae()


# Celery's rate limit holds for each worker, this one for all nodes together.
@horae.job(
    name="shop.send_invoice",
    queue="mail",
    max_attempts=5,
    backoff=Backoff(base="1s", cap="10m", jitter=1.0),
    retry_on=(ShopAway,),
    soft_time_limit=None,
    limits=[Limit(rate="10/m")],
)
def send_invoice(order: int) -> str:
    return send(invoice_text(order))


@horae.job(name="shop.purge_carts", soft_time_limit=None)
def purge_carts(days: int) -> int:
    return old_carts(days)


@horae.cron("0 3 * * *", name="nightly", soft_time_limit=None, timezone="Europe/Berlin")
def nightly() -> None:
    purge_carts(days=30)
