"""Compare filtered scans of an Iceberg table with filtered full scans, in every way that DuckDB and PyIceberg read it.

    rig/python rig/check_statistics.py --catalog-db catalog.db --table db.orders < request.json

request.json is {"id": "id", "predicates": [{"column": "s.a", "op": "<", "values": ["..."]}, ...]}. id is a column without
nulls and duplicates. op is =, <>, <, <=, >, >=, in, prefix, null, notnull, nan or notnan. A value is text: true and false, a
number in decimal (of a decimal its unscaled value, of dates days and of times and timestamps microseconds), repr of a float,
and hex of bytes, text and UUIDs.

Three readers: pyiceberg (bounds in manifests, then statistics in files through Arrow), iceberg_scan (DuckDB with its
iceberg extension: bounds in manifests, then statistics in files) and read_parquet (DuckDB on the table's files alone). Each
engine reads the whole table once and holds it in memory; what passes there is what has to pass in a scan with the predicate
pushed down. The order of results is that of the predicates: lost and extra count the ids on which the two differ, rows is
how many pass in memory, files how many files PyIceberg planned. A reader that cannot express a predicate has null in its
place. Arrow cannot compare UUIDs, so there PyIceberg plans without reading, and lost counts the ids in files that it did
not plan.
"""

import json
import sys

import pyiceberg.types as types
from pyiceberg.expressions import (
    EqualTo, GreaterThan, GreaterThanOrEqual, In, IsNaN, IsNull, LessThan, LessThanOrEqual, NotEqualTo, NotNaN, NotNull, StartsWith,
)
from pyiceberg.expressions.literals import (
    BinaryLiteral, BooleanLiteral, DateLiteral, DecimalLiteral, DoubleLiteral, FixedLiteral, FloatLiteral, LongLiteral,
    StringLiteral, TimeLiteral, TimestampLiteral, UUIDLiteral,
)
from pyiceberg.expressions.visitors import bind
from pyiceberg.io.pyarrow import ArrowScan, expression_to_pyarrow
from pyiceberg.utils.decimal import unscaled_to_decimal

import read_table

COMPARISONS = {"=": EqualTo, "<>": NotEqualTo, "<": LessThan, "<=": LessThanOrEqual, ">": GreaterThan, ">=": GreaterThanOrEqual}
UNARY = {"null": IsNull, "notnull": NotNull, "nan": IsNaN, "notnan": NotNaN}
SQL_UNARY = {"null": "{} IS NULL", "notnull": "{} IS NOT NULL", "nan": "isnan({})", "notnan": "NOT isnan({})"}


def clock(micros):
    seconds, rest = divmod(int(micros), 1_000_000)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{rest:06}"


def blob(text):
    return f"unhex('{text}')"


def unscaled(kind, text):
    return unscaled_to_decimal(int(text), kind.scale)


# How the text of a value becomes PyIceberg's literal and DuckDB's constant.
LITERALS = {
    types.BooleanType: (lambda kind, text: BooleanLiteral(text == "true"), lambda kind, text: text),
    types.IntegerType: (lambda kind, text: LongLiteral(int(text)), lambda kind, text: f"CAST({text} AS INTEGER)"),
    types.LongType: (lambda kind, text: LongLiteral(int(text)), lambda kind, text: f"CAST({text} AS BIGINT)"),
    types.FloatType: (lambda kind, text: FloatLiteral(float(text)), lambda kind, text: f"CAST('{text}' AS FLOAT)"),
    types.DoubleType: (lambda kind, text: DoubleLiteral(float(text)), lambda kind, text: f"CAST('{text}' AS DOUBLE)"),
    types.DecimalType: (
        lambda kind, text: DecimalLiteral(unscaled(kind, text)),
        lambda kind, text: f"CAST('{unscaled(kind, text):f}' AS DECIMAL({kind.precision},{kind.scale}))",
    ),
    types.DateType: (lambda kind, text: DateLiteral(int(text)), lambda kind, text: f"(DATE '1970-01-01' + ({text}))"),
    types.TimeType: (lambda kind, text: TimeLiteral(int(text)), lambda kind, text: f"TIME '{clock(text)}'"),
    types.TimestampType: (lambda kind, text: TimestampLiteral(int(text)), lambda kind, text: f"make_timestamp({text})"),
    types.TimestamptzType: (
        lambda kind, text: TimestampLiteral(int(text)),
        lambda kind, text: f"CAST(make_timestamp({text}) AS TIMESTAMPTZ)",
    ),
    types.StringType: (
        lambda kind, text: StringLiteral(bytes.fromhex(text).decode()),
        lambda kind, text: f"decode({blob(text)})",
    ),
    types.BinaryType: (lambda kind, text: BinaryLiteral(bytes.fromhex(text)), lambda kind, text: blob(text)),
    types.FixedType: (lambda kind, text: FixedLiteral(bytes.fromhex(text)), lambda kind, text: blob(text)),
    types.UUIDType: (lambda kind, text: UUIDLiteral(bytes.fromhex(text)), lambda kind, text: f"CAST('{text}' AS UUID)"),
}


def expression(schema, predicate):
    """The predicate for PyIceberg, which has none for lists, maps and structs."""
    column, op = predicate["column"], predicate["op"]
    kind = schema.find_type(column)
    if not kind.is_primitive:
        return None
    if op in UNARY:
        return UNARY[op](column)
    values = [LITERALS[type(kind)][0](kind, text) for text in predicate["values"]]
    if op == "in":
        return In(column, values)
    return (StartsWith if op == "prefix" else COMPARISONS[op])(column, values[0])


def condition(schema, predicate):
    """The predicate in DuckDB's SQL."""
    column, op = predicate["column"], predicate["op"]
    kind = schema.find_type(column)
    name = ".".join(f'"{part}"' for part in column.split("."))
    if op in SQL_UNARY:
        return SQL_UNARY[op].format(name)
    if op == "prefix":
        text = bytes.fromhex(predicate["values"][0]).decode()
        if set(text) & set("%_\\\0"):
            return f"starts_with({name}, {LITERALS[types.StringType][1](kind, predicate['values'][0])})"
        return f"{name} LIKE {read_table.literal(text + '%')}"
    values = [LITERALS[type(kind)][1](kind, text) for text in predicate["values"]]
    return f"{name} IN ({', '.join(values)})" if op == "in" else f"{name} {op} {values[0]}"


def local(path):
    return path.removeprefix("file://")


def difference(found, want, **more):
    return {"rows": len(want), "lost": len(want - found), "extra": len(found - want), **more}


def with_pyiceberg(table, key, predicates, passing, places):
    """passing are the ids that pass each predicate as DuckDB sees it, places the file of each id."""
    schema, held, results = table.schema(), table.scan().to_arrow(), []
    for predicate, ids in zip(predicates, passing):
        wanted = expression(schema, predicate)
        if wanted is None:
            results.append(None)
            continue
        scan = table.scan(row_filter=wanted, selected_fields=(key,))
        tasks = list(scan.plan_files())
        if isinstance(schema.find_type(predicate["column"]), types.UUIDType) and predicate["op"] not in UNARY:
            planned = {local(task.file.file_path) for task in tasks}
            results.append(difference({row for row in ids if places[row] in planned}, ids, files=len(tasks)))
            continue
        root = predicate["column"].split(".")[0]
        want = set(held.select([key, root]).filter(expression_to_pyarrow(bind(schema, wanted, True), schema))[key].to_pylist())
        read = ArrowScan(table.metadata, table.io, scan.projection(), wanted).to_table(tasks)
        results.append(difference(set(read[key].to_pylist()), want, files=len(tasks)))
    return results


def held_by_duckdb(connection, source, key, conditions):
    connection.execute(f"CREATE TEMP TABLE held AS SELECT * FROM {source}")
    every = ", ".join(f'list("{key}") FILTER (WHERE {condition})' for condition in conditions)
    return [set(ids or []) for ids in connection.sql(f"SELECT {every} FROM held").fetchone()]


def with_duckdb(connection, source, key, conditions, held):
    results = []
    for condition, want in zip(conditions, held):
        found = connection.sql(f'SELECT "{key}" FROM {source} WHERE {condition}').fetchall()
        results.append(difference({row[0] for row in found}, want))
    return results


def main():
    table = read_table.load(read_table.arguments())
    request = json.load(sys.stdin)
    key, predicates = request["id"], request["predicates"]
    conditions = [condition(table.schema(), predicate) for predicate in predicates]
    connection = read_table.connect()
    files = [task.file.file_path for task in table.scan().plan_files()]
    paths = ", ".join(read_table.literal(local(path)) for path in files)
    iceberg, parquet = f"iceberg_scan({read_table.literal(table.metadata_location)})", f"read_parquet([{paths}])"
    held = held_by_duckdb(connection, parquet, key, conditions)
    places = dict(connection.sql(f'SELECT "{key}", filename FROM {parquet[:-1]}, filename = true)').fetchall())
    json.dump(
        {
            "files": len(files),
            "predicates": conditions,
            "pyiceberg": with_pyiceberg(table, key, predicates, held, places),
            "iceberg_scan": with_duckdb(connection, iceberg, key, conditions, held),
            "read_parquet": with_duckdb(connection, parquet, key, conditions, held),
        },
        sys.stdout,
    )
    print()


if __name__ == "__main__":
    main()
