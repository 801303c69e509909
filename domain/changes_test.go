package domain_test

import (
	"strings"
	"testing"

	"example.com/petstore/domain"
	"example.com/petstore/internal/test/testkit"
)

func TestPageIsValidUntilAChangeThatConcernsIt(t *testing.T) {
	t.Parallel()
	earlier := domain.Numbers{Position: 7, Altered: 5, Generation: 2}
	for _, c := range []struct {
		name          string
		change        func(*domain.Numbers)
		grows, others bool // whether a page that grows is valid, and another one
	}{
		{"nothing", func(*domain.Numbers) {}, true, true},
		{"an addition", func(n *domain.Numbers) { n.Position = 8 }, false, true},
		{"an alteration", func(n *domain.Numbers) { n.Position, n.Altered = 8, 8 }, false, false},
		{"a failover to an older state", func(n *domain.Numbers) { n.Position, n.Altered = 6, 4 }, false, false},
		{"unknown commits", func(n *domain.Numbers) { n.Generation = 3 }, false, false},
		{"an addition that is being committed", func(n *domain.Numbers) { n.Adding = true }, false, true},
		{"an alteration that is being committed", func(n *domain.Numbers) { n.Adding, n.Altering = true, true }, false, false},
	} {
		latest := earlier
		c.change(&latest)
		testkit.Equal(t, "whether a page that grows is valid after "+c.name, c.grows, latest.Validates(earlier, true))
		testkit.Equal(t, "whether another page is valid after "+c.name, c.others, latest.Validates(earlier, false))
	}
	committing := earlier
	committing.Adding, committing.Altering = true, true
	testkit.Equal(t, "whether a page of a commit that changed nothing is valid", true, earlier.Validates(committing, true))
}

func TestDamagedChangeIsNotDecoded(t *testing.T) {
	t.Parallel()
	damaged := domain.RecordedChange{ChangeHeader: domain.ChangeHeader{Seq: 7}, Records: []byte(`{"pet":`)}
	if _, err := damaged.Decode(); err == nil || !strings.HasPrefix(err.Error(), "decode the change 7: ") {
		t.Errorf("got the error %v, want one that names the change 7", err)
	}
}
