package redis_test

import (
	"context"
	"fmt"
	"os/signal"
	"syscall"
	"time"

	"github.com/belfryhq/belfry/timeline"
	"github.com/belfryhq/belfry/timeline/redis"
)

// Two shards, each with a claim of its own, and as many replicas of this program as one likes: of each shard one leads, and
// the others take over when it ends or falls silent. The client here is any that has a function like this.
func ExampleNew() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	conn := &client{network: "tcp", address: "127.0.0.1:6379"}
	for n := range 2 {
		shard, err := timeline.Shard(source{}, n, 2)
		if err != nil {
			fmt.Println(err)
			return
		}
		claims := redis.New(conn.do, fmt.Sprintf("orders:scheduler:%d", n))
		loop, err := timeline.New(shard, claims, timeline.Options{
			OnError: func(stage timeline.Stage, id string, err error) { fmt.Println(stage, id, err) },
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		go func() { fmt.Println(loop.Run(ctx, deliver)) }()
	}
	<-ctx.Done()
}

// deliver hands everything to where the work is done. The key tells one that came before.
func deliver(_ context.Context, _ time.Time, batch []timeline.Occurrence) error {
	for _, o := range batch {
		fmt.Println(o.Key())
	}
	return nil
}
