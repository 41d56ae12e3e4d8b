"""Make, alter and read Iceberg tables with a real Spark, in a JDBC catalog "lake" on SQLite that sluice shares.

    rig/spark --iceberg rig/spark_tables.py make  FOLDER          make the tables foreign.*
    rig/spark --iceberg rig/spark_tables.py alter FOLDER          change schemas, partitions, orders and rows; compact, expire
    rig/spark --iceberg rig/spark_tables.py read  FOLDER TABLE... print as JSON what is in each
    rig/spark --iceberg rig/spark_tables.py steps FOLDER STEP...  carry out statements of SQL, of which "read TABLE..." is one; of
                                                                  TABLE:COLUMN,... filters are made for these columns alone

The catalog is FOLDER/catalog.db, its warehouse FOLDER. Of each table all rows are printed, as text by column. Scans with a
filter are compared with the same rows of the full scan, filtered in memory; the filters are made from the values that are
there, of every column whose values have an order. A line of JSON is behind "read: ".

Exit status: 0 done, 1 Spark failed, 2 bad arguments.
"""

import datetime
import decimal
import json
import sys

import spark_sessions
from pyspark.sql import Row

from asked import passes, questions, text

PLACE = "kafka_key BINARY, kafka_topic STRING NOT NULL, kafka_partition INT NOT NULL, kafka_offset BIGINT NOT NULL, kafka_timestamp TIMESTAMP"
PLAIN = (
    "id BIGINT, n INT, word STRING, amount DECIMAL(9,2), wide DECIMAL(38,4), day DATE, at TIMESTAMP_NTZ, since TIMESTAMP,"
    " blob BINARY, price DOUBLE, place STRUCT<`the city`: STRING, zip: STRING>"
)
ODD = "id BIGINT, `order id` STRING, `größe/é` INT, `k=v` STRING, `日本` STRING, `a.b` INT, `say \"hi\"` DECIMAL(9,2), `it's 100%` DATE, `back``tick` STRING"

# Of each table: columns, partitions, properties, and statements that follow.
TABLES = {
    "odd": (ODD, "`order id`, bucket(3, `größe/é`), truncate(1, `k=v`)", {}, ["WRITE ORDERED BY `say \"hi\"` DESC NULLS FIRST, `it's 100%` ASC NULLS LAST"]),
    "times": (PLAIN, "years(day), months(at), hours(since), truncate(2, word)", {}, []),
    "values": (PLAIN, "bucket(2, amount), place.`the city`, bucket(4, blob)", {}, ["WRITE DISTRIBUTED BY PARTITION LOCALLY ORDERED BY at DESC NULLS FIRST, truncate(10, n) ASC NULLS LAST"]),
    "first": (PLAIN, "word, days(at), bucket(3, n)", {"format-version": "1"}, ["WRITE ORDERED BY word DESC NULLS LAST"]),
    "grown": (PLAIN, "bucket(4, n), word, truncate(100, amount)", {}, ["WRITE ORDERED BY word, blob DESC"]),
    "read": (PLAIN, "bucket(4, id)", {"write.delete.mode": "merge-on-read", "write.update.mode": "merge-on-read"}, []),
    "third": (PLAIN, "hours(since), n", {"format-version": "3", "write.delete.mode": "merge-on-read"}, ["WRITE ORDERED BY wide DESC NULLS LAST"]),
    "kept": (PLAIN, "word", {"write.parquet.compression-codec": "snappy"}, []),
}

# What Spark does between two runs of sluice.
ALTERATIONS = [
    "ALTER TABLE lake.foreign.odd DROP PARTITION FIELD truncate(1, `k=v`)",
    "ALTER TABLE lake.foreign.odd ADD PARTITION FIELD truncate(2, `日本`) AS `日本/2`",
    "ALTER TABLE lake.foreign.times REPLACE PARTITION FIELD at_month WITH days(at)",
    "ALTER TABLE lake.foreign.values WRITE UNORDERED",
    "ALTER TABLE lake.foreign.first DROP PARTITION FIELD word",
    "ALTER TABLE lake.foreign.first ADD PARTITION FIELD truncate(1, word) AS `word/1`",
    "ALTER TABLE lake.foreign.grown DROP PARTITION FIELD word",
    "ALTER TABLE lake.foreign.grown ADD PARTITION FIELD years(day)",
    "ALTER TABLE lake.foreign.grown RENAME COLUMN word TO `das wort`",
    "ALTER TABLE lake.foreign.grown ALTER COLUMN n TYPE BIGINT",
    "ALTER TABLE lake.foreign.grown ALTER COLUMN amount TYPE DECIMAL(12,2)",
    "ALTER TABLE lake.foreign.grown DROP COLUMN price",
    "ALTER TABLE lake.foreign.grown ADD COLUMN late STRING",
    "ALTER TABLE lake.foreign.grown ALTER COLUMN day FIRST",
    "ALTER TABLE lake.foreign.grown ALTER COLUMN wide AFTER id",
    "DELETE FROM lake.foreign.read WHERE id = 3",
    "UPDATE lake.foreign.read SET price = 1.5 WHERE id = 4",
    "DELETE FROM lake.foreign.third WHERE id = 3",
    "CALL lake.system.rewrite_data_files(table => 'foreign.kept', options => map('rewrite-all', 'true'))",
    "CALL lake.system.rewrite_manifests(table => 'foreign.kept', use_caching => false)",
    "CALL lake.system.expire_snapshots(table => 'foreign.kept', older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 1)",
    "CALL lake.system.remove_orphan_files(table => 'foreign.kept')",
]


def session(folder):
    catalog = {
        "": "org.apache.iceberg.spark.SparkCatalog",
        ".type": "jdbc",
        ".uri": f"jdbc:sqlite:{folder}/catalog.db",
        ".warehouse": folder,
        ".jdbc.schema-version": "V1",
    }
    settings = {"spark.sql.catalog.lake" + key: value for key, value in catalog.items()}
    return spark_sessions.session("tables", settings | {"spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"})


def make(spark):
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.foreign")
    for name, (columns, partitions, properties, then) in TABLES.items():
        listed = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
        spark.sql(
            f"CREATE TABLE lake.foreign.{name} ({columns}, {PLACE}) USING iceberg PARTITIONED BY ({partitions})"
            + (f" TBLPROPERTIES ({listed})" if listed else "")
        )
        for statement in then:
            spark.sql(f"ALTER TABLE lake.foreign.{name} {statement}")


def alter(spark):
    for statement in ALTERATIONS:
        spark.sql(statement)


def plain(value):
    """A value as Python has it: bytes, and dictionaries for structs."""
    match value:
        case bytearray():
            return bytes(value)
        case Row():
            return {name: plain(inner) for name, inner in value.asDict().items()}
        case _:
            return value


def constant(value):
    match value:
        case bytes():
            return f"X'{value.hex()}'"
        case datetime.datetime():
            return f"'{value.isoformat(sep=' ')}'"
        case datetime.date():
            return f"DATE '{value.isoformat()}'"
        case decimal.Decimal():
            return f"{value:f}BD"
        case str():
            return "r'" + value + "'"
        case float():
            return f"{value!r}D"
        case _:
            return str(value)


def condition(column, op, value):
    quoted = "`" + column.replace("`", "``") + "`"
    return f"{quoted} {op}" if value is None else f"{quoted} {op} {constant(value)}"


def read(spark, name, only):
    table = spark.table(f"lake.{name}")
    rows = {column: [] for column in table.columns}
    for row in table.collect():
        for column, value in zip(table.columns, row):
            rows[column].append(plain(value))
    ordered = [column for column, values in rows.items() if all(isinstance(v, (type(None), bool, int, float, str, bytes, datetime.date, decimal.Decimal)) for v in values)]
    wrong, asked, answers = [], 0, {}
    for question in questions(rows, ordered if only is None else only):
        column, _, value = question
        asked += 1
        full = sum(passes(v, *question[1:]) for v in rows[column])
        got = answers[condition(*question)] = table.where(condition(*question)).count()
        if got != full:
            wrong.append(f"{condition(*question)}: {got} rows with the filter pushed down, {full} of a full scan")
    files = spark.sql(f"SELECT file_path, spec_id, sort_order_id AS `order`, record_count FROM lake.{name}.files WHERE content = 0").collect()
    return {
        "rows": {column: [text(v) for v in values] for column, values in rows.items()},
        "asked": asked,
        "wrong": wrong,
        "answers": answers,
        "files": [file.asDict() for file in files],
    }


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in ("make", "alter", "read", "steps"):
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    verb, folder, *names = sys.argv[1:]
    spark = session(folder)
    steps = {"read": ["read " + " ".join(names)], "steps": names}.get(verb)
    if steps is None:
        {"make": make, "alter": alter}[verb](spark)
    for step in steps or []:
        if step.startswith("read "):
            asked = [name.partition(":") for name in step.split()[1:]]
            print("read: " + json.dumps({name: read(spark, name, [c for c in only.split(",") if c] if colon else None) for name, colon, only in asked}))
        else:
            spark.sql(step)
    spark.stop()


if __name__ == "__main__":
    main()
