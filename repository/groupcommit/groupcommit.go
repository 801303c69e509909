// Package groupcommit runs the transactions of many callers as one transaction of the database. The callers
// share its commit, because waiting until a commit is durable is what makes a write slow. It is not for
// embedders.
//
//	callers            the leader                                callers
//	  Create(c1) ─┐    ┌─ BEGIN ─────────────────────────────┐
//	  Create(c2) ─┼──> │  create(c1, c2), then f1(R), f2(R)  │ ──┬─> nil
//	  Do(f1) ─────┤    └─ COMMIT: one sync of the disk ──────┘   ├─> nil
//	  Do(f2) ─────┘                                              └─> the error of f2
//
// # A batch
//
// A caller gives the Queue a function (Do) or a creation (Create). A creation is records to insert, as
// data. A caller that finds no leader becomes the leader, and runs a batch on its own goroutine:
//
//   - It waits a moment for other callers, and begins a transaction.
//   - It takes the queued calls, up to a limit, as the batch.
//   - It runs all creations with one call of create, and then one function after the other. Each function
//     runs on the goroutine of its caller.
//   - It commits, and then lets the callers return.
//
// No caller gets a result that is not durable. If the commit fails, all callers of the batch get its error.
// Calls that arrive during a batch are queued, and the first of them leads the next batch: batches grow
// with the load.
//
// Before a leader begins, it yields to the goroutines that are ready to run. With few cores, each of them
// would otherwise commit alone, one after the other. Then the leader waits until as many calls are queued
// as the last batch had, a millisecond at most, because callers that shared a commit call again a moment
// later. A caller that is alone does not wait.
//
// # Calls that fail
//
// A batch runs without savepoints at first: after a savepoint, SQLite copies each page that changes. Nearly
// all calls that fail do so before they change anything. Such a call gets its error, and the others are
// committed. Creations run together, so all of them get the error.
//
// If a call fails after a change, or makes the whole transaction fail, the batch is rolled back and runs
// again. Then each creation and each function runs alone, after a savepoint, so that only the call that
// fails is undone. After a deadlock with another process, the batch is rolled back and runs again in the
// same way as before.
//
// So a function may run more than once. It must have no effect except through its repositories.
//
// # Calls that end otherwise
//
// A call whose context ends while it is queued is withdrawn. If the context of the leader ends before its
// transaction has begun, the newest queued call becomes the leader, because it has the most time left. If a
// function panics, its caller panics after the batch has ended. If a function calls runtime.Goexit, only
// the goroutine of its caller ends. Close waits until there is no leader.
package groupcommit
