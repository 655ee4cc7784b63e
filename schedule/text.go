package schedule

import "time"

// Duration is a length of time as manifests and the API write it.
type Duration time.Duration

// Instant is an instant as manifests and the API write it: RFC 3339, at most microseconds.
type Instant time.Time

// Size is a number of bytes as manifests and the API write it, such as 1MiB.
type Size int64
