"""Reads rows that a query wrote, with DuckDB in a zone other than UTC, as JSON.

    rig/python rig/read_folder.py STATEMENT

STATEMENT is the one that sluice status prints. "rows" are partition, offset, and value as text, in order; "seconds" is how far apart the
timestamps of the first and the last record are.
"""

import json
import sys

import duckdb

duck = duckdb.connect()
duck.sql("SET TimeZone='America/New_York'")
*before, statement = [part for part in sys.argv[1].split(";") if part.strip()]
for part in before:
    duck.sql(part)
rows = duck.sql(f"SELECT partition, \"offset\", decode(value) FROM ({statement}) ORDER BY 1, 2").fetchall()
seconds = duck.sql(f"SELECT date_diff('second', min(timestamp), max(timestamp)) FROM ({statement})").fetchone()[0]
print(json.dumps({"rows": rows, "seconds": seconds or 0}))
