package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Page asks for a page of a listing. The zero value is the first page in the server's size.
type Page struct {
	Size  int
	Token string
}

func (p Page) size() string {
	if p.Size == 0 {
		return ""
	}
	return strconv.Itoa(p.Size)
}

// RunFilter selects runs. Empty fields do not restrict; From is included and To is not, both of the due instant.
type RunFilter struct {
	Schedule string
	Statuses []string
	Kind     string
	From, To string // RFC 3339
	Page
}

// GapFilter selects gaps. Empty fields do not restrict; those that touch [From, To) are listed.
type GapFilter struct {
	Schedule, Reason string
	From, To         string // RFC 3339
	Page
}

// Schedules lists the schedules of a tenant ("" is none) by name. Every method returns a *Problem when the server
// refuses and an *Unreachable when it does not answer.
func (c *Client) Schedules(ctx context.Context, t string, p Page) (out List[Schedule], err error) {
	err = c.get(ctx, tenant(t)+"/schedules", query("page_size", p.size(), "page_token", p.Token), &out)
	return out, err
}

// Schedule reads one schedule by its name.
func (c *Client) Schedule(ctx context.Context, t, name string) (out Schedule, err error) {
	err = c.get(ctx, tenant(t)+"/schedules/"+url.PathEscape(name), nil, &out)
	return out, err
}

// Due lists the coming occurrences of a schedule from an instant on ("" is now), before another ("" is open), at most n
// of them (0: the server's default).
func (c *Client) Due(ctx context.Context, t, name string, from, to string, n int) (out Due, err error) {
	q := query("from", from, "to", to)
	if n > 0 {
		q.Set("n", strconv.Itoa(n))
	}
	err = c.get(ctx, tenant(t)+"/schedules/"+url.PathEscape(name)+"/next", q, &out)
	return out, err
}

// Explain tells what became of one instant of a schedule.
func (c *Client) Explain(ctx context.Context, t, name, at string) (out Explanation, err error) {
	err = c.get(ctx, tenant(t)+"/schedules/"+url.PathEscape(name)+"/explain", query("at", at), &out)
	return out, err
}

// Next lists what is due next over all schedules of a tenant, the earliest first, at most n (0: the server's default).
func (c *Client) Next(ctx context.Context, t string, n int) (out List[Next], err error) {
	q := url.Values{}
	if n > 0 {
		q.Set("n", strconv.Itoa(n))
	}
	err = c.get(ctx, tenant(t)+"/next", q, &out)
	return out, err
}

// Runs lists runs, newest due first.
func (c *Client) Runs(ctx context.Context, t string, f RunFilter) (out List[Run], err error) {
	err = c.get(ctx, tenant(t)+"/runs", query("schedule", f.Schedule, "status", strings.Join(f.Statuses, ","), "kind", f.Kind,
		"from", f.From, "to", f.To, "page_size", f.size(), "page_token", f.Token), &out)
	return out, err
}

// Run reads one run by its id.
func (c *Client) Run(ctx context.Context, t, id string) (out Run, err error) {
	err = c.get(ctx, tenant(t)+"/runs/"+url.PathEscape(id), nil, &out)
	return out, err
}

// Attempts lists what is recorded about a run's deliveries.
func (c *Client) Attempts(ctx context.Context, t, id string) (out Attempts, err error) {
	err = c.get(ctx, tenant(t)+"/runs/"+url.PathEscape(id)+"/attempts", nil, &out)
	return out, err
}

// OutputQuery says which output of a run is wanted.
type OutputQuery struct {
	Delivery int  // 0: the last one
	From     int  // chunk to begin with
	Follow   bool // go on until the run has ended
}

// Output writes the output of a run as it comes. It ends with the run when it follows, or with ctx.
func (c *Client) Output(ctx context.Context, t, id string, q OutputQuery, w io.Writer) error {
	values := url.Values{}
	if q.Delivery > 0 {
		values.Set("delivery", strconv.Itoa(q.Delivery))
	}
	if q.From > 0 {
		values.Set("from", strconv.Itoa(q.From))
	}
	if q.Follow {
		values.Set("follow", "true")
	}
	resp, err := c.open(ctx, http.MethodGet, tenant(t)+"/runs/"+url.PathEscape(id)+"/output", values, nil)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // what was wanted has been read
	if _, err := io.Copy(w, resp.Body); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return &Unreachable{c.base.String(), err}
	}
	return nil
}

// waitPause is how long Wait pauses between two looks, doubled up to waitMost.
const (
	waitPause = 100 * time.Millisecond
	waitMost  = 2 * time.Second
)

// Wait looks at a run until it has ended, or ctx does; then the error is that of ctx, and the run as last seen.
func (c *Client) Wait(ctx context.Context, t, id string) (Run, error) {
	var last Run
	for pause := waitPause; ; pause = min(2*pause, waitMost) {
		r, err := c.Run(ctx, t, id)
		if err != nil && ctx.Err() != nil {
			return last, context.Cause(ctx)
		}
		if err != nil || r.Final() {
			return r, err
		}
		last = r
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return last, context.Cause(ctx)
		case <-timer.C:
		}
	}
}

// Gaps lists gaps, newest first instant first.
func (c *Client) Gaps(ctx context.Context, t string, f GapFilter) (out List[Gap], err error) {
	err = c.get(ctx, tenant(t)+"/gaps", query("schedule", f.Schedule, "reason", f.Reason, "from", f.From, "to", f.To,
		"page_size", f.size(), "page_token", f.Token), &out)
	return out, err
}

// Preview asks the server what an expression or a spec would do. Nothing is stored.
func (c *Client) Preview(ctx context.Context, t string, req PreviewRequest) (out Preview, err error) {
	err = c.once(ctx, http.MethodPost, tenant(t)+"/schedules:preview", nil, req, &out)
	return out, err
}

// Validate holds one document of kind Schedule against the server's rules. Nothing is stored.
func (c *Client) Validate(ctx context.Context, t string, document json.RawMessage) (out Validation, err error) {
	err = c.once(ctx, http.MethodPost, tenant(t)+"/schedules:validate", nil, document, &out)
	return out, err
}

// Version tells what the server is built of.
func (c *Client) Version(ctx context.Context) (out Version, err error) {
	err = c.get(ctx, "/v1/system/version", nil, &out)
	return out, err
}

// Status tells how the server stands.
func (c *Client) Status(ctx context.Context) (out Status, err error) {
	err = c.get(ctx, "/v1/system/status", nil, &out)
	return out, err
}

// All collects the items of every page, up to a limit (0: none).
func All[T any](page func(token string) (List[T], error), limit int) ([]T, error) {
	items := []T{}
	for token := ""; ; {
		list, err := page(token)
		if err != nil {
			return items, err
		}
		items = append(items, list.Items...)
		if limit > 0 && len(items) >= limit {
			return items[:limit], nil
		}
		if token = list.NextPageToken; token == "" {
			return items, nil
		}
		if len(items) > maxItems {
			return items, fmt.Errorf("more than %d items", maxItems)
		}
	}
}

// maxItems bounds what All collects.
const maxItems = 1_000_000
