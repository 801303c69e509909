package groupcommit

import "context"

const QueueSize = queueSize

// Queued returns the number of queued functions.
func (q *Queue[R, C]) Queued() int { return len(q.queue) }

// WaitForLate queues a function as a caller that found the queue open before Close, and waits for it
// as Do does.
func (q *Queue[R, C]) WaitForLate(ctx context.Context) error {
	late := &pendingTx[R, C]{ctx: ctx, done: make(chan struct{})}
	q.queue <- late
	return q.wait(ctx, late)
}
