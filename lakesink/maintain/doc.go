// Package maintain keeps a table small and quick to plan: it expires snapshots, makes few manifests of many, compacts small
// data files, and removes files that nothing refers to, also from a folder of Parquet files without a catalog.
//
// What may go wrong without harm: everything. Each action is one conditional commit (lakesink's Change) or none, touches no
// ledger, and adds and removes no row. A file is deleted only when the table, read again after the commit, has nothing that
// refers to it; where the outcome of a commit is unknown nothing is deleted. Runs may write to the table meanwhile: a batch whose
// commit loses to one of these is offered again, with the files that it has.
//
// What is cut short leaves files that nothing refers to, and the next removal of orphans takes them.
package maintain
