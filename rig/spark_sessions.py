"""Sessions of the Spark of rig/spark and rig/spark --iceberg, with what the rig adds to it."""

import os

os.environ["TZ"] = "UTC"  # collected timestamps have no zone: they are told in the machine's

from pyspark.sql import SparkSession


def session(name, settings=None):
    """A Spark of two threads. Where the environment has a server of S3 (see rig/s3), s3a:// is there."""
    jars = os.environ["SPARK_RIG_JARS"]
    builder = (
        SparkSession.builder.master("local[2]")
        .appName(name)
        .config("spark.jars", ",".join(os.path.join(jars, j) for j in sorted(os.listdir(jars))))
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
    )
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3")
    if endpoint:
        s3a = {
            "endpoint": endpoint,
            "endpoint.region": os.environ["AWS_REGION"],
            "path.style.access": "true",
            "connection.ssl.enabled": "false",
            "aws.credentials.provider": "software.amazon.awssdk.auth.credentials.EnvironmentVariableCredentialsProvider",
        }
        for key, value in s3a.items():
            builder = builder.config("spark.hadoop.fs.s3a." + key, value)
    for key, value in (settings or {}).items():
        builder = builder.config(key, value)
    return builder.getOrCreate()
