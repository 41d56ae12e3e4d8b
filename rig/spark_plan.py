"""Times how a real Spark plans reads of an Iceberg table, and counts rows with it; prints JSON.

    rig/spark --iceberg rig/spark_plan.py METADATA_FILE [--filter EXPR]... [--rounds N]

For the whole table and for each filter, in turn: "plan" is the time until Spark knows the tasks of a scan of all columns, for which
it reads manifests and no data file, "count" that of count(*), which Spark answers from the manifests where the filter is one of
whole partitions, and otherwise by opening the data files that are left. Each is the least of N rounds, in seconds, without what
Spark remembers of a table between two queries; the first round warms the machine up. "tasks" is how many Spark makes of the data
files that are left. A filter is written as PyIceberg reads it, its times as 2026-03-04T00:00:00+00:00 between single quotes.

Exit status: 0 done, 1 Spark failed, 2 bad arguments.
"""

import argparse
import json
import re
import tempfile
import time

import spark_sessions


def session(folder):
    catalog = {
        "": "org.apache.iceberg.spark.SparkCatalog",
        ".type": "jdbc",
        ".uri": f"jdbc:sqlite:{folder}/catalog.db",
        ".warehouse": folder,
        ".jdbc.schema-version": "V1",
        ".cache-enabled": "false",
    }
    return spark_sessions.session("plan", {"spark.sql.catalog.lake" + key: value for key, value in catalog.items()})


def least(rounds, run):
    """The least time of run, and what it returned."""
    times = []
    for _ in range(rounds + 1):
        began = time.perf_counter()
        result = run()
        times.append(time.perf_counter() - began)
    return min(times[1:]), result


def planned(spark, expression, rounds):
    condition = re.sub(r"'(\d{4}-\d\d-\d\dT[^']*)'", r"TIMESTAMP '\1'", expression) or "true"

    def plan():
        return spark.table("lake.planned.t").where(condition)._jdf.queryExecution().toRdd().getNumPartitions()

    def count():
        return spark.sql(f"SELECT count(*) FROM lake.planned.t WHERE {condition}").collect()[0][0]

    seconds, tasks = least(rounds, plan)
    counted, rows = least(rounds, count)
    return {"filter": expression, "plan": seconds, "tasks": tasks, "count": counted, "rows": rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("metadata")
    parser.add_argument("--filter", action="append", default=[])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        spark = session(folder)
        spark.sql("CREATE NAMESPACE lake.planned")
        spark._jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergCatalog(spark._jsparkSession, "lake").registerTable(
            spark._jvm.org.apache.iceberg.catalog.TableIdentifier.parse("planned.t"), options.metadata
        )
        print("planned: " + json.dumps([planned(spark, expression, options.rounds) for expression in ["", *options.filter]]))
        spark.stop()


if __name__ == "__main__":
    main()
