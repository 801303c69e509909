// Package groupcommit runs the functions of many callers in one database transaction, so that
// they share its commit, which is what makes a durable write slow.
// It is not for embedders.
//
//	callers        queue            one goroutine                       callers
//	  Do(f1) ──┐                ┌─ BEGIN ────────────────────────┐
//	  Do(f2) ──┼─> f1 f2 f3 ──> │  f1(R)  f2(R)  f3(R)           │ ──┬─> nil
//	  Do(f3) ──┘                └─ COMMIT: one sync of the disk ─┘   ├─> nil
//	                                                                 └─> the error of f3
//
// # A batch
//
// A Queue takes all functions that wait, up to a limit, runs them one after the other in one
// transaction, commits it, and only then returns to their callers: no caller gets a result that
// is not durable. While a batch is committed the next one gathers in the queue, so batches grow
// with the load and a lone caller does not wait. A commit that fails is the error of all callers
// of the batch.
//
// # Savepoints
//
// A function that fails must not leave its changes in the transaction of the others. After a
// savepoint SQLite copies each page that changes, so a batch runs without any at first: nearly all
// functions that fail do so before they change something. If one fails after a change, or may
// have made the transaction fail, the batch is rolled back and runs again with a savepoint before
// each function. It also runs again after a deadlock with another process. So a function may run
// more than once, and must have no effect but through its repositories.
//
// # Creations
//
// Adding records is what needs speed, so it is data, not a function: a creation. All creations of a
// batch run first, with one call: a database to which each statement takes a round trip inserts
// their rows with one statement. If the call fails, it is unknown which creation is wrong: the batch
// is rolled back and runs again with one creation after the other.
package groupcommit
