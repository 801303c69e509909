package domain

import "testing"

func TestPageIsValidUntilAChangeThatMayBelongToIt(t *testing.T) {
	t.Parallel()
	read := Numbers{Position: 7, Altered: 5, Generation: 1}
	for name, test := range map[string]struct {
		now           Numbers
		grows, others bool // whether a page is valid to which a record that is added may belong, and any other page
	}{
		"no change":             {read, true, true},
		"an addition":           {Numbers{Position: 8, Altered: 5, Generation: 1}, false, true},
		"another change":        {Numbers{Position: 8, Altered: 8, Generation: 1}, false, false},
		"an unknown commit":     {Numbers{Position: 7, Altered: 5, Generation: 2}, false, false},
		"while one adds":        {Numbers{Position: 7, Altered: 5, Generation: 1, Adding: true}, false, true},
		"while one alters":      {Numbers{Position: 7, Altered: 5, Generation: 1, Adding: true, Altering: true}, false, false},
		"after a failover back": {Numbers{Position: 6, Altered: 4, Generation: 1}, false, false},
	} {
		if grows, others := test.now.Validates(read, true), test.now.Validates(read, false); grows != test.grows || others != test.others {
			t.Errorf("%s: got %t for a page that grows and %t for another, want %t and %t", name, grows, others, test.grows, test.others)
		}
	}
}

func TestDamagedChangeIsNotDecoded(t *testing.T) {
	t.Parallel()
	const want = "decode the change 7: "
	_, err := RecordedChange{ChangeHeader: ChangeHeader{Seq: 7}, Records: []byte(`{"pet":`)}.Decode()
	if err == nil || len(err.Error()) < len(want) || err.Error()[:len(want)] != want {
		t.Errorf("got the error %v, want one that begins with %q", err, want)
	}
}
