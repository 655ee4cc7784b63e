package command

import (
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// plain is a command without a guard, in a process group of its own: what there is on systems other than Linux, and
// what the mutation runs put in the guard's place. It outlives this process, and what leaves its group outlives it.
type plain struct {
	*life
	cmd    *exec.Cmd
	single bool

	mu   sync.Mutex
	kill *time.Timer
}

func startPlain(c *call, out *capture) (process, error) {
	stdin, fed, err := feed(c.stdin)
	if err != nil {
		return nil, err
	}
	defer func() { _ = stdin.Close() }() // our copy of the command's end
	if err := out.open(); err != nil {
		fed()
		return nil, err
	}
	cmd := &exec.Cmd{Path: string(c.Path), Args: plainTexts(c.Argv), Env: plainTexts(c.Env), Dir: string(c.Dir),
		Stdin: stdin, Stdout: out.writers[0], Stderr: out.writers[1],
		SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
	if err := cmd.Start(); err != nil {
		fed()
		return notStarted(c.refused(err)), nil
	}
	out.begin()
	p := &plain{life: newLife(), cmd: cmd, single: c.Single}
	go func() {
		defer fed()
		_ = cmd.Wait() // how it ended is in the state
		p.status(cmd.ProcessState.Sys().(syscall.WaitStatus))
		if !p.single {
			p.signal(syscall.SIGKILL) // what it left behind
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.kill != nil {
			p.kill.Stop()
		}
		close(p.goneC)
	}()
	return p, nil
}

func (p *plain) signal(s syscall.Signal) {
	pid := -p.cmd.Process.Pid
	if p.single {
		pid = -pid
	}
	_ = syscall.Kill(pid, s) // nobody there is what we want
}

func (p *plain) stop(grace time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.exitedC:
		return
	default:
	}
	if p.kill == nil {
		p.signal(syscall.SIGTERM)
	} else {
		p.kill.Stop()
	}
	p.kill = time.AfterFunc(grace, func() { p.signal(syscall.SIGKILL) })
}

func (p *plain) renew(time.Duration) {}
func (p *plain) abandon()            {}
