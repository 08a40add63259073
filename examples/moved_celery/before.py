"""A shop's tasks with Celery: a broker, a worker, a beat and the task module."""

from celery import Celery
from celery.schedules import crontab

from examples.moved_celery.shop import ShopAway, invoice_text, old_carts, send

app = Celery("shop", broker="redis://localhost/0")
app.conf.update(
    timezone="Europe/Berlin",
    task_routes={"shop.send_invoice": {"queue": "mail"}},
    beat_schedule={
        "nightly": {
            "task": "shop.purge_carts",
            "schedule": crontab(hour=3, minute=0),
            "kwargs": {"days": 30},
        },
    },
)


@app.task(
    name="shop.send_invoice",
    autoretry_for=(ShopAway,),
    max_retries=4,
    retry_backoff=True,
    rate_limit="10/m",
)
def send_invoice(order: int) -> str:
    return send(invoice_text(order))


@app.task(name="shop.purge_carts")
def purge_carts(days: int) -> int:
    return old_carts(days)
