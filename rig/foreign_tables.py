"""Make, alter and read tables of a SQL catalog as others do, with PyIceberg and DuckDB.

    rig/python rig/foreign_tables.py make  catalog.db FOLDER     make the tables foreign.* , those with a place of their own below FOLDER
    rig/python rig/foreign_tables.py alter catalog.db FOLDER     change their schemas, partition specs, sort orders and properties
    rig/python rig/foreign_tables.py read  catalog.db            print as JSON what is in each

Of each table, both engines' rows are printed, as text by column. Scans with a filter are compared with the same rows of a full
scan, filtered in memory; the filters are made from the values that the columns have that the table was ever partitioned or
sorted by. Of PyIceberg's reading also the files: their folders, codecs, metrics, and whether they are sorted by what they say.

Exit status: 0 done, 1 an engine failed, 2 bad arguments.
"""

import base64
import datetime
import decimal
import json
import math
import operator
import os
import random
import sys
import urllib.parse
import uuid

import pyarrow
import pyarrow.parquet
import pyiceberg.expressions as expressions
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.sorting import NullOrder, SortDirection, SortField, SortOrder
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    TruncateTransform,
    VoidTransform,
    YearTransform,
)
from pyiceberg.types import (
    BinaryType,
    DateType,
    DecimalType,
    DoubleType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

import read_table

IDENTITY = IdentityTransform()
UP, DOWN, FIRST, LAST = SortDirection.ASC, SortDirection.DESC, NullOrder.NULLS_FIRST, NullOrder.NULLS_LAST

PLAIN = {
    "id": LongType(),
    "n": IntegerType(),
    "word": StringType(),
    "amount": DecimalType(9, 2),
    "wide": DecimalType(38, 4),
    "day": DateType(),
    "at": TimestampType(),
    "since": TimestamptzType(),
    "hour": TimeType(),
    "uid": UUIDType(),
    "blob": BinaryType(),
    "price": DoubleType(),
    "place": StructType(NestedField(901, "the city", StringType()), NestedField(902, "zip", StringType())),
}

ODD = {
    "id": LongType(),
    "order id": StringType(),
    "größe/é": IntegerType(),
    "k=v": StringType(),
    "日本": StringType(),
    "a.b": IntegerType(),
    'say "hi"': DecimalType(9, 2),
    "it's 100%": DateType(),
    "back`tick": StringType(),
}


def schema_of(columns):
    place = {"kafka_key": BinaryType(), "kafka_topic": StringType(), "kafka_partition": IntegerType(), "kafka_offset": LongType(), "kafka_timestamp": TimestamptzType()}
    fields = [NestedField(100 + i, name, kind, required=name in ("kafka_topic", "kafka_partition", "kafka_offset")) for i, (name, kind) in enumerate((columns | place).items())]
    return Schema(*fields)


def spec_of(schema, terms):
    fields = [PartitionField(source_id(schema, column), 1000 + i, transform, name) for i, (column, transform, name) in enumerate(terms)]
    return PartitionSpec(*fields)


def order_of(schema, terms):
    return SortOrder(*(SortField(source_id(schema, column), transform=transform, direction=way, null_order=nulls) for column, transform, way, nulls in terms))


def source_id(schema, column):
    return schema.find_field(column).field_id


# name: columns, partition fields (column, transform, name), sort order (column, transform, direction, nulls), properties
TABLES = {
    "odd": (
        ODD,
        [("order id", IDENTITY, 'the order/id = "é".日本'), ("größe/é", BucketTransform(3), "größe/é bucket.3"), ("k=v", TruncateTransform(1), "1st"), ("a.b", IDENTITY, "a.b")],
        [("say \"hi\"", IDENTITY, DOWN, FIRST), ("it's 100%", IDENTITY, UP, LAST)],
        {},
    ),
    "times": (
        PLAIN,
        [("day", YearTransform(), "day_year"), ("at", MonthTransform(), "a month"), ("uid", BucketTransform(2), "uid_bucket"), ("word", TruncateTransform(2), "word.trunc")],
        [],
        {},
    ),
    "values": (
        PLAIN,
        [("wide", IDENTITY, "wide"), ("hour", IDENTITY, "hour=of/day"), ("amount", BucketTransform(2), "amount_bucket"), ("place.the city", IDENTITY, "place.the city")],
        [("at", IDENTITY, DOWN, FIRST), ("n", TruncateTransform(10), UP, LAST)],
        {},
    ),
    "first": (
        PLAIN,
        [("word", IDENTITY, "word"), ("at", DayTransform(), "at_day"), ("n", BucketTransform(3), "n_bucket")],
        [("word", IDENTITY, DOWN, LAST)],
        {"format-version": "1"},
    ),
    "grown": (
        PLAIN,
        [("n", BucketTransform(4), "n_bucket"), ("word", IDENTITY, "word"), ("hour", IDENTITY, "hour"), ("amount", TruncateTransform(100), "amount_trunc")],
        [("word", IDENTITY, UP, FIRST), ("blob", IDENTITY, DOWN, LAST)],
        {},
    ),
    "dropped": (
        PLAIN,
        [("hour", IDENTITY, "hour"), ("n", BucketTransform(2), "n_bucket")],
        [("hour", IDENTITY, DOWN, LAST), ("n", IDENTITY, UP, LAST)],
        {},
    ),
    "sorted": (
        PLAIN,
        [],
        [("amount", IDENTITY, DOWN, LAST), ("word", IDENTITY, UP, FIRST), ("uid", IDENTITY, UP, LAST)],
        {"write.parquet.compression-codec": "gzip"},
    ),
    "placed": (
        PLAIN,
        [("word", IDENTITY, "word"), ("blob", TruncateTransform(1), "blob_trunc")],
        [],
        {
            "write.metadata.metrics.default": "none",
            "write.metadata.metrics.column.id": "full",
            "write.metadata.metrics.column.word": "truncate(2)",
            "write.metadata.metrics.column.amount": "counts",
            "write.metadata.metrics.column.place.the city": "truncate(1)",
            "write.parquet.compression-codec": "snappy",
            "write.object-storage.enabled": "true",
        },
    ),
    "third": (
        PLAIN,
        [("since", HourTransform(), "since_hour"), ("n", IDENTITY, "n"), ("id", VoidTransform(), "id_null")],
        [("wide", IDENTITY, DOWN, LAST)],
        {},
    ),
}

# The columns that filters ask for: those that a table has by then, of what it was ever partitioned or sorted by.
ASKED = {
    "odd": ["id", "order id", "größe/é", "k=v", "日本", "a.b", 'say "hi"'],
    "times": ["day", "at", "uid", "word", "since"],
    "values": ["wide", "hour", "amount", "at", "n"],
    "first": ["word", "at", "n", "amount"],
    "grown": ["n", "das wort", "amount", "late", "day"],
    "dropped": ["n", "word"],
    "sorted": ["amount", "word", "uid", "wide", "day"],
    "placed": ["word", "blob", "id", "amount"],
    "third": ["since", "n", "wide", "id"],
}

# Columns that an engine of the pinned version prunes by wrongly, whoever wrote the table. DuckDB 1.5.5: months and days before 1970
# (https://github.com/duckdb/duckdb-iceberg/pull/1361) and buckets of UUIDs (https://github.com/duckdb/duckdb-iceberg/issues/1325).
# It also fails, unordered_map::at, where a table was once partitioned by a column that is gone. PyIceberg 0.12: a dot in a name is
# taken for a struct.
BROKEN = {
    "duckdb": {"times": ["at", "since", "uid"], "first": ["at"], "dropped": ["n", "word"]},
    "pyiceberg": {"odd": ["a.b"]},
}


def make(catalog, folder):
    catalog.create_namespace_if_not_exists("foreign")
    for name, (columns, terms, sort, properties) in TABLES.items():
        schema = schema_of(columns)
        location = {"location": f"file://{folder}/elsewhere/a+table"} if name == "placed" else {}
        catalog.create_table(f"foreign.{name}", schema, partition_spec=spec_of(schema, terms), sort_order=order_of(schema, sort), properties=dict(properties), **location)
    lift(catalog, "foreign.third")


def lift(catalog, name):
    """Give a table format version 3, which PyIceberg reads and does not write."""
    table = catalog.load_table(name)
    metadata = json.loads(table.metadata.model_dump_json())
    path = urllib.parse.urlparse(table.metadata_location).path.replace("00000-", "00001-")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(metadata | {"format-version": 3, "next-row-id": 0}, file)
    catalog.drop_table(name)
    catalog.register_table(name, "file://" + path)


def alter(catalog, folder):
    table = catalog.load_table("foreign.odd")
    with table.update_spec() as spec:
        spec.rename_field("größe/é bucket.3", "größe? & mehr")
        spec.remove_field("1st")
        spec.add_field("日本", TruncateTransform(2), "日本/2")
    table = catalog.load_table("foreign.times")
    with table.update_spec() as spec:
        spec.remove_field("day_year")
        spec.add_field("since", DayTransform(), "since.day")
        spec.add_field("day", MonthTransform(), "day=month")
    table = catalog.load_table("foreign.values")
    with table.update_spec() as spec:
        spec.remove_field("hour=of/day")
        spec.add_field("n", TruncateTransform(10), "n cut")
    table = catalog.load_table("foreign.first")
    with table.update_spec() as spec:
        spec.remove_field("word")
        spec.rename_field("at_day", "the day")
        spec.add_field("amount", IDENTITY, "amount")
    with table.update_spec() as spec:
        spec.remove_field("n_bucket")
        spec.add_field("word", TruncateTransform(1), "word/1")
    grow(catalog.load_table("foreign.grown"))
    drop(catalog.load_table("foreign.dropped"))
    table = catalog.load_table("foreign.sorted")
    with table.update_sort_order() as order:
        order.desc("day", IDENTITY, FIRST).asc("wide", IDENTITY, LAST).asc("word", TruncateTransform(1), LAST)
    table = catalog.load_table("foreign.placed")
    with table.transaction() as tx:
        tx.set_properties({"write.data.path": f"file://{folder}/quite/else~where", "write.object-storage.partitioned-paths": "false", "write.parquet.compression-codec": "uncompressed"})
        tx.set_properties({"write.metadata.metrics.column.word": "full"})


def grow(table):
    with table.update_spec() as spec:
        spec.remove_field("hour")
        spec.add_field("day", YearTransform(), "day_year")
    with table.update_schema(allow_incompatible_changes=True) as schema:
        schema.rename_column("word", "das wort")
        schema.update_column("n", LongType())
        schema.update_column("amount", DecimalType(12, 2))
        schema.delete_column("price")
        schema.add_column("late", StringType())
        schema.move_first("day")
        schema.move_after("id", "wide")
    with table.update_spec() as spec:
        spec.add_field("late", BucketTransform(2), "late bucket")


def drop(table):
    with table.update_spec() as spec:
        spec.remove_field("hour")
    with table.update_sort_order() as order:
        order.asc("n", IDENTITY, LAST)
    with table.update_schema(allow_incompatible_changes=True) as schema:
        schema.delete_column("hour")


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
TERMS = {"=": expressions.EqualTo, "<": expressions.LessThan, ">=": expressions.GreaterThanOrEqual}


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


def term(column, op, value):
    if op == "is null":
        return expressions.IsNull(column)
    if op == "is not null":
        return expressions.NotNull(column)
    if isinstance(value, (datetime.date, datetime.time)):
        value = value.isoformat()
    return TERMS[op](column, value)


def condition(column, op, value):
    quoted = '"' + column.replace('"', '""') + '"'
    match value:
        case None:
            return f"{quoted} {op}"
        case bytes():
            constant = "'" + "".join(f"\\x{b:02X}" for b in value) + "'::BLOB"
        case datetime.datetime():
            constant = f"'{value.isoformat(sep=' ')}'::{'TIMESTAMPTZ' if value.tzinfo else 'TIMESTAMP'}"
        case datetime.date():
            constant = f"'{value}'::DATE"
        case datetime.time():
            constant = f"'{value}'::TIME"
        case uuid.UUID():
            constant = f"'{value}'::UUID"
        case decimal.Decimal():
            constant = f"'{value:f}'::DECIMAL(38, {max(0, -value.as_tuple().exponent)})"
        case str():
            constant = read_table.literal(value)
        case _:
            constant = str(value)
    return f"{quoted} {op} {constant}"


def passes(value, op, asked):
    match op:
        case "is null":
            return value is None
        case "is not null":
            return value is not None
    return value is not None and COMPARE[op](value, asked)


def plain(rows, schema):
    """Lists by column. UUIDs are told by one engine as such, by the other as bytes or text."""
    lists = {}
    for name, column in zip(rows.column_names, rows.columns):
        values = column.to_pylist()
        if isinstance(schema.find_field(name, case_sensitive=True).field_type, UUIDType):
            values = [v if v is None or isinstance(v, uuid.UUID) else uuid.UUID(bytes=v) if isinstance(v, bytes) else uuid.UUID(v) for v in values]
        lists[name] = values
    return lists


def read(catalog, name, duck):
    table = catalog.load_table(f"foreign.{name}")
    schema = table.schema()
    scan = f"iceberg_scan({read_table.literal(table.metadata_location)})"
    engines = {
        "pyiceberg": (lambda: table.scan().to_arrow(), lambda *q: table.scan(row_filter=term(*q), selected_fields=("kafka_offset",)).to_arrow().num_rows),
        "duckdb": (lambda: duck.sql(f"SELECT * FROM {scan}").to_arrow_table(), lambda *q: duck.sql(f"SELECT count(*) FROM {scan} WHERE {condition(*q)}").fetchone()[0]),
    }
    result = {"engines": {}, "files": files(table)}
    for engine, (whole, filtered) in engines.items():
        rows = plain(whole(), schema)
        wrong, asked = [], 0
        for question in questions(rows, [column for column in ASKED[name] if column not in BROKEN[engine].get(name, [])]):
            column, op, value = question
            full = sum(passes(v, op, value) for v in rows[column])
            asked += 1
            try:
                got = filtered(*question)
            except Exception as error:  # any: an engine that fails is a finding, which the others must not hide
                wrong.append(f"{condition(*question)}: {type(error).__name__}: {error}")
                continue
            if got != full:
                wrong.append(f"{condition(*question)}: {got} rows with the filter pushed down, {full} of a full scan")
        result["engines"][engine] = {"rows": {column: [text(v) for v in values] for column, values in rows.items()}, "asked": asked, "wrong": wrong}
    return result


def files(table):
    described = []
    names = {field_id: table.schema().find_column_name(field_id) for field_id in table.schema().field_ids}
    for manifest in table.current_snapshot().manifests(table.io):
        for entry in manifest.fetch_manifest_entry(table.io):
            data = entry.data_file
            file = pyarrow.parquet.ParquetFile(urllib.parse.urlparse(data.file_path).path if data.file_path.startswith("file:") else data.file_path)
            described.append({
                "path": data.file_path,
                "snapshot": entry.snapshot_id,
                "spec": manifest.partition_spec_id,
                "codec": file.metadata.row_group(0).column(0).compression,
                "order": data.sort_order_id,
                "unsorted": unsorted(table, data, file),
                "counted": sorted(filter(None, map(names.get, data.value_counts or {}))),
                "bounds": {names[k]: len(v) for k, v in (data.lower_bounds or {}).items() if names.get(k)},
            })
    return described


def unsorted(table, data, file):
    """Whether a file is not in the order that it says."""
    order = next((order for order in table.metadata.sort_orders if order.order_id == data.sort_order_id), None)
    if order is None or not order.fields:
        return False
    by_id = {}
    rows = file.read()
    for field, column in zip(rows.schema, rows.columns):
        by_id[int(field.metadata[b"PARQUET:field_id"])] = column.to_pylist()
    every = {field.field_id: field.field_type for schema in table.metadata.schemas for field in schema.fields}
    keys = []
    for field in order.fields:
        transform = field.transform.transform(every[field.source_id])
        keys.append([transform(physical(v)) for v in by_id.get(field.source_id, [None] * rows.num_rows)])
    pairs = list(zip(*keys))
    return any(after(a, b, order.fields) for a, b in zip(pairs, pairs[1:]))


def physical(value):
    """What a transform takes and what is in order: times as they are, UUIDs as their bytes."""
    return value.bytes if isinstance(value, uuid.UUID) else value


def after(a, b, fields):
    for x, y, field in zip(a, b, fields):
        if x == y:
            continue
        if x is None or y is None:
            return (x is None) != (field.null_order == FIRST)
        return (x > y) == (field.direction == UP)
    return False


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in ("make", "alter", "read"):
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    verb, database, *folder = sys.argv[1:]
    if "://" in database:
        properties = {"uri": database, "warehouse": "file://" + os.path.abspath(folder[0] if folder else ".")}
    else:
        properties = {"uri": "sqlite:///" + os.path.abspath(database), "warehouse": "file://" + os.path.dirname(os.path.abspath(database))}
    catalog = SqlCatalog("default", **properties)
    if verb == "read":
        duck = read_table.connect()
        json.dump({name: read(catalog, name, duck) for name in TABLES}, sys.stdout)
    else:
        {"make": make, "alter": alter}[verb](catalog, *folder)
        json.dump({}, sys.stdout)


if __name__ == "__main__":
    main()
