package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Options says how a Client behaves. The zero value works.
type Options struct {
	HTTP      *http.Client  // default: one without a proxy that waits 15 s for an answer to begin
	Tries     int           // how often a read is tried while the server cannot be reached or is not available; default 3
	Pause     time.Duration // before the second try, doubled after it; default 100 ms
	UserAgent string
}

// A server that accepts connections and does not answer (it is stopped, or is none) must not hold its callers for ever.
const (
	connectTimeout = 5 * time.Second
	answerTimeout  = 15 * time.Second
)

// maxAnswer bounds what is read of an answer; output is streamed and not bounded.
const maxAnswer = 64 << 20

// Client talks to one server. It may be used from any goroutine.
type Client struct {
	base *url.URL
	o    Options
}

// New makes a client of the server at a base address, such as "http://127.0.0.1:7878" or "127.0.0.1:7878". It connects
// to nothing yet.
func New(base string, o Options) (*Client, error) {
	if !strings.Contains(base, "://") {
		base = "http://" + base
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, fmt.Errorf("%q is not the address of a server; write it as http://127.0.0.1:7878", base)
	}
	u.Path, u.RawQuery, u.Fragment = strings.TrimSuffix(u.Path, "/"), "", ""
	if o.HTTP == nil {
		o.HTTP = &http.Client{Transport: &http.Transport{DialContext: (&net.Dialer{Timeout: connectTimeout}).DialContext,
			ResponseHeaderTimeout: answerTimeout}}
	}
	if o.Tries == 0 {
		o.Tries = 3
	}
	if o.Pause == 0 {
		o.Pause = 100 * time.Millisecond
	}
	return &Client{base: u, o: o}, nil
}

// Unreachable is the error of a call that got no answer.
type Unreachable struct {
	Server string
	Cause  error
}

// Error names the server and the cause.
func (u *Unreachable) Error() string { return fmt.Sprintf("%s: %v", u.Server, u.Cause) }

// Unwrap gives the cause.
func (u *Unreachable) Unwrap() error { return u.Cause }

// query keeps the parameters that are set.
func query(pairs ...string) url.Values {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	return q
}

// get reads one answer. It is tried again while the server cannot be reached or says that it is not available.
func (c *Client) get(ctx context.Context, path string, q url.Values, out any) error {
	pause := c.o.Pause
	for try := 1; ; try++ {
		err := c.once(ctx, http.MethodGet, path, q, nil, out)
		if try >= c.o.Tries || !passing(err) {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return err
		case <-timer.C:
		}
		pause *= 2
	}
}

// passing reports whether trying again may help.
func passing(err error) bool {
	var problem *Problem
	var unreachable *Unreachable
	var late net.Error
	switch {
	case errors.As(err, &problem):
		return problem.Retryable && problem.Status >= 500
	case errors.As(err, &unreachable):
		return !errors.Is(err, context.Canceled) && (!errors.As(err, &late) || !late.Timeout()) // the caller has waited once
	}
	return false
}

func (c *Client) once(ctx context.Context, method, path string, q url.Values, body, out any) error {
	resp, err := c.open(ctx, method, path, q, body)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // everything wanted has been read
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return &Unreachable{c.base.String(), err}
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("%s answered %s %s with what is not the expected JSON: %w", c.base, method, path, err)
	}
	return nil
}

// open sends a request and returns an answer that is not a problem; the caller closes its body.
func (c *Client) open(ctx context.Context, method, path string, q url.Values, body any) (*http.Response, error) {
	u := *c.base
	u.RawPath = u.EscapedPath() + path
	var err error
	if u.Path, err = url.PathUnescape(u.RawPath); err != nil {
		return nil, err
	}
	u.RawQuery = q.Encode()
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), content)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json, text/plain")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.o.UserAgent != "" {
		req.Header.Set("User-Agent", c.o.UserAgent)
	}
	resp, err := c.o.HTTP.Do(req)
	if err != nil {
		return nil, &Unreachable{c.base.String(), causeOf(ctx, err)}
	}
	if resp.StatusCode >= 300 {
		defer func() { _ = resp.Body.Close() }() // the problem has been read
		return nil, problemOf(resp)
	}
	return resp, nil
}

// causeOf is why there is no answer: the end of the context, or the error without the request that it repeats.
func causeOf(ctx context.Context, err error) error {
	var request *url.Error
	switch cause := context.Cause(ctx); {
	case cause != nil:
		return cause
	case errors.As(err, &request):
		return request.Err
	}
	return err
}

// problemOf reads a problem; an answer that is none, such as one of a proxy, is told by its status.
func problemOf(resp *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	p := &Problem{}
	if err != nil || json.Unmarshal(text, p) != nil || p.Code == "" {
		p = &Problem{Title: resp.Status, Code: "HTTP_" + strconv.Itoa(resp.StatusCode), Detail: "the answer is not one of a belfry server"}
	}
	p.Status = resp.StatusCode
	return p
}

// tenant is the beginning of every path that belongs to a tenant; "" is none.
func tenant(name string) string {
	if name == "" {
		name = "-"
	}
	return "/v1/tenants/" + url.PathEscape(name)
}
