package job

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"sluice/offsets"
)

// check reports keys that are missing and values that do not go together. Keys that are wrong in themselves were
// reported before, and are not missing.
func (l *loading) check() {
	l.checkClients() // first: what is misspelt there is not missing
	for _, k := range keys {
		if k.Needs&l.in.Needs != 0 && l.isMissing(k.Path) && !(k.Needs == ForSink && l.wantsFolder()) && !(k.Path == warehousePath && l.job.Sink.Iceberg.Catalog.IsNamed()) {
			l.missing(k)
		}
	}
	l.checkOtherSink()
	l.checkSelection()
	l.checkPlaces()
	l.checkEnds()
	l.checkLosses()
	l.checkValue()
	if l.in.Needs&ForSink != 0 && !l.job.Sink.IsFolder() {
		l.checkCatalog()
	}
	if Folder(l.job.Sink.Parquet.Path) == "/" {
		l.report(l.touched[parquetPath], parquetPath, "is the root of the file system: want a folder of its own")
	}
	if l.in.Needs&ForCheckpoint != 0 {
		l.checkCheckpoint()
	}
}

// wantsFolder says that the rows are meant for a folder of files, also where its address is misspelt or wrong.
func (l *loading) wantsFolder() bool {
	return l.isTouched(parquetPath) || !l.isTouched(tablePath) && slices.ContainsFunc(l.problems, func(p Problem) bool {
		return p.Key == parquetSection || strings.HasPrefix(p.Key, parquetSection+".")
	})
}

// checkOtherSink reports what shapes files of a sink that is not the job's: it would be left aside without a word. Where a
// flag has replaced the sink of a file, what the file says of its files goes with it.
func (l *loading) checkOtherSink() {
	chosen, others, instead := tablePath, []string{filesByPath, "sink.parquet.sortBy", "sink.parquet.targetFileSize", "sink.parquet.sparkMetadata"}, "the rows go to a table, whose keys are sink.iceberg.*"
	if l.isTouched(parquetPath) {
		chosen, others, instead = parquetPath, []string{"sink.iceberg.partitionBy", "sink.iceberg.sortBy", branchPath, "sink.iceberg.targetFileSize"}, "the rows go to a folder of files, which has no branches and whose keys are sink.parquet.partitionBy, sortBy and targetFileSize"
	}
	if !l.isTouched(chosen) {
		return
	}
	for _, path := range others {
		k, at := find(path), l.touched[path]
		switch {
		case at.Layer == Unset || k.text(l.job) == k.Default || l.isWrong(path):
		case at.Layer < l.touched[chosen].Layer:
			l.restore(k)
		default:
			l.report(at, path, "has no effect beside "+chosen+" ("+l.touched[chosen].String()+"): "+instead)
		}
	}
}

func (l *loading) isTouched(path string) bool { return l.touched[path].Layer != Unset }

func (l *loading) isMissing(path string) bool {
	return !l.isTouched(path) && find(path).text(l.job) == ""
}

func (l *loading) missing(k *Key) {
	for _, p := range l.problems {
		if p.Nearest == k.Path { // it is there under a misspelt name, which was reported
			return
		}
	}
	p := Problem{At: l.around(k.Path), Key: k.Path, Message: "is missing: want " + k.Want + k.ways()}
	if k.Path == tablePath {
		p.Message += "; or else " + parquetPath + " (--" + find(parquetPath).Flag + "), a folder of files"
	}
	if place := Folder(l.job.Sink.Place()); k.Path == checkpointPath && place != "" {
		name := l.job.Name
		if name == "" {
			name = "<name>"
		}
		p.Message = "is missing: want a folder such as " + joinLocation(place, checkpointFolder, name) + k.ways()
	}
	l.problems = append(l.problems, p)
}

// ways lists where a key can be given.
func (k *Key) ways() string {
	if k.Flag == "" {
		return ", in the job file or as " + k.Env()
	}
	return ", in the job file, as --" + k.Flag + " or as " + k.Env()
}

// around is where a missing key would stand: the innermost section that is there, else the file.
func (l *loading) around(path string) Origin {
	for path != "" {
		path, _ = cutLast(path)
		if at, ok := l.sections[path]; ok && path != "" {
			return at
		}
	}
	if l.in.File != "" {
		return Origin{Layer: File, Name: l.in.File}
	}
	return Origin{}
}

// exclusive keeps, of keys that exclude each other, those that the highest layer set, and reports several in one
// layer: a flag replaces what the file says without a word, two keys in one file contradict each other.
func (l *loading) exclusive(paths ...string) {
	top := Unset
	for _, path := range paths {
		top = max(top, l.touched[path].Layer)
	}
	first := ""
	for _, path := range paths {
		at := l.touched[path]
		switch {
		case top == Unset:
		case at.Layer < top:
			l.restore(find(path))
		case first == "":
			first = path
		default:
			l.report(at, path, "contradicts "+first+" ("+l.touched[first].String()+"): give one of them")
		}
	}
}

// restore makes a key as if nobody had set it.
func (l *loading) restore(k *Key) {
	k.clear(l.job)
	delete(l.touched, k.Path)
	delete(l.job.origins, k.Path)
	l.readDefault(k)
}

func (l *loading) checkSelection() {
	given := slices.ContainsFunc([]string{subscribePath, patternPath, assignPath}, l.isTouched)
	for _, p := range l.problems {
		given = given || isSelection(p.Nearest)
	}
	if l.in.Needs&ForSource == 0 || given {
		return
	}
	l.report(l.around(subscribePath), "source", "nothing says what to read: want one of subscribe, subscribePattern and assign (--subscribe, --subscribe-pattern, --assign)")
}

// checkClients puts each problem with a property of a client where the property was written.
func (l *loading) checkClients() {
	l.checkClient(kafkaPath, l.job.Source.Kafka, l.in.CheckClient)
	if len(l.job.Registry) > 0 {
		l.checkClient(registryPath, l.job.Registry, l.in.CheckRegistry)
	}
}

func (l *loading) checkClient(section string, properties Properties, check func(map[string]string) []PropertyProblem) {
	if check == nil {
		return
	}
	for _, found := range check(properties) {
		path := join(section, found.Name)
		if find(path) != nil && l.isWrong(path) { // to the client it is missing
			continue
		}
		p := Problem{At: l.job.origins[path], Key: path, Message: found.Message}
		if found.Value {
			value := term{text: properties[found.Name], secret: l.job.secret[path] || SecretName(found.Name)}
			p.Message = value.quoted() + " does not fit: " + found.Message
		}
		if found.Nearest != "" {
			p.Nearest = join(section, found.Nearest)
		}
		l.problems = append(l.problems, p)
	}
}

// selectsTopic says whether the subscription reads the topic; anything if there is no valid subscription.
func (s *Source) selectsTopic(topic string) bool {
	switch {
	case len(s.Subscribe) > 0:
		return slices.Contains(s.Subscribe, topic)
	case s.SubscribePattern != "":
		matched, err := regexp.MatchString(s.SubscribePattern, topic)
		return err != nil || matched
	case len(s.Assign) > 0:
		return slices.ContainsFunc(s.Assign, func(tp offsets.TopicPartition) bool { return tp.Topic == topic })
	}
	return true
}

// names says whether the subscription is known to read the topic.
func (s *Source) names(topic string) bool {
	return s.selection() != "" && s.selectsTopic(topic)
}

// selection is the key that says what is read, empty if there is none.
func (s *Source) selection() string {
	switch {
	case len(s.Subscribe) > 0:
		return subscribePath
	case s.SubscribePattern != "":
		return patternPath
	case len(s.Assign) > 0:
		return assignPath
	}
	return ""
}

// checkCheckpoint keeps the checkpoint out of the folders that other programs clean up.
func (l *loading) checkCheckpoint() {
	iceberg := &l.job.Sink.Iceberg
	warehouse, checkpoint := iceberg.Catalog.Warehouse, l.job.Checkpoint
	if l.job.Sink.IsFolder() {
		l.checkBesideFiles(Folder(l.job.Sink.Parquet.Path), Folder(checkpoint))
		return
	}
	if warehouse == "" || checkpoint == "" || iceberg.Catalog.IsNamed() {
		return
	}
	at := l.job.origins[checkpointPath]
	if checkpoint == warehouse {
		l.report(at, checkpointPath, "is the warehouse itself: want a folder of its own, such as "+
			joinLocation(warehouse, checkpointFolder, l.job.Name))
		return
	}
	parts := strings.Split(iceberg.Table, ".")
	namespace, table := path.Join(parts[:len(parts)-1]...), parts[len(parts)-1]
	for _, folder := range []string{joinLocation(warehouse, namespace, table), joinLocation(warehouse, namespace+".db", table)} {
		if checkpoint == folder || strings.HasPrefix(checkpoint, folder+"/") {
			l.report(at, checkpointPath, fmt.Sprintf("lies in the folder of the table, where the removal of orphan files deletes it: want a folder such as %s",
				joinLocation(warehouse, checkpointFolder, l.job.Name)))
		}
	}
}

// checkBesideFiles keeps the checkpoint out of what a folder of files says of itself.
func (l *loading) checkBesideFiles(folder, checkpoint string) {
	books := joinLocation(folder, "_sluice")
	if checkpoint != "" && (checkpoint == folder || (checkpoint+"/") == books+"/" || strings.HasPrefix(checkpoint, books+"/")) {
		l.report(l.job.origins[checkpointPath], checkpointPath, "lies where the files, or what is said of them, are: want a folder of its own, such as "+
			joinLocation(folder, checkpointFolder, l.job.Name))
	}
}

// joinLocation adds folders to a path or URL.
func joinLocation(location string, folders ...string) string {
	return strings.TrimRight(location, "/") + "/" + path.Join(folders...)
}
