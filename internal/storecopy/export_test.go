package storecopy

// CopiedColumns returns the columns of all tables that Copy copies, by table.
func CopiedColumns() map[string]string {
	columns := map[string]string{changesTable.name: changesTable.columns}
	for _, table := range copiedTables {
		columns[table.name] = table.columns
	}
	return columns
}
