package groupcommit

const QueueSize = queueSize

// Queued returns the number of queued functions.
func (q *Queue[R]) Queued() int { return len(q.queue) }

// Closing returns a channel that is closed when Close is called.
func (q *Queue[R]) Closing() <-chan struct{} { return q.closing.Done() }
