package contract

import (
	"testing"

	"example.com/petstore/test/harness"
)

func startingServersCreateOneFirstKey(t *testing.T) {
	store := newTestStore(t)
	var outputs [4]harness.Buffer
	for i := range outputs {
		cmd := harness.Command(t.Context(), store.dir, append([]string{"serve", "--first-key"}, store.flags...)...)
		cmd.Stdout, cmd.Stderr = &outputs[i], &outputs[i]
		harness.Launch(t, cmd, "")
	}
	keys := 0
	for i := range outputs {
		harness.Eventually(t, "the server has started", func() bool { return harness.PagePattern.MatchString(outputs[i].String()) })
		keys += len(harness.KeyPattern.FindAllString(outputs[i].String(), -1))
	}
	if keys != 1 {
		t.Errorf("got %d keys, want one", keys)
	}
}
