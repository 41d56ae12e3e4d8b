"""Reads a folder of Parquet files with partitions with a real Spark, and compares it with what Spark itself writes of the same rows.

    rig/spark rig/spark_hive.py FOLDER WRITE COLUMN...

The first columns are the partitions. Prints one line of JSON: "inferred" and "texts", the rows as texts of the columns, sorted, with Spark's inference of
the types of partitions and without; "types", those that it infers; and "folders", the names of the folders that Spark makes in the folder WRITE when it
writes the rows that it has read with the same partitions.
"""

import json
import os
import sys

from pyspark.sql import SparkSession

folder, write, columns = sys.argv[1], sys.argv[2], sys.argv[3:]
spark = SparkSession.builder.master("local[2]").appName("read").config("spark.ui.enabled", "false").config("spark.sql.session.timeZone", "UTC").getOrCreate()


def rows(frame):
    return sorted(["∅" if v is None else str(v) for v in row] for row in frame.select(*[f"`{c}`" for c in columns]).collect())


seen = {"inferred": rows(spark.read.parquet(folder)), "types": dict(spark.read.parquet(folder).dtypes)}
spark.conf.set("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
frame = spark.read.parquet(folder)
seen["texts"] = rows(frame)
frame.write.partitionBy(columns[0], columns[1]).parquet(write)
seen["folders"] = sorted({os.path.relpath(root, write) for root, _, files in os.walk(write) if any(f.endswith(".parquet") for f in files)})
print("read: " + json.dumps(seen, ensure_ascii=True))
spark.stop()
