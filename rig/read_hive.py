"""Reads a folder of Parquet files with partitions in each way that readers have, and prints what each saw as JSON.

    rig/python rig/read_hive.py FOLDER STATEMENT COLUMN...

STATEMENT is the one that sluice status prints. For each reader: its rows as texts of the columns, sorted. Readers are "list" (DuckDB with STATEMENT),
"glob" (DuckDB with a glob and hive_partitioning), "pyarrow" (read_table of the folder) and "dataset" (an Arrow dataset of it, filtered by the first column
that is not null). "pruned" is how many of how many files DuckDB read for the first value of the first column, by the list.

Exit status: 0 read, 1 a reader failed.
"""

import json
import os
import re
import sys

import duckdb
import pyarrow.dataset
import pyarrow.parquet

folder, statement, columns = sys.argv[1], sys.argv[2].rstrip(";"), sys.argv[3:]


def rows(values):
    return sorted(["∅" if v is None else str(v) for v in row] for row in values)


def duck(query):
    return rows(duckdb.sql("SELECT " + ", ".join(f'"{c}"' for c in columns) + " FROM (" + query + ")").fetchall())


def arrow(table):
    return rows(zip(*(table.column(c).to_pylist() for c in columns)))


depth = max(len(os.path.relpath(root, folder).split(os.sep)) for root, _, files in os.walk(folder) if any(f.endswith(".parquet") for f in files))
glob = folder + "/*" * depth + "/*.parquet"
seen = {
    "list": duck(statement),
    "glob": duck(f"SELECT * FROM read_parquet('{glob}', hive_partitioning=true, union_by_name=true)"),
    "pyarrow": arrow(pyarrow.parquet.read_table(folder)),
    "dataset": arrow(pyarrow.dataset.dataset(folder, partitioning="hive").to_table(filter=pyarrow.dataset.field(columns[0]).is_valid())),
}
first = next(row[0] for row in seen["list"] if row[0] != "∅")
plan = duckdb.sql(f"EXPLAIN ANALYZE {statement} WHERE \"{columns[0]}\"::VARCHAR = '{first}'").fetchall()[0][1]
total = statement.count(".parquet'")
read = re.search(r"Scanning Files: (\d+)/(\d+)", plan)
seen["pruned"] = [int(read.group(1)), int(read.group(2))] if read else [total, total]
print(json.dumps(seen, ensure_ascii=False))
