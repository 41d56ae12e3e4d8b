package lakesink

import (
	"sluice/batch"
	"sluice/objectstore/answer"
)

const forbidden = "check the credentials and their permissions on the warehouse"

// hints is what to do about the answers of stores that need somebody.
var hints = map[answer.Kind]string{
	answer.Forbidden:     forbidden,
	answer.NoBucket:      "create the bucket, or check the warehouse's address",
	answer.NoCredentials: "give credentials by environment, profile or instance role (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or a role), or as properties of the catalog",
	answer.WrongPlace:    "the bucket is in another region: give its own as s3.region in sink.iceberg.catalog.properties, as ?region=… in the address of a folder, or as AWS_REGION",
	answer.NoRegion:      "give the bucket's region as s3.region in sink.iceberg.catalog.properties, as ?region=… in the address of a folder, or as AWS_REGION; nothing was sent",
	answer.WrongClock:    "the store's clock and this machine's are too far apart: set the clock of this machine (NTP), then run again",
	answer.Full:          "free some space in the bucket or raise its quota, then run again; nothing is half-done",
}

// cloudMeaning knows the answers of object stores.
func cloudMeaning(err error) (class batch.Class, hint string, ok bool) {
	kind := answer.Of(err)
	hint, ok = hints[kind]
	if kind == answer.Full {
		return batch.Failed, hint, ok
	}
	return batch.NotSetUp, hint, ok
}
