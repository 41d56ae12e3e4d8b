package cmd

import "testing"

func TestMemoryIsSharedOutBetweenAsManyWorkersAsFit(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		name            string
		ceiling         int64
		cores           int
		warehouse       string
		workers         int
		files, rowGroup int64
		fetch           int64
	}{
		{name: "default on two cores", ceiling: 256 * mib, cores: 2, warehouse: "/data/lake", workers: 2, files: 88*mib*100/125 - 8*mib - 4*(88*mib/24-mib), rowGroup: 22 * mib, fetch: 88 * mib / 24},
		{name: "default on many cores", ceiling: 256 * mib, cores: 64, warehouse: "/data/lake", workers: 7, files: 176*mib/7*100/125 - 8*mib - 4*(176*mib/7/24-mib), rowGroup: 16 * mib, fetch: 176 * mib / 7 / 24},
		{name: "uploads take memory from workers", ceiling: 256 * mib, cores: 64, warehouse: "s3://lake/x", workers: 2, files: 88*mib*100/125 - 12*mib, rowGroup: 22 * mib, fetch: 2 * mib},
		{name: "a file URL is local", ceiling: 256 * mib, cores: 8, warehouse: "file:///data/lake", workers: 7, files: 176*mib/7*100/125 - 8*mib - 4*(176*mib/7/24-mib), rowGroup: 16 * mib, fetch: 176 * mib / 7 / 24},
		{name: "plenty makes row groups no larger than readers like", ceiling: 4096 * mib, cores: 4, warehouse: "/data/lake", workers: 4, files: 1004*mib*100/125 - 36*mib, rowGroup: 128 * mib, fetch: 8 * mib},
		{name: "uploads take nothing from fetches", ceiling: 1008 * mib, cores: 4, warehouse: "s3://lake/x", workers: 4, files: 232*mib*100/125 - 36*mib, rowGroup: 58 * mib, fetch: 8 * mib},
		{name: "the least", ceiling: 144 * mib, cores: 4, warehouse: "/data/lake", workers: 2, files: 32*mib*100/125 - 8*mib - 4*(32*mib/24-mib), rowGroup: 16 * mib, fetch: 32 * mib / 24},
		{name: "the least with uploads", ceiling: 144 * mib, cores: 4, warehouse: "s3://lake/x", workers: 1, files: 64*mib*100/125 - 8*mib, rowGroup: 16 * mib, fetch: mib},
	} {
		got := newBudget(c.ceiling, c.cores, c.warehouse)
		if got.workers != c.workers || got.files != c.files || got.rowGroup != c.rowGroup || got.fetch != c.fetch {
			t.Errorf("%s: got %+v, want %d workers, %d bytes of files, row groups of %d, fetches of %d", c.name, got, c.workers, c.files, c.rowGroup, c.fetch)
		}
	}
}

// A worker's files, what it holds besides, and the garbage of both never exceed what the ceiling leaves.
func TestMemoryOfAllWorkersFitsUnderTheCeiling(t *testing.T) {
	for ceiling := int64(144 << 20); ceiling <= 9<<30; ceiling *= 2 {
		for _, cores := range []int{1, 2, 3, 7, 16, 128} {
			for _, warehouse := range []string{"/data/lake", "s3://lake/x"} {
				b := newBudget(ceiling, cores, warehouse)
				if b.workers < 1 || b.workers > cores || b.files <= 0 {
					t.Errorf("%d bytes on %d cores for %s: got %+v", ceiling, cores, warehouse, b)
				}
				if used := int64(b.workers) * (b.files + beforeFiles(b.fetch)) * (100 + gcPercent) / 100; used > ceiling-programBytes {
					t.Errorf("%d bytes on %d cores for %s: %d workers use %d bytes beside the program's %d", ceiling, cores, warehouse, b.workers, used, programBytes)
				}
			}
		}
	}
}

func TestCoresThatMemoryKeepsIdleAreToldWithTheCure(t *testing.T) {
	for _, warehouse := range []string{"/data/lake", "s3://lake/x"} {
		short := newBudget(256<<20, 16, warehouse)
		if short.idleCores(16) == "" || short.workers >= 16 {
			t.Errorf("%s: got nothing told of %d workers on 16 cores", warehouse, short.workers)
		}
		if enough := newBudget(short.wanted, 16, warehouse); enough.workers != 16 || enough.idleCores(16) != "" {
			t.Errorf("%s: got %d workers with the memory that was asked for, want 16", warehouse, enough.workers)
		}
		if less := newBudget(short.wanted-1, 16, warehouse); less.workers != 15 {
			t.Errorf("%s: got %d workers with less than that, want 15", warehouse, less.workers)
		}
	}
}
