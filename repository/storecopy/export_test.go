package storecopy

// CopiedColumns returns the columns that Copy copies, by table.
func CopiedColumns() map[string]string {
	columns := map[string]string{}
	for _, table := range copiedTables {
		columns[table.name] = table.columns
	}
	return columns
}
