package job

import "sluice/batch"

// checkLosses settles what both source.failOnDataLoss and source.onDataLoss decide: the higher layer does, as a flag replaces
// what the file says; in one layer they must not contradict each other.
func (l *loading) checkLosses() {
	general := l.touched[failOnLossPath]
	if general.Layer == Unset || l.isWrong(failOnLossPath) {
		return
	}
	for _, cause := range []batch.Cause{batch.Retention, batch.Recreated, batch.Diverged, batch.Missing} {
		k := find(onLossPath + "." + string(cause))
		at, word := l.touched[k.Path], k.text(l.job)
		agrees := (word == "fail") == l.job.Source.FailOnDataLoss
		switch {
		case at.Layer == Unset || l.isWrong(k.Path):
		case at.Layer < general.Layer:
			l.restore(k)
		case at.Layer == general.Layer && !agrees:
			l.report(at, k.Path, word+" contradicts "+failOnLossPath+": "+find(failOnLossPath).text(l.job)+" ("+general.String()+"): leave one of them out")
		}
	}
}
