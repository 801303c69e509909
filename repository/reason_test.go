package repository

import "testing"

func TestEveryErrorKindHasAReason(t *testing.T) {
	t.Parallel()
	for _, kind := range ErrorKinds() {
		if reasons[kind] == "" {
			t.Errorf("%s has no reason", kind)
		}
	}
	if len(reasons) != len(ErrorKinds()) {
		t.Errorf("got %d reasons, want %d", len(reasons), len(ErrorKinds()))
	}
}
