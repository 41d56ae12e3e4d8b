"""Times how foreign engines plan reads of an Iceberg table, and counts what they open for it; prints JSON.

    rig/python rig/plan_table.py METADATA_FILE [--filter EXPR]... [--rounds N]

For the whole table and for each filter, in turn: PyIceberg's scan().plan_files(), which reads manifests and no data file, and
DuckDB's count(*) over iceberg_scan, which opens the data files that are left. Each is the least of N rounds, in seconds, without
what an engine remembers of the round before. "manifests" is how many of "allManifests" PyIceberg opened, "files" how many data
files it planned to read. A filter is written in the part of SQL that both engines read, without quotes around columns.
"""

import argparse
import json
import os
import sys
import time

import duckdb
import pyiceberg.manifest
from pyiceberg.table import StaticTable

from read_table import connect, literal, quoted

opened = []
fetch = pyiceberg.manifest.ManifestFile.fetch_manifest_entry


def counted(manifest, *args, **kwargs):
    opened.append(manifest.manifest_path)
    return fetch(manifest, *args, **kwargs)


pyiceberg.manifest.ManifestFile.fetch_manifest_entry = counted


def best(rounds, prepare, run):
    """The least time of run with what prepare returns, and what the last run returned."""
    times = []
    for _ in range(rounds):
        prepared = prepare()
        began = time.perf_counter()
        result = run(prepared)
        times.append(time.perf_counter() - began)
    return min(times), result


def with_pyiceberg(metadata, condition, rounds):
    def forget():
        pyiceberg.manifest.clear_manifest_cache()
        opened.clear()

    def plan(_):
        table = StaticTable.from_metadata(metadata)
        scan = table.scan(row_filter=condition) if condition else table.scan()
        return len(list(scan.plan_files()))

    seconds, files = best(rounds, forget, plan)
    return {"plan": seconds, "files": files, "manifests": len(set(opened))}


def with_duckdb(metadata, condition, rounds):
    where = f" WHERE {condition}" if condition else ""

    def count(connection):
        return connection.sql(f"SELECT count(*) FROM iceberg_scan({literal(metadata)}){where}").fetchone()[0]

    seconds, rows = best(rounds, connect, count)
    return {"count": seconds, "rows": rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("metadata")
    parser.add_argument("--filter", action="append", default=[])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    table = StaticTable.from_metadata(options.metadata)
    names = [field.name for field in table.schema().fields]
    manifests = table.current_snapshot().manifests(table.io)
    result = {
        "allManifests": len(manifests),
        "manifestBytes": sum(manifest.manifest_length for manifest in manifests),
        "listBytes": os.path.getsize(table.current_snapshot().manifest_list.removeprefix("file://")),
        "metadataBytes": os.path.getsize(options.metadata.removeprefix("file://")),
        "plans": [],
    }
    for expression in ["", *options.filter]:
        condition = quoted(expression, names)
        result["plans"].append(
            {"filter": expression}
            | with_pyiceberg(options.metadata, condition, options.rounds)
            | with_duckdb(options.metadata, condition, options.rounds)
        )
    json.dump(result, sys.stdout)
    print()


if __name__ == "__main__":
    try:
        main()
    except (duckdb.Error, OSError, TypeError, ValueError) as error:
        sys.exit(f"plan_table: {type(error).__name__}: {error}")
