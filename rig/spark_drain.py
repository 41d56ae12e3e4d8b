"""Drains a topic into a new Iceberg table with Trigger.AvailableNow, and tells what that took.

    rig/spark --iceberg rig/spark_drain.py SERVERS TOPIC FOLDER raw|json MAX_OFFSETS

The table is lake.bench.orders of a Hadoop catalog in FOLDER, with zstd files of level 1. raw keeps Kafka's columns; json reads values
into the columns of bench/typed.go. On stdout comes one line of JSON: "rows"; "cpu", nanoseconds of the JVM and of Python from their
start; "peak", the JVM's largest resident set in bytes; and "batches", each with "rows", and "cpu" and "wall" in nanoseconds when it was over.
"""

import json
import os
import sys
import time

from pyspark.sql import functions as F
from pyspark.sql.streaming.listener import StreamingQueryListener

from spark_sessions import session

SCHEMA = (
    "order_id STRING, customer_id BIGINT, status STRING, amount DECIMAL(18,2), currency STRING, event_time TIMESTAMP, "
    "address STRUCT<city: STRING, zip: STRING>, items ARRAY<STRUCT<sku: STRING, qty: INT>>"
)
KAFKA = "topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP"


class Clock(StreamingQueryListener):
    """Notes what each batch has taken when it is over."""

    def __init__(self, cpu):
        super().__init__()
        self.cpu, self.batches = cpu, []

    def onQueryStarted(self, event):
        pass

    def onQueryProgress(self, event):
        self.batches.append({"rows": event.progress.numInputRows, "cpu": self.cpu(), "wall": time.monotonic_ns()})

    def onQueryIdle(self, event):
        pass

    def onQueryTerminated(self, event):
        pass


def columns(rows, form):
    if form == "raw":
        return rows.select("key", "value", "topic", "partition", "offset", "timestamp", "timestampType")
    value = F.from_json(F.col("value").cast("string"), SCHEMA, {"mode": "FAILFAST"})
    return rows.select(value.alias("v"), "topic", "partition", "offset", "timestamp").select("v.*", "topic", "partition", "offset", "timestamp")


def peak(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmHWM"))


def main():
    servers, topic, folder, form, most = sys.argv[1:]
    catalog = {"": "org.apache.iceberg.spark.SparkCatalog", ".type": "hadoop", ".warehouse": folder}
    settings = {"spark.sql.catalog.lake" + key: value for key, value in catalog.items()}
    settings["spark.sql.streaming.numRecentProgressUpdates"] = "10"
    spark = session("drain", settings)
    pid = spark._jvm.java.lang.ProcessHandle.current().pid()

    def cpu():
        with open(f"/proc/{pid}/stat") as stat:
            user, system = stat.read().rsplit(")", 1)[1].split()[11:13]
        return (int(user) + int(system)) * 1_000_000_000 // os.sysconf("SC_CLK_TCK") + time.process_time_ns()

    spark.sql("CREATE NAMESPACE lake.bench")
    kept = "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, timestampType INT" if form == "raw" else f"{SCHEMA}, {KAFKA}"
    spark.sql(f"CREATE TABLE lake.bench.orders ({kept}) USING iceberg TBLPROPERTIES ('write.parquet.compression-codec'='zstd', 'write.parquet.compression-level'='1')")
    clock = Clock(cpu)
    spark.streams.addListener(clock)
    source = spark.readStream.format("kafka").option("kafka.bootstrap.servers", servers).option("subscribe", topic)
    rows = source.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", most).load()
    writer = columns(rows, form).writeStream.outputMode("append").option("checkpointLocation", folder + "/checkpoint")
    query = writer.trigger(availableNow=True).toTable("lake.bench.orders")
    query.awaitTermination()
    told = sum(p["numInputRows"] for p in query.recentProgress)
    until = time.monotonic() + 60
    while sum(b["rows"] for b in clock.batches) < told:  # progress is told behind the query's back
        if time.monotonic() > until:
            raise RuntimeError(f"Spark told of {clock.batches}, want {told} rows")
        time.sleep(0.05)
    found = spark.sql("SELECT sum(record_count) FROM lake.bench.orders.files").collect()[0][0]
    result = {"rows": found, "cpu": cpu(), "peak": peak(pid), "batches": clock.batches}
    spark.stop()
    print(json.dumps(result))


main()
