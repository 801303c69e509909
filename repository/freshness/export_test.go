package freshness

// A PollCheck is a pollCheck with a counter of polls.
type PollCheck struct {
	check pollCheck
	polls uint64
}

// Tick adds polls and reports whether none has happened for two ticks.
func (c *PollCheck) Tick(polls uint64) bool {
	c.polls += polls
	return c.check.overdue(c.polls)
}
