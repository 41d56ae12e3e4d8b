"""Reads folders of Parquet files with a real Spark, which goes by a folder's _spark_metadata where it is given the folder.

    rig/spark rig/spark_read.py PATH...

A path is a folder or a glob, also of s3a://. Prints a line of JSON behind "read: " for each: how many rows there are, how many
distinct places in Kafka (columns topic, partition and offset), and how many rows have an offset of 5 or more, asked with a filter.
"""

import json
import sys

from pyspark.sql import functions as F

from spark_sessions import session

spark = session("read")
for path in sys.argv[1:]:
    rows = spark.read.parquet(path)
    prefix = "" if "offset" in rows.columns else "kafka_"
    places = [prefix + name for name in ("topic", "partition", "offset")]
    print(
        "read: "
        + json.dumps(
            {
                "rows": rows.count(),
                "distinct": rows.select(*places).distinct().count(),
                "filtered": rows.where(F.col(places[2]) >= 5).count(),
            }
        )
    )
spark.stop()
