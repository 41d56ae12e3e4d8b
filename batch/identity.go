package batch

// Identity is what a checkpoint belongs to. A run whose job does not fit it stops.
type Identity struct {
	Version int `json:"version"`
	// Name is the query's name.
	Name string `json:"name"`
	// ClusterID is the Kafka cluster's id; empty if it does not tell.
	ClusterID string `json:"clusterId"`
	// Sink names the table and its catalog.
	Sink string `json:"sink"`
	// Tables maps the role of each output ("main") to its table's UUID.
	Tables map[string]string `json:"tables"`
	// Keys holds the job keys that make a new query when they change, as they were.
	Keys map[string]string `json:"keys"`
}
