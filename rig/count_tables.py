"""Count the rows of every table of some SQL catalogs with two foreign engines, DuckDB and PyIceberg, and print JSON:

    rig/python rig/count_tables.py CATALOG.DB...
    [{"sales.orders": {"duckdb": [14, 14], "pyiceberg": [14, 14]}}]

The first number of a pair is how many rows there are, the second how many different records (topic, partition, offset)
they come from. S3 is reached as by rig/read_table.py.
"""

import json
import os
import sys

from pyiceberg.catalog.sql import SqlCatalog

import read_table


def count(table):
    """Both engines' pairs."""
    names = [field.name for field in table.schema().fields]
    place, _ = read_table.digest_columns(names, None)
    counts = {}
    for engine, (read, _, _) in read_table.ENGINES.items():
        rows, _ = read(table, place, [])
        counts[engine] = [rows.num_rows, read_table.distinct(rows.select(place))]
    return counts


def count_all(file):
    """What is in one catalog."""
    uri = "sqlite:///" + os.path.abspath(file)
    catalog = SqlCatalog("default", uri=uri, init_catalog_tables="false", **read_table.file_io_properties())
    names = [".".join(name) for namespace in catalog.list_namespaces() for name in catalog.list_tables(namespace)]
    return {name: count(catalog.load_table(name)) for name in sorted(names)}


def main():
    json.dump([count_all(file) for file in sys.argv[1:]], sys.stdout)
    print()


if __name__ == "__main__":
    main()
