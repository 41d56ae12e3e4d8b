"""What the readers of tables have in common: values as text, and filters whose answers are compared with a full scan."""

import base64
import datetime
import decimal
import json
import operator
import random


def text(value):
    """A value as the test writes it; None stays None."""
    match value:
        case None:
            return None
        case bytes():
            return base64.b64encode(value).decode()
        case datetime.datetime():
            if value.tzinfo:
                value = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
            return value.isoformat(timespec="microseconds")
        case datetime.time():
            return value.isoformat(timespec="microseconds")
        case decimal.Decimal():
            return format(value, "f")
        case dict():
            return json.dumps(value, sort_keys=True, ensure_ascii=False)
        case _:
            return str(value)


COMPARE = {"=": operator.eq, "<": operator.lt, ">=": operator.ge}


def questions(rows, columns):
    """Some filters (column, operator, value) from what is in the rows; value None is IS NULL and IS NOT NULL."""
    rng = random.Random(1)
    for column in columns:
        values = sorted({value for value in rows[column] if value is not None and value == value})
        yield column, "is null", None
        yield column, "is not null", None
        for value, ops in zip(rng.sample(values, min(2, len(values))), (("=", "<"), ("=", ">="))):
            for op in ops:
                yield column, op, value


def passes(value, op, asked):
    match op:
        case "is null":
            return value is None
        case "is not null":
            return value is not None
    return value is not None and COMPARE[op](value, asked)
