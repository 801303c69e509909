package sqlite

// WithRemedy returns an error of Open with its remedy.
var WithRemedy = withRemedy

// Migrate migrates a database with the migrations of a file system.
var Migrate = migrate
