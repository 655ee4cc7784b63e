// Package sqlstore is the one SQL implementation of the store contract. What differs between databases is a method of
// Dialect; everything else is plain SQL that SQLite, PostgreSQL and MySQL understand.
//
// Who is authoritative for what: the claim row says who plans and up to where; a schedule row with its revisions says
// what is owed; a run row is an occurrence's disposition, its place in the queue, its lease and its lock at once; a node
// row carries the lease of everything that the node holds.
//
// All writes of a process go through one connection and are committed in groups (see writer): while one transaction is
// being flushed the next one collects. A write that reports success is on the disk. Failure windows:
//
//   - The caller's context ends before its write began: nothing is written, and the context's error is returned.
//   - The context ends later: the write is finished all the same, and its own result is returned.
//   - COMMIT reports an error: the result is unknown to the caller. The nonce of the claim and the fence of a run make
//     it safe to ask again (PROTOCOL B2).
package sqlstore
