package job

import (
	"path"
	"path/filepath"
)

// checkpointFolder is the folder of a warehouse for checkpoints. Its underscore keeps it apart from namespaces.
const checkpointFolder = "_checkpoints"

// fileProperties are the client properties that name a file.
var fileProperties = []string{"ssl.truststore.location", "ssl.keystore.location", "ssl.cabundle", "ssl.client.cert", "ssl.client.key"}

// derive settles what follows from other keys: which of several exclusive ones counts, absolute paths, and values that
// nobody set.
func (l *loading) derive() {
	l.exclusive(subscribePath, patternPath, assignPath)
	l.exclusive(startOffsetsPath, startTimePath, startTimesPath)
	l.exclusive(endOffsetsPath, endTimePath, endTimesPath)
	l.exclusive(deadLetterPath, deadFolderPath, deadTopicPath)
	l.exclusive(tablePath, parquetPath)
	j := l.job
	if j.Value.Format == "json" {
		l.exclusive(schemaPath, schemaFilePath)
	}
	if j.Value.Key.Format == "json" {
		l.exclusive(keySchemaPath, keySchemaFilePath)
	}
	catalog := &j.Sink.Iceberg.Catalog
	l.makeAbsolute(checkpointPath, &j.Checkpoint)
	if !catalog.IsNamed() {
		l.makeAbsolute(warehousePath, &catalog.Warehouse)
	}
	l.makeAbsolute(parquetPath, &j.Sink.Parquet.Path)
	l.makeAbsolute(deadFolderPath, &j.Value.DeadLetterPath)
	l.makeAbsolute(catalogURIPath, &catalog.URI)
	l.makeFilesAbsolute(kafkaPath, j.Source.Kafka)
	l.makeFilesAbsolute(registryPath, j.Registry)
	l.makeFilesAbsolute(catalogPropsPath, catalog.Properties)

	l.deriveSchemas()

	if !l.isTouched(namePath) {
		l.deriveName()
	}
	if l.isTouched(leasePath) && !l.isTouched(waitPath) {
		j.Run.Wait, j.origins[waitPath] = j.Run.Lease, Origin{Layer: Derived, Name: leasePath}
	}
	place, placePath := j.Sink.Place(), warehousePath
	if j.Sink.IsFolder() {
		placePath = parquetPath
	}
	local := place != "" && isLocal(place)
	if local && !j.Sink.IsFolder() && catalog.Type == "sql" && !l.isTouched(catalogURIPath) {
		l.derived(catalogURIPath, &catalog.URI, joinLocation(catalog.Warehouse, "catalog.db"), warehousePath)
	}
	switch {
	case l.isTouched(checkpointPath):
	case local && j.Name != "":
		l.derived(checkpointPath, &j.Checkpoint, joinLocation(place, checkpointFolder, j.Name), placePath)
	case l.isWrong(placePath) || place == "" && l.wantsFolder() || local && (l.isWrong(namePath) || l.isWrong(tablePath)):
		// It would follow from what was reported already.
		l.touched[checkpointPath] = Origin{Layer: Derived, Name: placePath}
	}
}

func (l *loading) makeFilesAbsolute(section string, properties Properties) {
	for _, name := range fileProperties {
		if file := properties[name]; file != "" {
			l.makeAbsolute(join(section, name), &file)
			properties[name] = file
		}
	}
}

// isWrong says that somebody set the key, to something that was reported.
func (l *loading) isWrong(path string) bool {
	return l.isTouched(path) && find(path).text(l.job) == ""
}

func (l *loading) makeAbsolute(path string, value *string) {
	*value = absolute(*value, l.job.origins[path], l.in.WorkDir)
	if l.in.WorkDirError != nil && *value != "" && isLocal(*value) && !filepath.IsAbs(*value) {
		l.report(l.job.origins[path], path, "is relative, and there is no working directory ("+reason(l.in.WorkDirError)+"): give the path from /, or start in a folder that exists")
	}
}

func (l *loading) derived(path string, value *string, v, from string) {
	*value = v
	l.job.origins[path] = Origin{Layer: Derived, Name: from}
}

// deriveName names the query after its table or folder, else after its only topic.
func (l *loading) deriveName() {
	j := l.job
	var topics []string
	for _, tp := range j.Source.Assign {
		if len(topics) == 0 || topics[len(topics)-1] != tp.Topic {
			topics = append(topics, tp.Topic)
		}
	}
	name, from := j.Sink.Iceberg.Table, tablePath
	switch {
	case j.Sink.IsFolder():
		name, from = path.Base(Folder(j.Sink.Parquet.Path)), parquetPath
	case name != "":
	case len(j.Source.Subscribe) == 1:
		name, from = j.Source.Subscribe[0], subscribePath
	case len(topics) == 1:
		name, from = topics[0], assignPath
	default:
		return
	}
	if queryNames.MatchString(name) {
		l.derived(namePath, &j.Name, name, from)
		return
	}
	if l.in.Needs&(ForCheckpoint|ForSink) != 0 {
		k := find(namePath)
		l.report(l.around(namePath), namePath, "is missing, and "+from+" holds characters that a name cannot: want "+k.Want)
	}
}
