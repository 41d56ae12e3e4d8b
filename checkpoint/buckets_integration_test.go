//go:build integration

package checkpoint_test

import (
	"errors"
	"testing"

	"sluice/batch"
	"sluice/checkpoint"
	"sluice/objectstore"
	"sluice/rig"
)

// What the address of the folder lacks comes from the environment.
func TestRealS3HoldsAWholeCheckpoint(t *testing.T) {
	bucket := rig.S3(t)
	wholeCheckpoint(t, bucket.URL, bucket.Folder)
}

func TestOnRealS3OneOfManyPlansABatch(t *testing.T) { onePlans(t, rig.S3(t).URL) }

func TestTheLeaseOnRealS3(t *testing.T) { leased(t, rig.S3(t).URL) }

func TestARealBucketThatIsNotThere(t *testing.T) {
	bucket := rig.S3(t)
	s := openBucket(t, "s3://no-such-bucket/ck?region=us-east-1&use_path_style=true&endpoint="+bucket.Endpoint)
	_, err := checkpoint.NewLog(s).Query(t.Context())
	wantFault(t, err, batch.NotSetUp, "bucket does not exist")
	if errors.Is(err, objectstore.ErrNotFound) {
		t.Errorf("%v reads as: no checkpoint yet", err)
	}
	t.Setenv("AWS_SECRET_ACCESS_KEY", "wrong-secret")
	_, err = checkpoint.NewLog(openBucket(t, bucket.URL)).Query(t.Context())
	wantFault(t, err, batch.NotSetUp, "permission denied")
}
