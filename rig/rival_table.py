"""Change an Iceberg table of a SQL catalog as another engine does, with PyIceberg, and say what readers see then.

    rig/python rig/rival_table.py --catalog-db catalog.db --table db.orders --append --add-partition offset
    rig/python rig/rival_table.py --catalog-db catalog.db --table db.orders --publish audit

Carries out what is asked for, in the order of the options below, and prints the rows that a reader of each branch and tag
counts, as JSON: {"main": 8, "audit": 12}. A reference without a snapshot is left out.

Exit status: 0 done, 1 PyIceberg failed (its message is on stderr), 2 bad arguments.
"""

import argparse
import json
import os
import sys

import pyarrow
import pyiceberg.exceptions
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.transforms import BucketTransform
from pyiceberg.types import LongType, StringType


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--catalog-db", required=True, help="the SQLite file of a SQL catalog")
    parser.add_argument("--catalog-name", default="default", help="the name that the catalog's rows carry (default %(default)s)")
    parser.add_argument("--table", required=True, help="namespace.table in the catalog")
    parser.add_argument("--append", action="store_true", help='append one row, a copy of the first under the topic "foreign"')
    parser.add_argument("--rewrite", action="store_true", help="overwrite the table with its own rows")
    parser.add_argument("--delete", metavar="FILTER", help="delete the rows that pass, such as offset = 1")
    parser.add_argument("--expire", action="store_true", help="expire all snapshots but the heads of references")
    parser.add_argument("--add-column", metavar="NAME", help="add an optional column of text")
    parser.add_argument("--widen", metavar="NAME", help="make an int column a long one")
    parser.add_argument("--rename", nargs=2, metavar=("FROM", "TO"), help="rename a column")
    parser.add_argument("--add-partition", metavar="COLUMN", help="partition by a hash of the column too")
    parser.add_argument("--set", metavar="KEY=VALUE", help="set a property")
    parser.add_argument("--make-branch", metavar="NAME", help="make a branch at main's head")
    parser.add_argument("--publish", metavar="NAME", help="move main forward to the branch")
    parser.add_argument("--remove-branch", metavar="NAME", help="remove the branch")
    parser.add_argument("--rename-table", metavar="TO", help="rename the table, and do nothing else after that")
    options = parser.parse_args()
    if not os.path.isfile(options.catalog_db):
        parser.error(f"there is no catalog file {options.catalog_db}")
    return options


def foreign_row(table):
    """One row of the table under a topic that no query reads."""
    rows = table.scan().to_arrow().slice(0, 1)
    at = rows.schema.get_field_index("topic")
    field = rows.schema.field(at)
    return rows.set_column(at, field, pyarrow.array(["foreign"], field.type))


def change_rows(table, options):
    if options.append:
        table.append(foreign_row(table))
    if options.rewrite:
        table.overwrite(table.scan().to_arrow())
    if options.delete:
        table.delete(options.delete)
    if options.expire:
        table.refresh()
        heads = {ref.snapshot_id for ref in table.metadata.refs.values()}
        old = [snapshot.snapshot_id for snapshot in table.metadata.snapshots if snapshot.snapshot_id not in heads]
        if old:
            table.maintenance.expire_snapshots().by_ids(old).commit()


def change_shape(table, options):
    if options.add_column:
        with table.update_schema() as update:
            update.add_column(options.add_column, StringType())
    if options.widen:
        with table.update_schema() as update:
            update.update_column(options.widen, LongType())
    if options.rename:
        with table.update_schema() as update:
            update.rename_column(*options.rename)
    if options.add_partition:
        with table.update_spec() as update:
            update.add_field(options.add_partition, BucketTransform(4), options.add_partition + "_rivals")
    if options.set:
        key, _, value = options.set.partition("=")
        with table.transaction() as transaction:
            transaction.set_properties({key: value})


def change_references(table, options):
    if options.make_branch:
        table.manage_snapshots().create_branch(table.metadata.current_snapshot_id, options.make_branch).commit()
    if options.publish:
        table.manage_snapshots().set_current_snapshot(ref_name=options.publish).commit()
    if options.remove_branch:
        table.manage_snapshots().remove_branch(options.remove_branch).commit()


def main():
    options = arguments()
    catalog = SqlCatalog(options.catalog_name, uri="sqlite:///" + os.path.abspath(options.catalog_db), init_catalog_tables="false")
    table = catalog.load_table(options.table)
    change_rows(table, options)
    change_shape(table, options)
    change_references(table, options)
    table = catalog.load_table(options.table)
    seen = {name: table.scan(snapshot_id=ref.snapshot_id).to_arrow().num_rows for name, ref in table.metadata.refs.items()}
    if options.rename_table:
        catalog.rename_table(options.table, options.rename_table)
    json.dump(seen, sys.stdout)
    print()


if __name__ == "__main__":
    try:
        main()
    except (pyarrow.ArrowException, pyiceberg.exceptions.NoSuchTableError, OSError, TypeError, ValueError) as error:
        sys.exit(f"rival_table: {type(error).__name__}: {error}")
