"""What happened, in buckets of time: how much waited, how late it was, what ended, and how.

A bucket of ten seconds is written once it is over. Six of them make a minute, ten minutes the next
bucket, six of these an hour, and twelve hours half a day; each length is kept for as long as charts
of it reach back. So the number of rows is bounded, and does not depend on the number of jobs.

Invariants: figures are merged in any order and grouping with the same result; a time that nobody
recorded has no bucket, which is not the same as a bucket in which nothing happened; a bucket names
at most `MOST_NAMES` queues and as many types, and counts the rest together.
"""

from horae.domain.history.buckets import (
    LENGTHS,
    Length,
    closed_by,
    floor,
    next_bucket,
    seconds_until_next,
)
from horae.domain.history.durations import BOUNDS, percentile
from horae.domain.history.figures import (
    Ended,
    Figures,
    Gauges,
    HistoryBucket,
    Named,
    Seen,
    behind_since,
    bucket_of,
    merged_buckets,
)
from horae.domain.history.series import (
    FINEST,
    LONGEST_SPAN,
    MOST_POINTS,
    Course,
    Point,
    StoredBucket,
    Window,
    courses_of,
    figures_of,
    points_of,
    window_of,
    without_overlaps,
)

__all__ = [
    "BOUNDS",
    "FINEST",
    "LENGTHS",
    "LONGEST_SPAN",
    "MOST_POINTS",
    "Course",
    "Ended",
    "Figures",
    "Gauges",
    "HistoryBucket",
    "Length",
    "Named",
    "Point",
    "Seen",
    "StoredBucket",
    "Window",
    "behind_since",
    "bucket_of",
    "closed_by",
    "courses_of",
    "figures_of",
    "floor",
    "merged_buckets",
    "next_bucket",
    "percentile",
    "points_of",
    "seconds_until_next",
    "window_of",
    "without_overlaps",
]
