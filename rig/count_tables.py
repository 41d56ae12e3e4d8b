"""Count the rows of every table of some catalogs with two foreign engines, DuckDB and PyIceberg, and print JSON:

    rig/python rig/count_tables.py CATALOG...
    [{"sales.orders": {"duckdb": [14, 14], "pyiceberg": [14, 14]}}]

A catalog is the SQLite file of a SQL catalog, the address of another database as SQLAlchemy takes it, or that of a REST catalog with a namespace:
http://host:port#sales.

The first number of a pair is how many rows there are, the second how many different records (topic, partition, offset)
they come from. S3 is reached as by rig/read_table.py.
"""

import json
import sys

from pyiceberg.catalog.rest import RestCatalog
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


def opened(place):
    """A catalog and the namespaces to look into."""
    properties = read_table.file_io_properties()
    if place.startswith("http"):
        uri, _, namespace = place.partition("#")
        return RestCatalog("default", uri=uri, **properties), [namespace]
    catalog = SqlCatalog("default", uri=read_table.database(place), init_catalog_tables="false", **properties)
    return catalog, catalog.list_namespaces()


def count_all(place):
    """What is in one catalog."""
    catalog, namespaces = opened(place)
    names = [".".join(name) for namespace in namespaces for name in catalog.list_tables(namespace)]
    return {name: count(catalog.load_table(name)) for name in sorted(names)}


def main():
    json.dump([count_all(place) for place in sys.argv[1:]], sys.stdout)
    print()


if __name__ == "__main__":
    main()
