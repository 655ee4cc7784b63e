// Package command is the target that runs programs: an argument list or a shell line, as cron does.
//
// # Who is authoritative for what
//
// The worker decides when a command starts, when its timeout passes and whether its run is still ours; it tells by the
// context. The target decides what the command sees (environment, directory, input) and what is kept of its output. The
// guard decides when nothing of it is left; nobody else may say so.
//
// Every command has a guard: this same program, started again under the name belfry-guard, before it has initialised
// anything that is big. The guard starts the command in a session of its own and becomes the parent of every orphan
// below it (PR_SET_CHILD_SUBREAPER), so that descendants which fork twice, change session or group, or ignore signals
// are still found: as long as the guard has a child, something is left. The two talk over a pair of sockets whose other
// end closes with this process, however it dies.
//
// # Life of a command
//
//	started -> exited: the command itself ended; the rest gets SIGTERM, after kill_grace SIGKILL -> gone
//	started -> told to stop (timeout, cancelled, lease lost, shutdown): all get SIGTERM, after kill_grace SIGKILL -> gone
//	started -> the server died or gave up, or the lease passed: all get SIGKILL at once -> gone
//
// The run's result is that of the command itself, unless it was told to stop first. Unlike cron, a command leaves no
// daemon behind: work that is to outlive its run is started by something else (a service manager), or it would run
// beside its own redelivery. The lease moves on with the worker's heartbeat; a grace never outlasts it.
//
// # Guarantees
//
//   - Nothing of a command is left kill_grace and a moment after its timeout or its own end, and none a moment after this
//     process died, also of SIGKILL.
//   - If the guard is killed, the command dies with it (PR_SET_PDEATHSIG), and this process, which adopts what the guard
//     had adopted, kills the rest; the run fails with code INTERNAL.
//   - If this process is stopped (SIGSTOP, a debugger), the guard ends the command when the lease that it was told passes.
//   - Output beyond output_limit is read and dropped; its size costs no memory, here or in the guard.
//   - The command sees PATH, HOME, LANG and TZ of the server, BELFRY_* and its own env, and nothing else. It inherits no
//     open file but its three streams.
//
// # Non-guarantees
//
//   - At most one execution at any time. A machine that is suspended as a whole stops the guard, too; after it wakes, the
//     command may live for a moment beside a redelivery elsewhere. Let the target of the work check BELFRY_FENCE, which
//     only grows.
//   - Processes of another user (sudo, setuid programs) cannot be killed by a server that is not root, and a process that
//     hangs in the kernel by nobody. Their run is given up as INTERNAL after a bounded time; the guard goes on trying.
//   - If this process and the guard are killed in the same instant, the command itself dies; what it had started may not.
//     The same is true of a process that left the session and replaced its environment when the guard alone is killed.
//   - A process that is handed a task by the command (a service manager, cron, a container engine) is not the command's.
//   - Elsewhere than on Linux there is no guard: only the process group is ended, and it survives this process.
package command
