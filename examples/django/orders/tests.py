"""The tests of the bookshop: they need no node, and see everything in their own transaction."""

from django.contrib.auth.models import User
from django.core import mail
from django.test import TestCase

from horae.contrib.django import horae
from horae.testing import testing
from orders.jobs import forget_old_orders, ship
from orders.models import Book, Order


class ShopTest(TestCase):
    """Orders, and the jobs that ship them."""

    def setUp(self) -> None:
        """Log a customer in."""
        self.book = Book.objects.create(title="The Hours", stock=2)
        self.customer = User.objects.create_user("ann", "ann@example.com")
        self.client.force_login(self.customer)

    def test_an_order_starts_its_job(self) -> None:
        """The job belongs to the customer."""
        self.client.post("/", {"book": self.book.pk})
        [job] = horae.jobs.list(owner=str(self.customer.pk)).jobs
        assert job.params == {"order": Order.objects.get().pk}

    def test_a_refused_order_starts_none(self) -> None:
        """The order and its job are one transaction."""
        assert self.client.post("/", {"book": 0}).status_code == 404
        assert horae.jobs.list().jobs == []

    def test_shipping_takes_a_book_from_the_stock(self) -> None:
        """With sync=True a job runs here, in the transaction of the test."""
        order = Order.objects.create(book=self.book, customer=self.customer)
        job = horae.jobs.start(ship, order=order.pk, sync=True)
        assert job.state == "finished"
        self.book.refresh_from_db()
        assert self.book.stock == 1
        assert len(horae.jobs.list(types=["orders.tasks.send_confirmation"]).jobs) == 1

    def test_without_stock_nothing_is_shipped(self) -> None:
        """The writes of a failed job are rolled back."""
        Book.objects.update(stock=0)
        order = Order.objects.create(book=self.book, customer=self.customer)
        job = horae.jobs.start(ship, order=order.pk, sync=True, max_attempts=1)
        assert job.state == "failed"
        order.refresh_from_db()
        assert not order.shipped
        assert mail.outbox == []


class BackgroundTest(TestCase):
    """What happens later, at once: in the transaction of the test as well."""

    def test_the_customer_is_told(self) -> None:
        """`drain` runs the job, and the task that it enqueues."""
        customer = User.objects.create_user("bob", "bob@example.com")
        book = Book.objects.create(title="The Hours", stock=1)
        order = Order.objects.create(book=book, customer=customer)
        with testing(horae) as t:
            ship.start(order=order.pk)
            t.drain()
        assert [sent.to for sent in mail.outbox] == [["bob@example.com"]]

    def test_old_orders_are_forgotten_every_night(self) -> None:
        """`run_due` moves the clock of the database."""
        with testing(horae) as t:
            t.run_due("7d")
            assert len(t.started(forget_old_orders)) == 7
