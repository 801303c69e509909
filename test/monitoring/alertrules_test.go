package monitoring

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/petstore/test/harness"

	"go.yaml.in/yaml/v3"

	"example.com/petstore/repository/engine"
)

// An alertRule is an alerting rule of docs/deploy/alerts.yaml.
type alertRule struct {
	Alert       string
	Expr        string
	Labels      map[string]string
	Annotations map[string]string
}

func alertRules(t *testing.T) (rules []alertRule) {
	t.Helper()
	var file struct {
		Groups []struct{ Rules []alertRule }
	}
	if err := yaml.Unmarshal([]byte(harness.ReadFile(t, "../../docs/deploy/alerts.yaml")), &file); err != nil {
		t.Fatal(err)
	}
	for _, group := range file.Groups {
		rules = append(rules, group.Rules...)
	}
	return rules
}

func TestEveryAlertHasSeverityRemedyAndUnitTest(t *testing.T) {
	t.Parallel()
	tests := harness.ReadFile(t, "testdata/alerts.test.yaml")
	rules := alertRules(t)
	if len(rules) == 0 {
		t.Error("there are no alerting rules")
	}
	for _, rule := range rules {
		if !slices.Contains([]string{"critical", "warning", "info"}, rule.Labels["severity"]) {
			t.Errorf("%s has the severity %q", rule.Alert, rule.Labels["severity"])
		}
		if rule.Annotations["summary"] == "" || rule.Annotations["remedy"] == "" {
			t.Errorf("%s has no summary or no remedy", rule.Alert)
		}
		if !strings.Contains(tests, `alertname="`+rule.Alert+`", alertstate="firing"`) {
			t.Errorf("no unit test expects %s to fire", rule.Alert)
		}
	}
}

func TestAlertsIncludeEveryKindOfStoreError(t *testing.T) {
	t.Parallel()
	included := map[string]bool{}
	for _, rule := range alertRules(t) {
		for _, matcher := range regexp.MustCompile(`kind=~?"([^"]+)"`).FindAllStringSubmatch(rule.Expr, -1) {
			for kind := range strings.SplitSeq(matcher[1], "|") {
				included[kind] = true
			}
		}
	}
	for _, failure := range engine.Failures() {
		kind := string(failure)
		if !included[kind] {
			t.Errorf("no alert is about store errors of the kind %s", kind)
		}
		delete(included, kind)
	}
	if len(included) > 0 {
		t.Errorf("there are no store errors of the kinds %v", included)
	}
}
