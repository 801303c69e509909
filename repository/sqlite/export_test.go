package sqlite

// ErrFileReplaced is what a replaced or removed file is reported with.
var ErrFileReplaced = errFileReplaced

// WithRemedy is what Open does with an error.
var WithRemedy = withRemedy
