package groupcommit

const QueueSize = queueSize

// Queued returns the number of queued calls.
func (q *Queue[R, C]) Queued() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.queued)
}
