// Package groupcommit runs the transactions of many callers as one, so that they share its commit,
// which is what makes a durable write slow.
// It is not for embedders.
//
//	callers            the leader                                callers
//	  Create(c1) ─┐    ┌─ BEGIN ─────────────────────────────┐
//	  Create(c2) ─┼──> │  create(c1, c2), then f1(R), f2(R)  │ ──┬─> nil
//	  Do(f1) ─────┤    └─ COMMIT: one sync of the disk ──────┘   ├─> nil
//	  Do(f2) ─────┘                                              └─> the error of f2
//
// # A batch
//
// A caller gives the Queue a function (Do) or a creation (Create), which is records to insert as data.
// Whoever finds no leader becomes the leader. It waits for others, see below, and begins a transaction on its own
// goroutine. Then it takes all calls that are queued, up to a limit, as a batch. It runs all creations together with one
// call of create, then one function after the other, each on the goroutine of its caller. It
// commits, and only then lets the callers return: no caller gets a result that is not durable. A
// commit that fails is the error of all callers of the batch. Those that have called meanwhile
// are queued; the first of them leads the next batch. So batches grow with the load, and who calls
// alone, time after time, waits for nobody.
//
// Before a leader begins, it lets the goroutines run that are ready to: with few cores, each of them would
// otherwise commit alone, one after the other. If the last batch had more calls than are queued then, it
// waits for as many, a millisecond at most: those who share a commit call again a moment after it.
//
// # Calls that fail
//
// After a savepoint SQLite copies each page that changes, so a batch runs without any at first: nearly all calls
// that fail do so before they change something. Such a call gets its error, and the others are committed; creations,
// which run together, fail together. If a call fails after a change, or the database has made the transaction fail,
// the batch is rolled back and runs again: one creation or function after the other, with a savepoint before each, so
// that only what fails is undone. After a deadlock with another process the batch runs again as it was. So a function
// may run more than once, and must have no effect but through its repositories.
//
// # Calls that end otherwise
//
// A call whose context ends while it is queued is withdrawn. If the context of a leader ends before its transaction has
// begun, the newest call leads, which has the most time. A panic of a function is that of its caller, after the batch has
// ended; runtime.Goexit ends the goroutine of its caller alone. Close waits until nobody leads any more.
package groupcommit
