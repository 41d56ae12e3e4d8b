"""Writes a checkpoint folder with a real Spark, as testdata/checkpoint/spark/real-* has them.

    rig/spark rig/spark_checkpoint.py [--log-version 1|2] FOLDER

A query with Trigger.AvailableNow, 120 offsets a batch and a watermark reads the topic "orders" of three partitions into
foreachBatch. The third batch fails, so that the newest plan has no marker: offsets 0, 1 and 2, commits 0 and 1. In its
range are the records of an aborted transaction, which Spark reads at its default isolation level.
"""

import argparse
import os

from pyspark.sql import SparkSession
from pyspark.sql.functions import col

TOPIC = "orders"
FAILS = 2  # the batch that fails


def session():
    jars = os.environ["SPARK_RIG_JARS"]
    return (
        SparkSession.builder.master("local[2]")
        .appName("orders")
        .config("spark.jars", ",".join(os.path.join(jars, j) for j in sorted(os.listdir(jars))))
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "7")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )


class Kafka:
    """The Java client, which Spark brings along: it creates topics and writes transactions."""

    def __init__(self, spark, servers):
        self.jvm, self.gateway, self.servers = spark._jvm, spark._sc._gateway, servers

    def properties(self, **more):
        p = self.jvm.java.util.Properties()
        p.put("bootstrap.servers", self.servers)
        for key, value in more.items():
            p.put(key.replace("_", "."), value)
        return p

    def create(self, topic, partitions):
        admin = self.jvm.org.apache.kafka.clients.admin.AdminClient.create(self.properties())
        topics = self.jvm.java.util.ArrayList()
        topics.add(self.jvm.org.apache.kafka.clients.admin.NewTopic(topic, partitions, 1))
        admin.createTopics(topics).all().get()
        admin.close()

    def producer(self, **more):
        strings = "org.apache.kafka.common.serialization.StringSerializer"
        return self.jvm.org.apache.kafka.clients.producer.KafkaProducer(
            self.properties(key_serializer=strings, value_serializer=strings, **more)
        )

    def send(self, producer, partition, n, word):
        record = self.jvm.org.apache.kafka.clients.producer.ProducerRecord
        for i in range(n):
            producer.send(record(TOPIC, partition, f"{partition}-{i}", f"{word} {i}"))
        producer.flush()


def fill(kafka):
    """Partition 0: 160 records; 1: 110, 20 of an aborted transaction with its marker, 29 more; 2: 40."""
    kafka.create(TOPIC, 3)
    plain = kafka.producer()
    kafka.send(plain, 0, 160, "plain")
    kafka.send(plain, 1, 110, "plain")
    aborted = kafka.producer(transactional_id="aborted")
    aborted.initTransactions()
    aborted.beginTransaction()
    kafka.send(aborted, 1, 20, "aborted")
    aborted.abortTransaction()
    aborted.close()
    after = kafka.producer(transactional_id="aborted")
    after.initTransactions()  # returns when the marker is in the log, which the end of the transaction does not wait for
    after.close()
    kafka.send(plain, 1, 29, "plain")
    kafka.send(plain, 2, 40, "plain")
    plain.close()


def into(batch, number):
    rows = batch.count()
    print(f"batch {number}: {rows} rows")
    if number == FAILS:
        raise RuntimeError(f"batch {number} fails, as it shall")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--log-version", choices=["1", "2"], help="version of the offset log; Spark's default if not given")
    parser.add_argument("folder")
    args = parser.parse_args()
    folder = os.path.abspath(args.folder)

    spark = session()
    servers = os.environ["KAFKA"]
    fill(Kafka(spark, servers))
    if args.log_version:
        spark.conf.set("spark.sql.streaming.offsetLog.formatVersion", args.log_version)
    rows = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", servers)
        .option("subscribe", TOPIC)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", "120")
        .load()
        .withWatermark("timestamp", "10 minutes")
        .where(col("topic").isNotNull())
    )
    query = rows.writeStream.foreachBatch(into).option("checkpointLocation", folder).trigger(availableNow=True).start()
    try:
        query.awaitTermination()
    except Exception as failure:  # Spark's own type differs by version
        if f"batch {FAILS} fails, as it shall" not in str(failure):
            raise
    finally:
        spark.stop()
    print(f"wrote {folder}")


if __name__ == "__main__":
    main()
