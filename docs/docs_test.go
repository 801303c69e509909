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

func TestZeroOptionsGiveTheCommittedDocumentWithoutStaging(t *testing.T) {
	t.Parallel()
	committed, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	want, got := decode(t, committed), decode(t, document(t, docs.Options{}))
	want["servers"] = want["servers"].([]any)[:1]
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("document (-want +got):\n%s", diff)
	}
}

func TestCallersDoNotShareTheBytes(t *testing.T) {
	t.Parallel()
	of, err := docs.Document(docs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	first := of("https://pets.example")
	first[0] = 'x'
	if bytes.Equal(first, of("https://pets.example")) {
		t.Error("callers share the bytes")
	}
}

func TestServersAreThoseOfTheDeployment(t *testing.T) {
	t.Parallel()
	const asked = "https://asked.example/shop"
	for name, test := range map[string]struct {
		options docs.Options
		baseURL string
		want    map[string]string
	}{
		"nothing is known": {
			want: map[string]string{"{base_url}/v1 base_url": "http://127.0.0.1:8080"},
		},
		"the client's URL": {
			baseURL: asked,
			want:    map[string]string{"{base_url}/v1 base_url": asked},
		},
		"a client's URL with a quote": {
			baseURL: `https://"asked".example`,
			want:    map[string]string{"{base_url}/v1 base_url": `https://"asked".example`},
		},
		"the operator's URLs": {
			options: docs.Options{ProductionURL: "https://pets.example/<shop>/", StagingURL: `https://"staging".example/`},
			baseURL: asked,
			want: map[string]string{
				"{base_url}/v1 base_url":       "https://pets.example/<shop>",
				"{staging_url}/v1 staging_url": `https://"staging".example`,
			},
		},
	} {
		of, err := docs.Document(test.options)
		if err != nil {
			t.Fatal(err)
		}
		var d struct {
			Servers []struct {
				URL       string
				Variables map[string]struct{ Default string }
			}
		}
		if err := json.Unmarshal(of(test.baseURL), &d); err != nil {
			t.Fatal(err)
		}
		servers := map[string]string{}
		for _, s := range d.Servers {
			for name, v := range s.Variables {
				servers[s.URL+" "+name] = v.Default
			}
		}
		if diff := cmp.Diff(test.want, servers); diff != "" {
			t.Errorf("%s: servers (-want +got):\n%s", name, diff)
		}
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

// document is what a client gets whose URL is not known.
func document(t *testing.T, o docs.Options) []byte {
	t.Helper()
	of, err := docs.Document(o)
	if err != nil {
		t.Fatal(err)
	}
	return of("")
}

func decode(t *testing.T, text []byte) (decoded map[string]any) {
	t.Helper()
	if err := json.Unmarshal(text, &decoded); err != nil {
		t.Fatal(err)
	}
	return decoded
}
