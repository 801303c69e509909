package docs_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/petstore/docs"
)

func TestZeroOptionsGiveTheCommittedDocument(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	got := document(t, docs.Options{})
	if !bytes.Equal(got, want) {
		t.Error("the document differs from openapi.json")
	}
	got[0] = 'x'
	if bytes.Equal(got, document(t, docs.Options{})) {
		t.Error("callers share the bytes")
	}
}

func TestServersAreThoseOfTheDeployment(t *testing.T) {
	t.Parallel()
	got := document(t, docs.Options{ProductionURL: "https://pets.example/<shop>/", StagingURL: `https://"staging".example`})
	var d struct {
		Servers []struct {
			URL       string
			Variables map[string]struct{ Default string }
		}
	}
	if err := json.Unmarshal(got, &d); err != nil {
		t.Fatal(err)
	}
	servers := map[string]string{}
	for _, s := range d.Servers {
		for name, v := range s.Variables {
			servers[s.URL+" "+name] = v.Default
		}
	}
	want := map[string]string{
		"{base_url}/v1 base_url":       "https://pets.example/<shop>",
		"{staging_url}/v1 staging_url": `https://"staging".example`,
	}
	if diff := cmp.Diff(want, servers); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
}

func TestSunsetMovesEveryDateOfRemoval(t *testing.T) {
	t.Parallel()
	berlin := time.FixedZone("CET", 3600)
	got := string(document(t, docs.Options{Sunset: time.Date(2031, time.March, 1, 0, 30, 0, 0, berlin)}))
	for _, want := range []string{"28 February 2031", "2031-02-28", "Fri, 28 Feb 2031 23:30:00 GMT"} {
		if !strings.Contains(got, want) {
			t.Errorf("the document lacks %s", want)
		}
	}
	if strings.Contains(got, "2030") {
		t.Error("the document still tells the published date")
	}
}

func document(t *testing.T, o docs.Options) []byte {
	t.Helper()
	got, err := docs.Document(o)
	if err != nil {
		t.Fatal(err)
	}
	return got
}
