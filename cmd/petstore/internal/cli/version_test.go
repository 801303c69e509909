package cli

import (
	"runtime"
	"testing"
)

func TestLinkerSetsTheVersion(t *testing.T) {
	t.Parallel()
	p := Program{Version: "v1.2.3", Commit: "abc"}
	if got, want := p.versionText(), "v1.2.3 (commit abc, "+runtime.Version()+")"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
