package lakesink

import (
	"strings"

	"github.com/apache/iceberg-go/table"

	"sluice/lakesink/partition"
)

// dataPlace says where the data files of a table go. iceberg-go does the same, but takes no notice of write.object-storage.enabled
// where a file is in the folder of a partition.
type dataPlace struct {
	// folder is all files'.
	folder string
	// hashed spreads files over folders that are named by a hash, as an object store's partitions are by what keys begin with;
	// partitioned has the partition's folder below these.
	hashed, partitioned bool
}

func placeOf(t *table.Table) dataPlace {
	folder := strings.TrimRight(t.Properties()[table.WriteDataPathKey], "/")
	if folder == "" {
		folder = strings.TrimRight(t.Location(), "/") + "/data"
	}
	return dataPlace{folder, t.Properties().GetBool(table.ObjectStoreEnabledKey, table.ObjectStoreEnabledDefault),
		t.Properties().GetBool(table.WriteObjectStorePartitionedPathsKey, table.WriteObjectStorePartitionedPathsDefault)}
}

// file is where a file of a partition goes, whose folder is empty where there are none.
func (p dataPlace) file(folder, name string) string {
	if folder != "" && (p.partitioned || !p.hashed) {
		name = folder + "/" + name
	}
	switch {
	case !p.hashed:
		return p.folder + "/" + name
	case p.partitioned:
		return p.folder + "/" + partition.Entropy(name) + "/" + name
	}
	return p.folder + "/" + partition.Entropy(name) + "-" + name
}
