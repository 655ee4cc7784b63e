package redis_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
)

// A client speaks RESP2 over one connection at a time, and dials anew after an error: enough to stand for the clients
// that programs use.
type client struct {
	network, address string
	mu               sync.Mutex
	conn             net.Conn
	in               *bufio.Reader
}

func (c *client) do(ctx context.Context, args ...any) (any, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == nil {
		conn, err := (&net.Dialer{}).DialContext(ctx, c.network, c.address)
		if err != nil {
			return nil, err
		}
		c.conn, c.in = conn, bufio.NewReader(conn)
	}
	stop := context.AfterFunc(ctx, func() { _ = c.conn.Close() })
	reply, err := c.exchange(args)
	if failed := new(replyError); !stop() || err != nil && !errors.As(err, failed) {
		_ = c.conn.Close()
		c.conn = nil
	}
	return reply, err
}

func (c *client) exchange(args []any) (any, error) {
	out := fmt.Appendf(nil, "*%d\r\n", len(args))
	for _, arg := range args {
		text := fmt.Sprint(arg)
		out = fmt.Appendf(out, "$%d\r\n%s\r\n", len(text), text)
	}
	if _, err := c.conn.Write(out); err != nil {
		return nil, err
	}
	return c.read()
}

type replyError string

func (e replyError) Error() string { return string(e) }

func (c *client) read() (any, error) {
	line, err := c.in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	kind, rest := line[0], line[1:len(line)-2]
	switch kind {
	case '+':
		return rest, nil
	case '-':
		return nil, replyError(rest)
	}
	n, err := strconv.ParseInt(rest, 10, 64)
	switch {
	case err != nil || kind == ':':
		return n, err
	case n < 0:
		return nil, nil
	case kind == '$':
		text := make([]byte, n+2)
		_, err := io.ReadFull(c.in, text)
		return string(text[:n]), err
	}
	all := make([]any, n)
	for i := range all {
		if all[i], err = c.read(); err != nil {
			return nil, err
		}
	}
	return all, nil
}
