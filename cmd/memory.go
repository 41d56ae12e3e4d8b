package cmd

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"sluice/job"
)

// What the parts of a run take of the process's resident memory, measured with garbage collection at gcPercent
// (docs/performance.md says how).
const (
	// programBytes are there before anything is read: the code that is mapped, libraries, the catalog. How much of the
	// program's file a kernel maps around what is used is its own choice: the peak of one run differed by 15 MiB between
	// machines.
	programBytes = 80 << 20
	// mappedBytes is the part of that which the garbage collector does not count: pages of the program's file.
	mappedBytes = 60 << 20
	// workerBytes is the least that a worker needs for fetches, columns, pages, the compressor and a row group.
	workerBytes = 24 << 20
	// uploadBytes is what it needs besides if its files go to an object store: parts on their way.
	uploadBytes = 40 << 20
	// readerBytes of a worker's memory are in use before its files where a Fetch asks for minFetchBytes, and fetchFactor
	// bytes for each byte more: the answer in hand, the one on its way, and what becomes of them.
	readerBytes = 8 << 20
	fetchFactor = 4

	minFetchBytes = 1 << 20
	maxFetchBytes = 8 << 20
	// fetchShare is the part of a worker's memory that one Fetch asks for: 3.7 MiB by default, which keeps a core at work for
	// 100 ms, twice as long as a broker on another continent takes to answer. Larger ones take no less CPU.
	fetchShare = 24

	minRowGroupBytes = 16 << 20
	maxRowGroupBytes = 128 << 20
)

// gcPercent lets the heap grow by so much between collections. What a run keeps is small and mostly without pointers, so
// a collection is cheap, and the peak hardly depends on how long the run is: for 5,000,000 records it was 1.08 times that
// for 200,000, with 40 percent 1.12 times (`go run ./bench -only memory`).
const gcPercent = 25

// budget is how the ceiling of memory is shared out.
type budget struct {
	// workers carry out tasks side by side: one a core, if the memory is enough for so many.
	workers int
	// fetch is how much one Fetch of a worker asks for.
	fetch int64
	// files is what the files of one worker may hold, and rowGroup the size of their row groups before compression.
	files, rowGroup int64
	// letters is what the files of dead letters of one worker may hold.
	letters int64
	// wanted is the ceiling at which every core has a worker.
	wanted int64
}

// newBudget shares out a ceiling between as many workers as there are cores, or fewer.
func newBudget(ceiling int64, cores int, warehouse string) budget {
	least, uploads := int64(workerBytes), int64(0)
	if isRemote(warehouse) {
		uploads = uploadBytes
	}
	least += uploads
	room := max(least, ceiling-programBytes)
	workers := max(1, min(int64(cores), room/least))
	each := room / workers
	live := each * 100 / (100 + gcPercent) // the rest is garbage that has yet to be collected
	fetch := min(maxFetchBytes, max(minFetchBytes, (each-uploads)/fetchShare))
	return budget{workers: int(workers), fetch: fetch, files: live - beforeFiles(fetch),
		rowGroup: min(maxRowGroupBytes, max(minRowGroupBytes, each/4)), letters: live / letterShare, wanted: programBytes + int64(cores)*least}
}

// letterShare is the part of a worker's memory for files of dead letters. It is taken from that of the rows' files where a
// job has dead letters.
const letterShare = 4

// withLetters is the budget of a job.
func (b budget) withLetters(j *job.Job) budget {
	if v := valueOf(&j.Value); v.Rejects() {
		b.files -= b.letters
	}
	return b
}

// onTheWay is how much of the dead letters for a topic may wait for an answer, of all workers together: each is there as a
// record, in its batch, and in the request.
func (b budget) onTheWay() int64 { return max(leastOnTheWay, b.letters*int64(b.workers)/3) }

// leastOnTheWay is a batch of Kafka's own size, and a bit.
const leastOnTheWay = 1 << 20

// beforeFiles is what of a worker's memory its reader takes.
func beforeFiles(fetch int64) int64 { return readerBytes + fetchFactor*(fetch-minFetchBytes) }

// idleCores says what keeps cores from working; empty if nothing does.
func (b budget) idleCores(cores int) string {
	if b.workers >= cores {
		return ""
	}
	return fmt.Sprintf("memory is enough for %d workers on %d cores: --memory %dMiB makes all of them work", b.workers, cores, b.wanted>>20)
}

func isRemote(place string) bool {
	scheme, _, ok := strings.Cut(place, "://")
	return ok && scheme != "file"
}

// limitMemory tells the garbage collector about the ceiling. It is a safety line, not what bounds memory: buffers are
// bounded by construction, and a limit below what is in use only burns CPU.
func limitMemory(ceiling int64) {
	debug.SetGCPercent(gcPercent)
	debug.SetMemoryLimit(max(programBytes, ceiling-mappedBytes))
}

func cores() int { return runtime.GOMAXPROCS(0) }
