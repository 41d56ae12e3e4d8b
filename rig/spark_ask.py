"""Carries out in one Spark what is asked for, a line of JSON on stdin each, until stdin ends.

    rig/spark [--iceberg] rig/spark_ask.py FOLDER

With --iceberg there is a JDBC catalog "lake" in FOLDER/catalog.db, whose warehouse is FOLDER. Each answer is a line of JSON
behind "answer: ", with "error" where Spark failed. What can be asked, by its member "ask":

  sql    carries out "statement"
  drain  a query with Trigger.AvailableNow from "topic" of "servers" into "table", or into files in "folder", with
         "checkpoint": "batches" of what it did, each with its number and how many rows it read. "source" are options of the
         Kafka source, "sink" of the writer, "conf" settings of the session, "partitionBy" columns of the folder
  read   the rows of "table" or of all "folders": partition, offset, and value as text
"""

import json
import os
import sys

from pyspark.sql import functions as F

from spark_sessions import session


def drain(spark, asked):
    for key, value in asked.get("conf", {}).items():
        spark.conf.set(key, value)
    source = spark.readStream.format("kafka").option("kafka.bootstrap.servers", asked["servers"]).option("subscribe", asked["topic"])
    for key, value in ({"startingOffsets": "earliest"} | asked.get("source", {})).items():
        source = source.option(key, value)
    writer = source.load().writeStream.outputMode("append").option("checkpointLocation", asked["checkpoint"]).trigger(availableNow=True)
    for key, value in asked.get("sink", {}).items():
        writer = writer.option(key, value)
    if asked.get("partitionBy"):
        writer = writer.partitionBy(*asked["partitionBy"])
    query = writer.toTable("lake." + asked["table"]) if "table" in asked else writer.format("parquet").option("path", asked["folder"]).start()
    try:
        query.awaitTermination()
    finally:
        for key in asked.get("conf", {}):
            spark.conf.unset(key)
    return {"batches": [{"batch": p["batchId"], "rows": p["numInputRows"]} for p in query.recentProgress]}


def read(spark, asked):
    parts = [spark.table("lake." + asked["table"])] if "table" in asked else [spark.read.parquet(folder) for folder in asked["folders"]]
    found = []
    for rows in parts:
        found += [list(row) for row in rows.select("partition", "offset", F.col("value").cast("string")).collect()]
    return {"rows": found}


def sql(spark, asked):
    spark.sql(asked["statement"])
    return {}


def main():
    folder = os.path.abspath(sys.argv[1])
    catalog = {
        "": "org.apache.iceberg.spark.SparkCatalog",
        ".type": "jdbc",
        ".uri": f"jdbc:sqlite:{folder}/catalog.db",
        ".warehouse": folder,
        ".jdbc.schema-version": "V1",
        ".cache-enabled": "false",  # another writer is at the tables
    }
    spark = session("ask", {"spark.sql.catalog.lake" + key: value for key, value in catalog.items()})
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            answer = {"sql": sql, "drain": drain, "read": read}[asked["ask"]](spark, asked)
        except Exception as failure:  # Spark's own types differ by version
            answer = {"error": str(failure)}
        print("answer: " + json.dumps(answer), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
