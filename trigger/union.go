package trigger

import (
	"iter"
	"time"
)

// Union returns a trigger that is due whenever any of ts is; an instant on which several meet is due once. Nil members
// are left out, and without members nothing is ever due. The arguments are copied. One step of Between costs the
// logarithm of the number of members, Next their number.
func Union(ts ...Trigger) Trigger {
	members := make([]Trigger, 0, len(ts))
	for _, t := range ts {
		if nested, ok := t.(*union); ok {
			members = append(members, nested.members...)
		} else if t != nil {
			members = append(members, t)
		}
	}
	if len(members) == 1 {
		return members[0]
	}
	return &union{members: members}
}

type union struct {
	members []Trigger // no nil, no union
}

// Between merges the members' occurrences in [start, end).
func (u *union) Between(start, end time.Time) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		s := window(start, end)
		h := u.heads(s)
		for len(h) > 0 {
			due := h[0].due
			if !yield(due) {
				return
			}
			for len(h) > 0 && h[0].due.Equal(due) {
				h = h.advance(s)
			}
		}
	}
}

// Next returns the earliest of the members' next occurrences.
func (u *union) Next(after time.Time) (time.Time, bool) { return next(u, after) }

func (u *union) seek(s span) (earliest time.Time, found bool) {
	for _, m := range u.members {
		// What an earlier member found bounds the search of the later ones.
		if due, ok := seek(m, s); ok {
			earliest, s.before, found = due, due, true
		}
	}
	return earliest, found
}

// heads seeks the first occurrence of every member that has one and arranges them as a heap.
func (u *union) heads(s span) heads {
	h := make(heads, 0, len(u.members))
	for _, m := range u.members {
		if due, ok := seek(m, s); ok {
			h = append(h, head{due: due, member: m})
		}
	}
	for i := len(h)/2 - 1; i >= 0; i-- {
		h.sink(i)
	}
	return h
}

// heads is a binary heap, the earliest occurrence first. container/heap would do, at the cost of boxing each step.
type heads []head

type head struct {
	due    time.Time
	member Trigger
}

// advance moves the first member on to its next occurrence in the span, or drops the member when it has none.
func (h heads) advance(s span) heads {
	s.after = h[0].due
	due, ok := seek(h[0].member, s)
	if ok {
		h[0].due = due
	} else {
		h[0] = h[len(h)-1]
		h = h[:len(h)-1]
	}
	h.sink(0)
	return h
}

func (h heads) sink(i int) {
	for {
		child := 2*i + 1
		if child >= len(h) {
			return
		}
		if right := child + 1; right < len(h) && h[right].due.Before(h[child].due) {
			child = right
		}
		if !h[child].due.Before(h[i].due) {
			return
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}
