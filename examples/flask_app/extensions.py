"""What the application shares: the session of its database, and Horae."""

from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, scoped_session, sessionmaker

from horae.contrib.flask import FlaskHorae

new_session = sessionmaker()
session = scoped_session(new_session)


class Base(DeclarativeBase): ...


class Order(Base):
    __tablename__ = "orders"
    id: Mapped[int] = mapped_column(primary_key=True)
    customer: Mapped[str]
    what: Mapped[str]
    state: Mapped[str] = mapped_column(default="ordered")


horae = FlaskHorae()
