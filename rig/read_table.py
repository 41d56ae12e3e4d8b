"""Read an Iceberg table with two foreign engines, DuckDB and PyIceberg, and print what each of them saw as JSON.

    rig/python rig/read_table.py --catalog-db catalog.db --table db.orders        (a SQLite file, or postgresql+psycopg2://…)
    rig/python rig/read_table.py --metadata warehouse/db/orders            (the table's folder, or one metadata file)
    rig/python rig/read_table.py --rest http://127.0.0.1:29250 --table db.orders

DuckDB reads with its own iceberg extension (iceberg_scan), PyIceberg through its SQL catalog or, for a folder, as a static
table; with --rest each asks the REST catalog itself. S3 is reached with AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT_URL_S3.

For each engine: count, distinct (topic, partition, offset), and sha256, a digest over all rows that rig.Digest in Go also
computes. For each --filter: how many rows a scan with the filter pushed down returned ("filtered"), and how many of a full
scan's rows pass the filter when it is applied afterwards to rows held in memory ("full"). The two must be equal. A filter is
written in the part of SQL that both engines read: offset >= 100 and offset < 200.

Exit status: 0 read, 1 an engine failed (its message is on stderr), 2 bad arguments.
"""

import argparse
import datetime
import decimal
import hashlib
import importlib.resources
import json
import os
import re
import sys
import urllib.parse

import duckdb
import pyarrow
import pyiceberg
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import StaticTable

# Decoded tables carry the record's place under these names, tables of raw records without the prefix.
DECODED, RAW = "kafka_", ""


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--metadata", help="a metadata file, or the folder of a table of a hadoop catalog")
    parser.add_argument("--catalog-db", help="the SQLite file of a SQL catalog, or the address of another database as SQLAlchemy takes it")
    parser.add_argument("--catalog-name", default="default", help="the name that the catalog's rows carry (default %(default)s)")
    parser.add_argument("--rest", help="the URI of a REST catalog")
    parser.add_argument("--table", help="namespace.table in the SQL or REST catalog")
    parser.add_argument("--engine", choices=["duckdb", "pyiceberg"], action="append", help="read with this one only; repeatable")
    parser.add_argument("--filter", action="append", default=[], help="count the rows that pass; repeatable")
    parser.add_argument("--columns", help="columns of the digest, after the record's place (default: key and value if there)")
    options = parser.parse_args()
    if [options.metadata, options.catalog_db, options.rest].count(None) != 2:
        parser.error("give one of --metadata, --catalog-db and --rest")
    if not options.metadata and not options.table:
        parser.error("--catalog-db and --rest need --table")
    return options


def file_io_properties():
    """What PyIceberg calls the AWS environment; the rest of it Arrow reads itself."""
    names = {
        "s3.endpoint": "AWS_ENDPOINT_URL_S3",
        "s3.region": "AWS_REGION",
        "s3.access-key-id": "AWS_ACCESS_KEY_ID",
        "s3.secret-access-key": "AWS_SECRET_ACCESS_KEY",
    }
    found = {key: os.environ[name] for key, name in names.items() if os.environ.get(name)}
    return {"s3.region": "us-east-1"} | found


def newest_metadata(location):
    """The metadata file of a hadoop catalog's table folder: the one with the highest number."""
    path = urllib.parse.unquote(urllib.parse.urlparse(location).path) if location.startswith("file:") else location
    if not os.path.isdir(path):
        return location
    files = {}
    for name in os.listdir(os.path.join(path, "metadata")):
        match = re.fullmatch(r"v(\d+)(\.gz)?\.metadata\.json(\.gz)?", name)
        if match:
            files[int(match[1])] = name
    if not files:
        sys.exit(f"read_table: {path} has no metadata/v<N>.metadata.json")
    return os.path.join(path, "metadata", files[max(files)])


def database(place):
    """The address of a SQL catalog for SQLAlchemy: a SQLite file's, or what it is already."""
    if "://" in place:
        return place
    if not os.path.isfile(place):
        sys.exit(f"there is no catalog file {place}")
    return "sqlite:///" + os.path.abspath(place)


def load(options):
    properties = file_io_properties()
    if options.metadata:
        return StaticTable.from_metadata(newest_metadata(options.metadata), properties)
    if options.rest:
        return RestCatalog("rest", uri=options.rest, **properties).load_table(options.table)
    catalog = SqlCatalog(options.catalog_name, uri=database(options.catalog_db), init_catalog_tables="false", **properties)
    return catalog.load_table(options.table)


def digest_columns(names, asked):
    """The record's place, then what else goes into the digest."""
    prefix = DECODED if "kafka_offset" in names else RAW
    place = [prefix + name for name in ("topic", "partition", "offset")]
    rest = asked.split(",") if asked else [name for name in ("key", "value") if name in names]
    missing = [name for name in place + rest if name not in names]
    if missing:
        sys.exit(f"read_table: the table has no column {', '.join(missing)}; it has {', '.join(names)}")
    return place, rest


def quoted(expression, names):
    """The filter with its columns in double quotes, which both engines take: OFFSET is a word of DuckDB's grammar."""

    def quote(match):
        word = match[0]
        return f'"{word}"' if word in names else word

    return re.sub(r"'(?:[^']|'')*'|\"[^\"]*\"|[A-Za-z_][A-Za-z0-9_.]*", quote, expression)


def text(value):
    """A value as bytes, the same for both engines; None stays None."""
    match value:
        case None:
            return None
        case bytes():
            return value
        case bool():
            return b"true" if value else b"false"
        case datetime.datetime():
            if value.tzinfo:
                value = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
            return value.isoformat(timespec="microseconds").encode()
        case decimal.Decimal():
            return format(value, "f").encode()
        case list() | dict():
            return json.dumps(value, sort_keys=True, default=lambda leaf: text(leaf).decode("latin-1")).encode()
        case _:
            return str(value).encode()


def digest(rows):
    """rows: pyarrow table of the record's place and the other columns, in this order. The digest of a table is the sha256
    over its rows in order of place; each value is its length in decimal, a colon, its bytes; a null is -1 and a colon."""
    sha = hashlib.sha256()
    columns = [column.to_pylist() for column in rows.columns]
    for row in sorted(zip(*columns), key=lambda row: (row[:3], [(value is not None, text(value) or b"") for value in row[3:]])):
        for value in map(text, row):
            sha.update(b"-1:" if value is None else b"%d:%s" % (len(value), value))
    return sha.hexdigest()


def distinct(rows):
    return len(set(zip(*(column.to_pylist() for column in rows.columns[:3]))))


def connect():
    """DuckDB with the extensions that PyPI ships: it is not let out to fetch its own."""
    connection = duckdb.connect(config={"autoinstall_known_extensions": "false"})
    version = connection.sql("PRAGMA version").fetchone()[0]
    for name in ("avro", "httpfs", "iceberg"):
        folder = importlib.resources.files(f"duckdb_extension_{name}")
        connection.load_extension(str(folder / "extensions" / version / f"{name}.duckdb_extension"))
    connection.execute("SET TimeZone = 'UTC'")
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3")
    if endpoint:
        url = urllib.parse.urlparse(endpoint)
        secret = {
            "KEY_ID": os.environ.get("AWS_ACCESS_KEY_ID", ""),
            "SECRET": os.environ.get("AWS_SECRET_ACCESS_KEY", ""),
            "REGION": os.environ.get("AWS_REGION", "us-east-1"),
            "ENDPOINT": url.netloc,
            "URL_STYLE": "path",
            "USE_SSL": "true" if url.scheme == "https" else "false",
        }
        fields = ", ".join(f"{key} {literal(value)}" for key, value in secret.items())
        connection.execute(f"CREATE SECRET (TYPE s3, {fields})")
    return connection


def literal(value):
    return "'" + value.replace("'", "''") + "'"


def names_list(names):
    return ", ".join(f'"{name}"' for name in names)


def count_where(rows, condition):
    """How many of the rows in memory pass: evaluated by DuckDB on a table that no scan can prune."""
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("CREATE TABLE held AS SELECT * FROM rows")
    return connection.sql(f"SELECT count(*) FROM held WHERE {condition}").fetchone()[0]


def needed(names, columns, filters):
    """The columns of the digest, then those that only filters name."""
    used = {name for name in names for expression in filters if f'"{name}"' in expression}
    return columns + sorted(used - set(columns))


def read_with_duckdb(table, columns, filters, rest=None):
    connection = connect()
    scan = f"iceberg_scan({literal(table.metadata_location)})"
    if rest:
        connection.execute(f"ATTACH '' AS lake (TYPE iceberg, ENDPOINT {literal(rest)}, AUTHORIZATION_TYPE 'none')")
        *namespace, name = table.name()
        scan = ".".join(f'"{part}"' for part in ("lake", ".".join(namespace), name))
    names = [field.name for field in table.schema().fields]
    rows = connection.sql(f"SELECT {names_list(needed(names, columns, filters))} FROM {scan}").to_arrow_table()

    def filtered(expression):
        return {"filtered": connection.sql(f"SELECT count(*) FROM {scan} WHERE {expression}").fetchone()[0]}

    return rows, filtered


def read_with_pyiceberg(table, columns, filters, rest=None):
    names = [field.name for field in table.schema().fields]
    rows = table.scan(selected_fields=tuple(needed(names, columns, filters))).to_arrow()
    files = len(list(table.scan().plan_files()))

    def filtered(expression):
        scan = table.scan(row_filter=expression)
        return {"filtered": scan.to_arrow().num_rows, "files": len(list(scan.plan_files())), "allFiles": files}

    return rows, filtered


ENGINES = {
    "duckdb": (read_with_duckdb, "iceberg_scan", duckdb.__version__),
    "pyiceberg": (read_with_pyiceberg, "scan", pyiceberg.__version__),
}


def main():
    options = arguments()
    table = load(options)
    names = [field.name for field in table.schema().fields]
    place, rest = digest_columns(names, options.columns)
    filters = {expression: quoted(expression, names) for expression in options.filter}
    snapshot = table.current_snapshot()
    result = {
        "metadata": table.metadata_location,
        "uuid": str(table.metadata.table_uuid),
        "snapshot": snapshot.snapshot_id if snapshot else None,
        "engines": {},
    }
    for engine in options.engine or list(ENGINES):
        read, how, version = ENGINES[engine]
        rows, filtered = read(table, place + rest, list(filters.values()), options.rest)
        chosen = rows.select(place + rest)
        result["engines"][engine] = {
            "version": version,
            "reads": "rest" if options.rest else how,
            "count": rows.num_rows,
            "distinct": distinct(chosen),
            "sha256": digest(chosen),
            "filters": [
                {"filter": expression, **filtered(sql), "full": count_where(rows, sql)} for expression, sql in filters.items()
            ],
        }
    json.dump(result, sys.stdout)
    print()


if __name__ == "__main__":
    try:
        main()
    except (duckdb.Error, pyarrow.ArrowException, pyiceberg.exceptions.NoSuchTableError, OSError, TypeError, ValueError) as error:
        sys.exit(f"read_table: {type(error).__name__}: {error}")
