"""Make tables of many small files in a SQL catalog with PyIceberg, and read them with PyIceberg and DuckDB.

    rig/python rig/small_tables.py make catalog.db FOLDER    make the tables small.*
    rig/python rig/small_tables.py read catalog.db           print as JSON a digest of the rows of each, by engine

Between the files the tables are altered in every way that Iceberg allows: columns are added, dropped and made again, renamed,
moved, made optional and given wider types, at the top and inside of structs, lists and maps. One table has files of another
program without field ids, one has rows deleted.

Exit status: 0 done, 1 an engine failed, 2 bad arguments.
"""

import datetime
import decimal
import hashlib
import json
import os
import sys
import uuid

import pyarrow
import pyarrow.parquet
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

import read_table

FILES = 4  # of each shape of a table


def values(kind, seed):
    """A value of a type, another one for each seed, and sometimes null."""
    match kind:
        case BooleanType():
            return seed % 2 == 0
        case IntegerType():
            return (-1) ** seed * (2**31 - 1 - seed)
        case LongType():
            return (-1) ** seed * (2**62 + seed)
        case FloatType():
            return [1.5, float("nan"), float("-inf"), -0.0, 16777216.0][seed % 5]
        case DoubleType():
            return [0.1, float("nan"), 1e300, -0.0, -1.5][seed % 5]
        case DecimalType():
            return decimal.Decimal((-1) ** seed * (10**kind.precision - 1 - seed)).scaleb(-kind.scale, decimal.Context(prec=40))
        case DateType():
            return datetime.date(1, 1, 1) + datetime.timedelta(days=seed * 9973)
        case TimeType():
            return datetime.time(23, 59, seed % 60, 999999 - seed)
        case TimestampType():
            return datetime.datetime(1969, 12, 31, 23, 59, 59, 999999) + datetime.timedelta(days=seed % 3, microseconds=seed)
        case TimestamptzType():
            return datetime.datetime(2026, 3, 4, 5, 6, 7, 8, datetime.timezone.utc) + datetime.timedelta(days=seed % 3, microseconds=seed)
        case StringType():
            return ["", "é/ü 日本", "x" * 40, "\x00", "plain"][seed % 5] + str(seed % 7)
        case BinaryType():
            return bytes([255, 0, seed % 256]) * (seed % 4)
        case FixedType():
            return bytes([seed % 256]) * len(kind)
        case UUIDType():
            return uuid.UUID(int=seed * 2**90 + seed).bytes
        case StructType():
            return {f.name: optional(f, seed + i) for i, f in enumerate(kind.fields)}
        case ListType():
            return [optional(kind.element_field, seed + i) for i in range(seed % 4)]
        case MapType():
            return [(values(kind.key_type, seed + 5 * i), optional(kind.value_field, seed + i)) for i in range(seed % 3)]


def optional(field, seed):
    if not field.required and seed % 6 == 5:
        return None
    return values(field.field_type, seed)


class Filler:
    """Appends small files to a table, all rows different."""

    def __init__(self, catalog, name):
        self.catalog, self.name, self.row = catalog, name, 0

    def rows(self, schema, n=7):
        rows = []
        for _ in range(n):
            rows.append({f.name: self.row if f.name == "id" else optional(f, self.row + 3 * i) for i, f in enumerate(schema.fields)})
            self.row += 1
        return rows

    def fill(self, files=FILES):
        table = self.catalog.load_table(self.name)
        for _ in range(files):
            table.append(pyarrow.Table.from_pylist(self.rows(table.schema()), schema=schema_to_pyarrow(table.schema())))


def required(i, name, kind):
    return NestedField(i, name, kind, required=True)


def field(i, name, kind):
    return NestedField(i, name, kind, required=False)


POINT = StructType(required(201, "x", FloatType()), field(202, "label", StringType()), field(203, "gone", IntegerType()))
KINDS = Schema(
    required(1, "id", LongType()), field(2, "b", BooleanType()), field(3, "i", IntegerType()), field(4, "f", FloatType()), field(5, "d", DoubleType()),
    field(6, "d9", DecimalType(9, 2)), field(7, "d18", DecimalType(18, 2)), field(8, "d38", DecimalType(38, 5)), field(9, "day", DateType()),
    field(10, "time", TimeType()), field(11, "ts", TimestampType()), field(12, "tz", TimestamptzType()), field(13, "s", StringType()),
    field(14, "bin", BinaryType()), field(15, "fix", FixedType(5)), field(16, "u", UUIDType()), field(17, "point", POINT),
    field(18, "tags", ListType(element_id=210, element=IntegerType(), element_required=False)),
    field(19, "attrs", MapType(key_id=211, key_type=StringType(), value_id=212, value_type=StructType(field(213, "n", IntegerType()), field(214, "w", StringType())), value_required=False)),
    field(20, "pairs", ListType(element_id=215, element=StructType(required(216, "k", StringType()), field(217, "v", BinaryType())), element_required=True)),
)


def evolved(catalog, name, version):
    """Every change of a schema, with small files before and after each."""
    catalog.create_table(name, KINDS, properties={"format-version": version})
    filler = Filler(catalog, name)
    filler.fill()
    with catalog.load_table(name).update_schema(allow_incompatible_changes=True) as schema:
        schema.update_column("i", LongType()).update_column("f", DoubleType()).update_column("d9", DecimalType(12, 2)).update_column("d18", DecimalType(30, 2))
        schema.update_column(("point", "x"), DoubleType()).update_column(("tags", "element"), LongType()).update_column(("attrs", "value", "n"), LongType())
    filler.fill()
    with catalog.load_table(name).update_schema(allow_incompatible_changes=True) as schema:
        schema.rename_column("s", "das wort").rename_column("point.label", "name").rename_column("attrs.value.w", "word").rename_column("pairs.element.v", "value")
        schema.delete_column("bin").delete_column("point.gone").make_column_optional("point.x")
        schema.add_column("late", StringType()).add_column(("point", "more"), ListType(element_id=1, element=DateType(), element_required=False))
        schema.add_column(("attrs", "value", "added"), DecimalType(20, 3)).move_first("day").move_after("id", "ts")
    filler.fill()
    with catalog.load_table(name).update_schema(allow_incompatible_changes=True) as schema:
        schema.add_column("bin", StringType())  # the name of one that is gone
        schema.delete_column("tags")
        schema.delete_column("point.more")
    filler.fill()


def parted(catalog, name):
    schema = Schema(required(1, "id", LongType()), field(2, "word", StringType()), field(3, "b", BooleanType()), field(4, "at", TimestamptzType()))
    spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "the word"), PartitionField(3, 1001, IdentityTransform(), "a.b"))
    catalog.create_table(name, schema, partition_spec=spec)
    filler = Filler(catalog, name)
    table = catalog.load_table(name)

    def fill(files):
        for _ in range(files):
            rows = [row | {"word": [None, "", "é=/ü %"][row["id"] % 3]} for row in filler.rows(schema, 9)]
            table.append(pyarrow.Table.from_pylist(rows, schema=schema_to_pyarrow(schema)))

    fill(4)
    with table.update_spec() as update:
        update.remove_field("a.b")
    fill(4)
    table.delete("id = 30")  # copy on write


def nameless(catalog, name, folder):
    """Files of another program, without field ids, in another order of columns and with one more."""
    schema = Schema(required(1, "id", LongType()), field(2, "word", StringType()), field(3, "point", StructType(field(4, "x", DoubleType()), field(5, "y", DoubleType()))),
                    field(6, "list", ListType(element_id=7, element=StringType(), element_required=False)))
    table = catalog.create_table(name, schema)
    paths = []
    for n in range(6):
        point = [{"y": float(n), "x": -1.0}, None, {"y": None, "x": 0.5}]
        rows = pyarrow.table({"list": [["a", None], [], None], "word": ["w", None, ""], "point": point, "id": pyarrow.array([3 * n, 3 * n + 1, 3 * n + 2], pyarrow.int64())},
                             schema=pyarrow.schema([("list", pyarrow.list_(pyarrow.string())), ("word", pyarrow.string()),
                                                    ("point", pyarrow.struct([("y", pyarrow.float64()), ("x", pyarrow.float64())])), pyarrow.field("id", pyarrow.int64(), nullable=False)]))
        paths.append(f"{folder}/nameless-{n}.parquet")
        pyarrow.parquet.write_table(rows, paths[-1], row_group_size=2)
    table.add_files(paths)
    with catalog.load_table(name).update_schema() as update:
        update.rename_column("word", "renamed").add_column("late", IntegerType())
    filler = Filler(catalog, name)
    filler.row = 1000
    filler.fill()


def make(catalog, folder):
    catalog.create_namespace_if_not_exists("small")
    evolved(catalog, "small.evolved", "2")
    evolved(catalog, "small.first", "1")
    parted(catalog, "small.parted")
    nameless(catalog, "small.nameless", folder)


def plain(value):
    """A value as JSON has it, the same for both engines."""
    match value:
        case bytes():
            return "0x" + value.hex()
        case uuid.UUID():
            return "0x" + value.bytes.hex()
        case datetime.datetime():
            return (value.astimezone(datetime.timezone.utc).replace(tzinfo=None) if value.tzinfo else value).isoformat(timespec="microseconds")
        case datetime.date() | datetime.time() | decimal.Decimal():
            return str(value)
        case float():
            return repr(value)
        case dict():
            return {k: plain(v) for k, v in value.items()}
        case list() | tuple():
            return [plain(v) for v in value]
        case _:
            return value


def reading(rows):
    texts = sorted(json.dumps({name: plain(value) for name, value in row.items()}, sort_keys=True) for row in rows)
    return {"count": len(texts), "sha256": hashlib.sha256("\n".join(texts).encode()).hexdigest()}


def read(catalog, name, duck):
    table = catalog.load_table(name)
    result = {"pyiceberg": reading(table.scan().to_arrow().to_pylist())}
    scan = f"iceberg_scan({read_table.literal(table.metadata_location)})"
    result["duckdb"] = reading(duck.sql(f"SELECT * FROM {scan}").to_arrow_table().to_pylist())
    return result


def main():
    if len(sys.argv) not in (3, 4) or sys.argv[1] not in ("make", "read"):
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    catalog = SqlCatalog("default", uri="sqlite:///" + os.path.abspath(sys.argv[2]), warehouse="file://" + (sys.argv[3] if len(sys.argv) > 3 else ""))
    if sys.argv[1] == "make":
        make(catalog, sys.argv[3])
        return
    duck = read_table.connect()
    tables = [".".join(name) for name in catalog.list_tables("small")]
    json.dump({name: read(catalog, name, duck) for name in sorted(tables)}, sys.stdout)


if __name__ == "__main__":
    main()
