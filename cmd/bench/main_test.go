package main

import (
	"io"
	"testing"
)

func TestFlags(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"none":           {nil, ""},
		"all":            {[]string{"-rounds", "1", "-duration", "2s", "-big", "1000", "-work", "w", "-only", "POST$", "-petstore", "p", "-docs", "d", "-profile", "p"}, ""},
		"no big store":   {[]string{"-big", "0"}, ""},
		"argument":       {[]string{"all"}, "there are no arguments but flags"},
		"no round":       {[]string{"-rounds", "0"}, "-rounds must be 1 or more"},
		"broken seconds": {[]string{"-duration", "1500ms"}, "-duration must be whole seconds, which is what wrk takes"},
		"no second":      {[]string{"-duration", "0s"}, "-duration must be whole seconds, which is what wrk takes"},
		"too small":      {[]string{"-big", "999"}, "-big must be 0, or 1000 or more"},
		"bad regexp":     {[]string{"-only", "("}, `invalid value "(" for flag -only: error parsing regexp: missing closing ): ` + "`(`"},
	} {
		got := ""
		if _, err := parse(test.args, io.Discard); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: got the error %q, want %q", name, got, test.want)
		}
	}
}
