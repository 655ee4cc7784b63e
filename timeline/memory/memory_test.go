package memory_test

import (
	"testing"

	"github.com/belfryhq/belfry/timeline"
	"github.com/belfryhq/belfry/timeline/claimtest"
	"github.com/belfryhq/belfry/timeline/memory"
)

// R-LEAD-4, R-LEAD-5.
func TestClaimsConform(t *testing.T) {
	t.Parallel()
	claimtest.Run(t, func() timeline.ClaimStore { return &memory.Claims{} })
}
