package usecase

// An idSet is a set of ids: a bit for each, in words of 64 neighbours. The ids of a store are dense, so that a file of a
// million animals needs less than a megabyte.
type idSet map[int64]uint64

// add adds an id. It reports whether the set did not have it.
func (s idSet) add(id int64) bool {
	word, bit := id>>6, uint64(1)<<(id&63)
	if s[word]&bit != 0 {
		return false
	}
	s[word] |= bit
	return true
}
