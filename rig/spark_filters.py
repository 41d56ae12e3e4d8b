"""Asks the Bloom filters of a Parquet file with parquet-java, and Spark by them.

    rig/spark rig/spark_filters.py FILE

Prints one line of JSON behind "filters: ": by column with filters, of up to 40 different values
  lost      how many values no row group has by its filter, and how many queries with the value find fewer rows than there are
  asked     how many filters were asked
  excluded  how many denied a value
"""

import decimal
import json
import struct
import sys

from pyspark.sql import SparkSession
from pyspark.sql.functions import lit

decimal.getcontext().prec = 50
spark = SparkSession.builder.master("local[2]").appName("filters").config("spark.ui.enabled", "false").config("spark.sql.session.timeZone", "UTC").getOrCreate()
parquet = spark._jvm.org.apache.parquet
path = spark._jvm.org.apache.hadoop.fs.Path(sys.argv[1])
reader = parquet.hadoop.ParquetFileReader.open(parquet.hadoop.util.HadoopInputFile.fromPath(path, spark._jsc.hadoopConfiguration()))
rows = spark.read.parquet(sys.argv[1])


def plain(value, kind, width):
    """A value as Parquet's PLAIN encoding has it."""
    if isinstance(value, decimal.Decimal):
        value = int(value.scaleb(2))  # all of the test's
    match kind:
        case "INT32":
            return struct.pack("<i", value)
        case "INT64":
            return struct.pack("<q", value)
        case "FLOAT":
            return struct.pack("<f", value)
        case "DOUBLE":
            return struct.pack("<d", value)
        case "FIXED_LEN_BYTE_ARRAY" if isinstance(value, int):
            return value.to_bytes(width, "big", signed=True)
    return value.encode() if isinstance(value, str) else bytes(value)


result = {}
blocks = list(reader.getFooter().getBlocks())
for field in reader.getFooter().getFileMetaData().getSchema().getColumns():
    name = field.getPath()[0]
    filters = []
    for block in blocks:
        chunk = next(c for c in block.getColumns() if c.getPath().toDotString() == name)
        if chunk.getBloomFilterOffset() > 0:
            filters.append(reader.getBloomFilterDataReader(block).readBloomFilter(chunk))
    if not filters:
        continue
    kind = field.getPrimitiveType()
    counts = {row[0]: row[1] for row in rows.groupBy(name).count().collect() if row[0] is not None and row[0] == row[0]}
    lost = asked = excluded = 0
    for value in sorted(counts)[:: max(1, len(counts) // 40)]:
        form = parquet.io.api.Binary.fromConstantByteArray(plain(value, kind.getPrimitiveTypeName().toString(), kind.getTypeLength()))
        found = [f.findHash(f.hash(form)) for f in filters]
        asked, excluded, lost = asked + len(found), excluded + found.count(False), lost + (not any(found))
    for value in sorted(counts)[:: max(1, len(counts) // 5)]:
        constant = lit(value).cast(rows.schema[name].dataType)
        lost += rows.where(rows[name] == constant).count() < counts[value]
    result[name] = {"lost": lost, "asked": asked, "excluded": excluded}
print("filters: " + json.dumps(result))
spark.stop()
