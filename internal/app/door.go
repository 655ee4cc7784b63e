package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/belfryhq/belfry/client"
	"github.com/belfryhq/belfry/internal/api"
)

// door is the API of one node on its listener, and the file that tells where it is.
type door struct {
	listener net.Listener
	server   *http.Server
	address  string
	file     string // "": none
	cut      context.CancelFunc
}

// shutTimeout is how long requests may take to end once the node has stopped; outputs that are followed are cut at once.
const shutTimeout = 2 * time.Second

// listen opens the door. Addresses that others could reach are refused here, too: the API has no sign-in yet.
func (n *Node) listen(address string) (*door, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	tcp, ok := listener.Addr().(*net.TCPAddr)
	if !ok || !tcp.IP.IsLoopback() {
		return nil, errors.Join(fmt.Errorf("%s can be reached by others, and the API has no sign-in yet: listen on 127.0.0.1 or [::1]", address), listener.Close())
	}
	d := &door{listener: listener, address: listener.Addr().String(), file: n.o.AddressFile}
	d.server = api.Server(api.Handler(n.Control, api.Options{Local: n.local, Defaults: n.o.File.Defaults, Logger: n.o.Logger}), n.o.Logger)
	base, cut := context.WithCancel(context.Background())
	d.server.BaseContext = func(net.Listener) context.Context { return base }
	d.cut = cut
	return d, nil
}

// run serves until ctx ends.
func (d *door) run(ctx context.Context) error {
	if err := d.announce(); err != nil {
		return err
	}
	failed := make(chan error, 1)
	go func() { failed <- d.server.Serve(d.listener) }()
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
		d.cut()
		bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutTimeout)
		defer cancel()
		if d.server.Shutdown(bound) != nil {
			_ = d.server.Close() // whoever still reads has had its time
		}
		err = <-failed
	}
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return errors.Join(named("api", err), d.withdraw())
}

// close is for a door that was never run; otherwise it does nothing.
func (d *door) close() error {
	d.cut()
	if err := d.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("close the listener: %w", err)
	}
	return nil
}

// announce writes the address where the command line looks for it. Of two servers on one state directory the last one
// is found; the file is replaced as a whole, so that nobody reads half of it.
func (d *door) announce() error {
	if d.file == "" {
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(d.file), ".belfry.addr-") // made with mode 0600
	if err != nil {
		return fmt.Errorf("write the address: %w", err)
	}
	_, err = fmt.Fprintf(f, "%s\n", d.address)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), d.file)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // a leftover harms nobody
		return fmt.Errorf("write the address: %w", err)
	}
	return nil
}

// withdraw removes the file if it is still ours.
func (d *door) withdraw() error {
	if d.file == "" {
		return nil
	}
	if text, err := os.ReadFile(d.file); errors.Is(err, os.ErrNotExist) || err == nil && string(text) != d.address+"\n" {
		return nil // gone, or another server's
	}
	if err := os.Remove(d.file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the address: %w", err)
	}
	return nil
}

// local is how this process stands.
func (n *Node) local() api.Local {
	p := n.Planner()
	l := api.Local{Version: n.o.Version, StartedAt: n.started, Roles: append(n.roles(), "api"), Consent: string(n.o.Consent),
		Planner: client.PlannerStatus{Leading: p.Leading, Ready: p.Ready, Reason: p.Reason, Watermark: client.NewTime(p.Watermark),
			Epoch: p.Epoch, Schedules: p.Schedules, Arrears: p.Arrears, Inserted: p.Inserted, Gaps: p.Gaps}}
	if n.worker != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		l.Node = n.identity(ctx)
	}
	if n.watch != nil {
		l.File = n.watch.status()
	}
	return l
}
