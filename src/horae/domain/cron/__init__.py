"""Cron expressions: parsed once into a frozen value, asked for the next fire as often as needed.

What always holds:

- A fire is a whole second. `next_after(t)` is later than `t`, and is the same from every moment
  between two fires; asked with `inclusive=True` at a fire, it answers that fire.
- Instants are compared as instants. Wall times order only what lies in one span of one offset.
- Daylight saving is a policy of the expression, the same for 5, 6 and 7 fields; an expression with
  a star in its second, minute or hour follows the wall clock and has none.
- No next fire is `None`, never a far date. An expression without any fire does not parse.
"""
