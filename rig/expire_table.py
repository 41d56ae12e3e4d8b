"""Write to an Iceberg table of a SQL catalog as a foreign writer does, with PyIceberg, then expire all snapshots but the head.

    rig/python rig/expire_table.py --catalog-db catalog.db --table db.orders --append
    rig/python rig/expire_table.py --catalog-db catalog.db --table db.orders --rewrite

--append adds one row, a copy of the first one under the topic "foreign". --rewrite overwrites the table with its own rows,
as a compaction does. Without either the table is only expired, and with --keep nothing is. Prints the snapshots that are
left as JSON, oldest first: id, parent (null where PyIceberg has cut it off), sequence number.

Exit status: 0 done, 1 PyIceberg failed (its message is on stderr), 2 bad arguments.
"""

import argparse
import json
import sys

import pyarrow
import pyiceberg.exceptions
from pyiceberg.catalog.sql import SqlCatalog

import read_table


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--catalog-db", required=True, help="the SQLite file of a SQL catalog, or the address of another database as SQLAlchemy takes it")
    parser.add_argument("--catalog-name", default="default", help="the name that the catalog's rows carry (default %(default)s)")
    parser.add_argument("--table", required=True, help="namespace.table in the catalog")
    parser.add_argument("--append", action="store_true", help="append one row of another topic first")
    parser.add_argument("--rewrite", action="store_true", help="overwrite the table with its own rows first")
    parser.add_argument("--keep", action="store_true", help="expire nothing")
    return parser.parse_args()


def foreign_row(table):
    """One row of the table under a topic that no query reads."""
    rows = table.scan().to_arrow().slice(0, 1)
    at = rows.schema.get_field_index("topic")
    field = rows.schema.field(at)
    return rows.set_column(at, field, pyarrow.array(["foreign"], field.type))


def main():
    options = arguments()
    catalog = SqlCatalog(options.catalog_name, uri=read_table.database(options.catalog_db), init_catalog_tables="false")
    table = catalog.load_table(options.table)
    if options.append:
        table.append(foreign_row(table))
    if options.rewrite:
        table.overwrite(table.scan().to_arrow())
    if not options.keep:
        table = catalog.load_table(options.table)
        head = table.metadata.current_snapshot_id
        old = [snapshot.snapshot_id for snapshot in table.metadata.snapshots if snapshot.snapshot_id != head]
        table.maintenance.expire_snapshots().by_ids(old).commit()
    left = catalog.load_table(options.table).metadata.snapshots
    json.dump([{"id": s.snapshot_id, "parent": s.parent_snapshot_id, "sequence": s.sequence_number} for s in left], sys.stdout)
    print()


if __name__ == "__main__":
    try:
        main()
    except (pyarrow.ArrowException, pyiceberg.exceptions.NoSuchTableError, OSError, TypeError, ValueError) as error:
        sys.exit(f"expire_table: {type(error).__name__}: {error}")
