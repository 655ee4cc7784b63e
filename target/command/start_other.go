//go:build !linux

package command

// GuardMain does nothing here: there is no guard on this system.
func GuardMain() {}

func adoptOrphans() error { return nil }

func start(c *call, out *capture) (process, error) {
	return startPlain(c, out)
}
