"""The exact arithmetic of a progress tree: fractions over a common denominator, so plain
integers.
"""

from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import gcd, isfinite, lcm
from typing import Final, TypeAlias

from horae.errors import InvalidProgress

Amount: TypeAlias = int | float | Fraction | Decimal

_NOTHING: Final = Fraction(0)


class ExactCount:
    """The exact count of one node, in whole numbers of 1/scale unit, so that a step is integer
    work.

    `peak` is the highest value so far, the one that is shown and credited to the parent. A gained
    step of this count is `weight` steps of the parent while the parent's scale is `fitted`.
    Its board's lock guards it.
    """

    __slots__ = (
        "fitted",
        "limit",
        "parent",
        "peak",
        "represents",
        "scale",
        "threshold",
        "total",
        "value",
        "weight",
    )

    def __init__(
        self, total: Fraction, parent: "ExactCount | None" = None, represents: Fraction = _NOTHING
    ) -> None:
        self.total = total
        self.scale: int = total.denominator
        self.limit: int = total.numerator
        self.value: int = 0
        self.peak: int = 0
        self.threshold: int = 0  # past it, another percentage is shown
        self.parent = parent
        self.represents = represents
        self.weight: int = 0
        self.fitted: int = 0

    @property
    def percentage(self) -> int:
        """The peak's share of the limit in percent, rounded up."""
        return -(-100 * self.peak // self.limit) if self.limit else 100

    def move(self, value: int) -> bool:
        """Set the value and credit the parents with the increase; return whether the visible
        percentage changed.
        """
        count = self
        while True:
            if value > count.limit:  # noqa: PLR1730 - a call to min() doubles the cost of a level
                value = count.limit
            count.value = value
            gained = value - count.peak
            if gained <= 0:
                return False
            count.peak = value
            parent = count.parent
            if parent is None:
                return value > count.threshold and count.mark()
            if count.fitted != parent.scale:
                count.fit(parent)
            value = parent.value + gained * count.weight
            count = parent

    def mark(self) -> bool:
        """Put the threshold where the percentage changes next."""
        self.threshold = self.percentage * self.limit // 100
        return True

    def fit(self, parent: "ExactCount") -> None:
        """Make one step of this count a whole number of the parent's."""
        self.weight = parent.steps(self.represents / self.limit)
        self.fitted = parent.scale

    def steps(self, amount: int | Fraction) -> int:
        """Count an amount of units in steps, after refining the scale if it is too coarse."""
        if self.scale % amount.denominator:
            self.refine(amount.denominator)
        return amount.numerator * (self.scale // amount.denominator)

    def refine(self, denominator: int) -> None:
        """Make the scale divisible by `denominator`, and remove factors that no count needs any
        more.

        Otherwise the totals of a thousand children, one after another, would multiply into the
        scale. Children that still need a finer one notice at their next step, and refine it again.
        """
        surplus = gcd(self.scale, self.limit, self.value, self.peak)
        coarse = self.scale // surplus
        factor = lcm(coarse, denominator) // coarse
        self.scale = coarse * factor
        self.limit = self.limit // surplus * factor
        self.value = self.value // surplus * factor
        self.peak = self.peak // surplus * factor
        self.fitted = 0
        self.mark()


def exact_amount(amount: Amount) -> Fraction:
    """Read an amount, or raise `InvalidProgress`."""
    exact = _of_float(float(amount)) if isinstance(amount, float) else _of_number(amount)
    if exact is None or exact.numerator < 0:
        raise InvalidProgress(f"progress {amount!r}: expected a finite number, not below zero")
    return exact


def _of_number(number: int | Fraction | Decimal) -> Fraction | None:
    try:
        return None if isinstance(number, str) else Fraction(number)
    except (TypeError, ValueError, OverflowError):
        return None


@lru_cache(maxsize=1024)
def _of_float(number: float) -> Fraction | None:
    # By its shortest decimal: three times 0.1 is to be 30 %, where exact binary would show 31.
    return Fraction(repr(number)) if isfinite(number) else None
