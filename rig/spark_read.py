"""Reads a folder of Parquet files with a real Spark, which goes by the folder's _spark_metadata.

    rig/spark rig/spark_read.py FOLDER

Prints one line of JSON: how many rows there are, how many distinct places in Kafka (columns topic, partition and offset), and
how many rows have an offset of 5 or more, asked with a filter.
"""

import json
import sys

from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[2]").appName("read").config("spark.ui.enabled", "false").getOrCreate()
rows = spark.read.parquet(sys.argv[1])
print(
    "read: "
    + json.dumps(
        {
            "rows": rows.count(),
            "distinct": rows.select("topic", "partition", "offset").distinct().count(),
            "filtered": rows.where("offset >= 5").count(),
        }
    )
)
spark.stop()
