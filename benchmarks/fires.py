"""`next_after` beside croniter, as `benchmarks.cron` measures it."""

from benchmarks import cron
from benchmarks.figures import Budget, Figure, Samples
from benchmarks.ground import Grounds, Scale

BUDGET = Budget("ratio at least", cron.TARGET)


def next_after(grounds: Grounds, scale: Scale) -> list[Figure]:
    """Measure fires per second; the pattern with the lowest ratio counts."""
    del grounds
    measured = [
        cron.measure(pattern, zone, scale.rounds)
        for zone in cron.ZONES
        for pattern in cron.PATTERNS
    ]
    worst = min(measured, key=lambda figure: figure.ratio)
    rates = worst.fires_per_second
    note = f"raw: croniter; worst of {len(measured)}: {worst.pattern} in {worst.zone}"
    ours, theirs = Samples.of([rates["horae"]]), Samples.of([rates["croniter"]])
    return [Figure("next fire", "-", "fires/s", ours, theirs, BUDGET, note)]
