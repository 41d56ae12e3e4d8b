package rig

import (
	"sync"
	"testing"
)

// Cloud is a folder of its own on a server of this machine that speaks like a cloud's.
type Cloud struct {
	// Folder is the address of the folder: a checkpoint, for clients that take the rest from the environment.
	Folder string
	// Warehouse is the same folder as Iceberg writes it.
	Warehouse string
}

var gcs = sync.OnceValues(func() (map[string]string, error) {
	out, err := command("gcs", "start")
	return exports(out), err
})

var azure = sync.OnceValues(func() (map[string]string, error) {
	out, err := command("azure", "start")
	return exports(out), err
})

// GCS is a fresh folder on the shared server that speaks like Google Cloud Storage, started on first use, and sets the
// environment in which its clients find it (so the test cannot be parallel). What is in it stays until the server is stopped.
func GCS(tb testing.TB) Cloud {
	tb.Helper()
	setenv(tb, gcs)
	folder := "gs://lake/" + fresh(tb)
	return Cloud{Folder: folder, Warehouse: folder}
}

// Azure is the same for Azure Blob Storage.
func Azure(tb testing.TB) Cloud {
	tb.Helper()
	env := setenv(tb, azure)
	folder := fresh(tb)
	return Cloud{Folder: "azblob://lake/" + folder, Warehouse: "abfss://lake@" + env["AZURE_STORAGE_ACCOUNT"] + ".dfs.core.windows.net/" + folder}
}

func setenv(tb testing.TB, start func() (map[string]string, error)) map[string]string {
	tb.Helper()
	env, err := start()
	if err != nil {
		tb.Fatal(err)
	}
	for name, value := range env {
		tb.Setenv(name, value)
	}
	return env
}
