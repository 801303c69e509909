package linearizability

import (
	"context"
	"flag"
	"strconv"
	"testing"

	"example.com/petstore/repository/enginetest"
	"example.com/petstore/test/followers"
	"example.com/petstore/test/harness"
)

var changes = flag.Int("changes", 1000, "the least number of changes that followers get")

// TestFollowersGetEveryChange follows the changes with 100 clients, while clients and the command seed make them and the
// processes are killed, stopped and restarted.
func TestFollowersGetEveryChange(t *testing.T) {
	database := enginetest.New(t)
	processes := map[string]int{enginetest.SQLite: 1, enginetest.Postgres: 4}[database.Driver]
	s := startService(t, database, processes, "", "--set", "changes.enabled=true", "--set", "changes.streams_per_key=1000")
	clients := s.clients(t)
	all := &followers.Followers{URLs: clients.URLs, Key: s.key}
	ctx, end := context.WithCancel(t.Context())
	defer end()
	all.Follow(ctx, t, 100)
	made := 0
	s.run(t, clients, 500, func() bool {
		if all.Slowest() < made { // they would have to read most of them after the last fault
			return false
		}
		if made < *changes {
			count := min(*changes-made, 5000)
			args := append([]string{"seed", "--count", strconv.Itoa(count)}, s.flags...)
			if output, err := harness.Command(ctx, s.dir, args...).CombinedOutput(); err != nil {
				t.Errorf("seed: %v: %s", err, output)
			}
			made += count
			return false
		}
		return int(s.faults.Load()) >= len(faults)
	})
	end()
	all.WantAll(t)
	t.Logf("%d faults", s.faults.Load())
}
